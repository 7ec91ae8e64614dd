// SPDX-License-Identifier: Apache-2.0
/// Attributes by which a series keeps what only ADIOS2 tells apart. A reader that is written for
/// ADIOS2 does not see them.
#pragma once

namespace fluvial::adios2_engine {

/// Of a dataset of bytes that is a text: its encoding.
constexpr const char* text_mark = "adios2_string";
/// Of a dataset of int8 whose type is char.
constexpr const char* char_mark = "adios2_char";
/// Of a dataset whose variable has a name that no dataset can have: that name.
constexpr const char* name_mark = "adios2_name";
/// Beside attributes whose types a series does not keep: a line for each, type and name.
constexpr const char* types_mark = "adios2_types";

}  // namespace fluvial::adios2_engine
