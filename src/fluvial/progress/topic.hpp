// SPDX-License-Identifier: Apache-2.0
/// What control messages are about.
#pragma once

#include <cstdint>
#include <string_view>

namespace fluvial::progress {

/// Declared once by the code that sends and takes such messages, as `inline constexpr Topic
/// topic_query("query");`. On the way it is a hash of its name; ControlMessages refuses to handle
/// two topics with the same.
class Topic {
  public:
    /// Work: something that a channel does. Observation: what says something about all of that, and
    /// is none of it (see ControlMessages::under_way).
    enum class Of { Work, Observation };

    constexpr Topic() = default;
    constexpr explicit Topic(std::string_view name, Of of = Of::Work) {
        std::uint32_t hash = 2166136261U;  // FNV-1a
        for (const char letter : name) {
            hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
        }
        id_ = (hash & ~observation) | (of == Of::Observation ? observation : 0);
    }

    constexpr bool is_work() const { return (id_ & observation) == 0; }
    constexpr auto operator<=>(const Topic&) const = default;

  private:
    static constexpr std::uint32_t observation = 1U << 31;
    std::uint32_t id_ = 0;
};

}  // namespace fluvial::progress
