// SPDX-License-Identifier: Apache-2.0
/// In which of two ways a link moves elements inside a host, where it depends on the CPU and its
/// caches which one is faster: found out while it moves them, anew now and then.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fluvial/base/trial.hpp"

namespace fluvial::move {

class TunedWay {
  public:
    /// What was faster when that was last found out, so that streams that live for milliseconds
    /// need not find out anew; none: nobody has.
    enum class Last : std::uint8_t { Unknown, First, Second };

    /// `settling_bytes`: after a change of the way so much still moves at the pace of the other.
    /// `worth_it`: the second way has to be so many times as fast as the first.
    TunedWay(std::atomic<Last>& last, std::uint64_t settling_bytes, double worth_it);

    /// How the next element goes.
    bool second() const;
    /// Elements up to this count of bytes are on their way; the next one follows. For each element,
    /// before it.
    void came_to(std::uint64_t committed, std::int64_t now_ns);

    /// Of a trial, for each way in turn, the first one first: bytes that are timed together.
    static constexpr std::int64_t round_bytes = std::int64_t{8} << 20;
    static constexpr int rounds = 4;
    /// Until the next trial.
    static constexpr std::int64_t rest_bytes = std::int64_t{2} << 30;
    static constexpr std::uint64_t first_rest_bytes = std::uint64_t{256} << 20;

  private:
    std::atomic<Last>& last_;
    const std::uint64_t settling_bytes_;
    const double worth_it_;
    const bool began_second_;
    std::uint64_t trial_from_;      ///< bytes committed when the first trial begins
    std::optional<Trial> trial_;    ///< from then on
    std::uint64_t committed_ = 0;   ///< when it was last said
    std::int64_t said_ns_ = 0;      ///< and when that was
    std::uint64_t settled_at_ = 0;  ///< bytes from here on are timed
};

}  // namespace fluvial::move
