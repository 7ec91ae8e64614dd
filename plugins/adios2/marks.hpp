// SPDX-License-Identifier: Apache-2.0
/// Attributes of series that a reader written for ADIOS2 does not see: most of them keep what only
/// ADIOS2 tells apart.
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
/// Of a variable in a file of records that is an attribute of the step, as writers of such files
/// mark it (store/record_layout.hpp, which no plugin includes).
constexpr const char* record_mark = "step_attribute";

}  // namespace fluvial::adios2_engine
