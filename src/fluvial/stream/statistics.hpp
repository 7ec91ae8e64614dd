// SPDX-License-Identifier: Apache-2.0
/// What a rank has done in a stream so far.
#pragma once

#include <cstdint>
#include <string>

namespace fluvial::stream {

struct Statistics {
    std::string stream;
    int rank = 0;  ///< in the channel

    // As a producer
    std::uint64_t sent_elements = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t stalls = 0;     ///< times that there was no room
    std::int64_t stalled_ns = 0;  ///< waited for room

    // As a consumer
    std::uint64_t elements = 0;  ///< processed
    std::uint64_t bytes = 0;
    std::uint64_t batches = 0;
    std::int64_t processing_ns = 0;     ///< by the operation, or by the program with a batch
    std::int64_t idle_ns = 0;           ///< in blocking calls, with nothing to process
    std::uint64_t depth_bytes = 0;      ///< waiting in the links now
    std::uint64_t depth_bytes_max = 0;  ///< the most that was seen, about every 0.1 ms
    std::uint64_t memory_bytes = 0;     ///< held for elements; 0 once the stream has
                                        ///< ended and another one was attached
    std::uint64_t queries_answered = 0;

    /// For people, one line for each role that this rank had.
    std::string text() const;
};

}  // namespace fluvial::stream
