// SPDX-License-Identifier: Apache-2.0
/// Datasets of one shared file, of which ranks have boxes that lie there in small pieces, or very
/// unevenly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/describe/region.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::move {

struct RankBox {
    int rank = 0;
    Region region;
    /// Of this rank's: as they are to be stored, row-major, without gaps.
    const std::byte* elements = nullptr;
};

/// One that lies in the file row by row, in one piece.
struct PlacedDataset {
    std::uint64_t begin = 0;  ///< the byte of its first element
    Coordinates shape;
    std::size_t element_bytes = 1;
    std::vector<RankBox> boxes;  ///< of all ranks, in the same order on all; each element once
};

/// How many ranks write, and on how many hosts.
struct WritingRanks {
    std::size_t ranks, hosts;
};
WritingRanks writing_ranks(std::span<const std::string> host_of_rank);

/// Whether ranks that write each its own boxes would write so many and so small pieces that it is
/// faster to let few ranks write all: a rule that was measured. Not where they are so many that
/// counting their messages would take longer. Local, the same on all ranks.
bool written_in_small_pieces(const PlacedDataset& dataset, const WritingRanks& of);

struct DatasetWriteOptions {
    /// Ranks that write. 0: all on one host, where data moves as fast as memory; one for each of
    /// several hosts.
    std::size_t writers = 0;
    double stall_timeout_s = 300;
    /// Keeps the elements of this rank's boxes: where a write is broken off, MPI may still read
    /// them after it.
    std::shared_ptr<const void> owner = {};
};

/// Writes datasets that do not overlap into a file that is there. Each writer gets as much of the
/// data as the others, wherever it comes from, and writes it in large blocks; what the file has
/// elsewhere stays. The file is as if each rank had written its own boxes. Collective, blocking:
/// two agreements a round of windows. A writer holds two windows, of 4 MiB each where all ranks
/// write, of 32 MiB where few do. Returns what this rank has written. Throws on all ranks
/// SystemError where the file cannot be written; and as move::exchange.
std::uint64_t write_datasets(const mpi::Comm& comm, std::span<const std::string> host_of_rank,
                             const std::string& path, const std::vector<PlacedDataset>& datasets,
                             const DatasetWriteOptions& options = {});

}  // namespace fluvial::move
