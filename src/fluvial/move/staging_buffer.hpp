// SPDX-License-Identifier: Apache-2.0
/// Where elements are written that another core will read in a batch: memory of the writer's own,
/// in its cache, out of which a CopyPolicy copies them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fluvial/move/copy_policy.hpp"

namespace fluvial::move {

inline constexpr std::size_t staging_buffer_bytes = std::size_t{16} << 10;

/// Elements that follow each other, by counts of bytes that never go back.
class StagingBuffer {
  public:
    bool in_use() const { return in_use_; }
    /// For what is committed behind `count`, up to `room` bytes (staging_buffer_bytes at most),
    /// which belongs at `place`. Returns where to write it.
    std::byte* open(std::uint64_t count, std::byte* place, std::size_t room) {
        if (!memory_) {
            memory_ = std::make_unique<Memory>();
        }
        in_use_ = true;
        start_ = placed_ = count;
        place_ = place;
        room_ = room;
        return begin();
    }
    std::byte* begin() const { return memory_->bytes; }
    std::byte* end() const { return begin() + room_; }
    /// What there is up to this count goes to its place.
    void put_in_place(std::uint64_t until, CopyPolicy& policy) {
        if (!in_use_ || placed_ >= until) {
            return;
        }
        const auto bytes = static_cast<std::size_t>(until - placed_);
        policy.copy(place_, begin() + (placed_ - start_), bytes);
        place_ += bytes;
        placed_ = until;
    }
    /// Also all of it; returns where it ends.
    std::byte* close(std::uint64_t count, CopyPolicy& policy) {
        put_in_place(count, policy);
        in_use_ = false;
        return place_;
    }

  private:
    struct alignas(64) Memory {
        std::byte bytes[staging_buffer_bytes];
    };

    std::unique_ptr<Memory> memory_;
    bool in_use_ = false;
    std::uint64_t start_ = 0;     ///< count of the first byte of the memory
    std::uint64_t placed_ = 0;    ///< what is in its place ends here,
    std::byte* place_ = nullptr;  ///< and there
    std::size_t room_ = 0;
};

}  // namespace fluvial::move
