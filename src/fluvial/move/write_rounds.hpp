// SPDX-License-Identifier: Apache-2.0
/// Windows of one shared file, of which a few ranks write one after the other, from what all ranks
/// have of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fluvial/move/multipath.hpp"
#include "fluvial/move/planned_rounds.hpp"
#include "fluvial/move/shared_file.hpp"
#include "fluvial/move/write_plan.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::move {

/// What ranks have of a file, as each of them knows it.
class RankParts {
  public:
    virtual ~RankParts() = default;
    /// Adds, by rank, the bytes that it has in a window.
    virtual void add_bytes(const WriteWindow& window, std::span<std::size_t> by_rank) const = 0;
    /// This rank's bytes there, of which there are `size`, in their order.
    virtual Outgoing outgoing(const WriteWindow& window, std::size_t size) const = 0;
    /// Writes what has come from each rank, by rank, and returns how much it was.
    virtual std::uint64_t write(const SharedFile& file, const WriteWindow& window,
                                std::span<const std::byte* const> come) const = 0;
};

/// Round by round one window of each writer: each rank's bytes for it go there in one message, and
/// are written. `windows` are those of `writers`, one by one. Returns what this rank has written.
/// Collective, blocking; two agreements a round. Throws as PlannedRounds::move, after which no
/// collective operation of `comm` can follow, and on all ranks SystemError where the file cannot be
/// written.
std::uint64_t write_in_rounds(const mpi::Comm& comm, const std::string& path,
                              SharedFile::Missing missing, std::span<const int> writers,
                              const std::vector<std::vector<WriteWindow>>& windows,
                              const RankParts& parts, PlannedRounds& rounds);

}  // namespace fluvial::move
