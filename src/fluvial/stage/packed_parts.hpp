// SPDX-License-Identifier: Apache-2.0
/// Compressed datasets in files: each chunk is made by the rank that has most of it, whatever way
/// the ranks have cut the dataset; but no rank makes more chunks than its share, because
/// compressing one takes many times as long as sending it.
///
/// | every rank                                    | rank 0                                   |
/// |-----------------------------------------------|------------------------------------------|
/// | sends what lies in chunks that others make    |                                          |
/// | compresses its own chunks, tells their sizes  |                                          |
/// |                                               | gives each chunk its place in the file   |
/// | writes its own chunks there                   |                                          |
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/store/output.hpp"

namespace fluvial::stage {

/// What this rank has put of a compressed dataset.
struct PackedPart {
    std::size_t dataset = 0;  ///< its position in the step
    Region region;
    ArrayView elements;
};

/// The chunks that one rank makes of one step. One thread; views of parts must stay as they are.
class PackedParts {
  public:
    /// Local. `step`: of all ranks. `places` says how datasets are compressed.
    PackedParts(const store::StepContents& step, const store::Places& places,
                const std::vector<PackedPart>& mine, int rank, int ranks);

    /// Messages to the ranks that make chunks of which this one has elements, and what comes of
    /// others'. Local.
    std::vector<std::pair<int, Bytes>> messages();
    void take(Bytes message);
    /// Compresses the chunks; what the first rank has to know of them. Local.
    std::vector<store::PackedChunk> pack();
    /// Writes them where they belong, in the order in which pack() returned them. Local. Throws
    /// SystemError.
    void write(int file, const std::string& path, std::span<const std::uint64_t> begins) const;

  private:
    using Cell = std::pair<std::size_t, Index>;  ///< position of the dataset, number of the chunk

    /// A part of one chunk.
    struct Piece {
        Region region;
        ArrayView elements;
    };

    const DatasetDescription& described(const Cell& cell) const {
        return step_.datasets[cell.first];
    }
    const store::Packing& packing(std::size_t dataset) const { return *places_.packings[dataset]; }
    Region region_of(const Cell& cell) const;
    std::map<Cell, int> owners() const;
    void add_owners(std::size_t dataset, std::map<Cell, int>& owners) const;
    void share_out(std::map<Cell, int> owners, int ranks);
    void add(const PackedPart& part);
    std::span<const std::byte> elements_of(const Cell& cell, const std::vector<Piece>& pieces);

    const store::StepContents& step_;
    const store::Places& places_;
    int rank_;
    std::map<Cell, int> makers_;
    std::map<Cell, std::vector<Piece>> mine_;
    std::map<int, ByteWriter> for_others_;
    std::vector<Bytes> from_others_;
    std::vector<std::byte> scratch_;
    std::vector<Bytes> packed_;
};

}  // namespace fluvial::stage
