// SPDX-License-Identifier: Apache-2.0
/// Where a rank runs, in the layers of its machine: the path "host=node17/socket=0/numa=1".
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fluvial::distribute {

struct Level {
    std::string layer;  ///< "host", "socket", "numa", or a name of the user's, such as "rack"
    std::string name;   ///< among those of the level above

    friend bool operator==(const Level&, const Level&) = default;
};

/// Levels from the outermost inward. An empty place is unknown, and near to none.
class Place {
  public:
    Place() = default;
    /// Throws InvalidArgument for a layer that comes twice, and for empty names.
    explicit Place(std::vector<Level> levels);
    Place(std::initializer_list<Level> levels) : Place(std::vector<Level>(levels)) {}

    const std::vector<Level>& levels() const { return levels_; }
    /// The path down to this layer, by which places share it exactly when it is equal: socket 0 of
    /// one host is not socket 0 of another. None where the place does not say.
    std::optional<std::string> down_to(std::string_view layer) const;

    friend bool operator==(const Place&, const Place&) = default;

  private:
    std::vector<Level> levels_;
};

/// Of what lies in a file: as near to each reader as to any other.
Place anywhere();
bool is_anywhere(const Place& place);

/// "host=node17/socket=0"; "unknown" for an empty place.
std::string text_of(const Place& place);

}  // namespace fluvial::distribute
