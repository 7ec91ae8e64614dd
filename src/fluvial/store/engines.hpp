// SPDX-License-Identifier: Apache-2.0
/// Engines, which carry series: the one that is meant follows from what is said, or from names.
#pragma once

#include <string>
#include <string_view>

namespace fluvial::store {

/// What the caller says, or else the environment by FLUVIAL_ENGINE.
struct SaidEngine {
    std::string name;   ///< empty: none was said
    std::string where;  ///< "engine" or "FLUVIAL_ENGINE", for messages
};
SaidEngine said_engine(const std::string& engine);

/// Whether a name says where the writer of a stream is: "fluvial://HOST:PORT/NAME".
bool names_address(const std::string& name);

/// Whether a name ends with that, which is in small letters, in letters of any case: "RUN.H5".
bool has_suffix(const std::string& name, std::string_view suffix);

/// Whether a name can be that of files alone: it has the suffix of a format, a "/" or a "%".
/// Formats that C++ cannot read count: a reader waits for no stream of such a name.
bool names_files(const std::string& name);

}  // namespace fluvial::store
