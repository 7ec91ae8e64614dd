// SPDX-License-Identifier: Apache-2.0
/// The groups and arrays in a folder of Zarr, by their metadata.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/json.hpp"

namespace fluvial::store {

/// A group or an array. Of version 2 its attributes stand apart; of version 3 they are a member.
struct ZarrNode {
    int version = 3;
    bool is_array = false;
    Json metadata;
    std::optional<Json> attributes = {};  ///< of version 2, where there are any
    std::string file;                     ///< that says so, for messages

    const Json* attributes_object() const {
        return version == 3 ? metadata.find("attributes") : attributes ? &*attributes : nullptr;
    }
};

struct ZarrContents {
    ZarrNode root;
    std::map<std::string, ZarrNode> nodes;       ///< by path, without the root
    std::map<std::string, std::string> damaged;  ///< why, of those that cannot be known
};

/// Whether a folder has the marks of either version.
bool is_zarr(const std::string& path);
/// Local. Reads metadata only, the consolidated ones where there are. Throws DamagedFile where the
/// root makes no sense, SystemError.
ZarrContents zarr_contents(const std::string& path);

}  // namespace fluvial::store
