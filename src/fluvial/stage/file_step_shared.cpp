// SPDX-License-Identifier: Apache-2.0
// Datasets of a step that are shared out among the ranks that write, wherever their parts come
// from.
#include <algorithm>
#include <map>
#include <utility>

#include "fluvial/move/dataset_write.hpp"
#include "fluvial/stage/file_writer_state.hpp"

namespace fluvial::stage {
namespace {

move::PlacedDataset placed(const DatasetDescription& dataset, std::uint64_t begin) {
    move::PlacedDataset found{begin, dataset.shape, size_of(dataset.dtype), {}};
    for (const Chunk& chunk : dataset.chunks) {
        found.boxes.push_back({chunk.rank, chunk.region});
    }
    return found;
}

}  // namespace

/// Which datasets are written in that way. Local, and the same on all ranks.
std::vector<bool> FileWriter::State::shared_out(const StepPlaces& places,
                                                const store::StepContents& contents) const {
    std::vector<bool> shared(contents.datasets.size(), false);
    if (comm.size() == 1 || options.aggregators == 0) {
        return shared;
    }
    const move::WritingRanks writing = move::writing_ranks(host_of_rank);
    for (std::size_t i = 0; i < shared.size(); ++i) {
        const auto begin = places.of.begins[i];
        if (begin && !places.of.kept[i] && !places.of.packings[i]) {
            shared[i] = options.aggregators || move::written_in_small_pieces(
                                                   placed(contents.datasets[i], *begin), writing);
        }
    }
    return shared;
}

/// After write_parts, which has turned round what has to be. Collective.
void FileWriter::State::write_shared_out(const StepPlaces& places,
                                         const store::StepContents& contents,
                                         const std::vector<bool>& shared,
                                         const FileWriteStep::State& step) const {
    std::map<std::string, std::vector<const std::byte*>> mine;
    for (const KeptChunk& kept : step.kept) {
        mine[step.puts.datasets[kept.dataset].name].push_back(kept.elements);
    }
    std::vector<move::PlacedDataset> datasets;
    for (std::size_t i = 0; i < shared.size(); ++i) {
        if (!shared[i]) {
            continue;
        }
        move::PlacedDataset& made =
            datasets.emplace_back(placed(contents.datasets[i], *places.of.begins[i]));
        std::size_t next = 0;
        for (move::RankBox& box : made.boxes) {
            if (box.rank == comm.rank()) {
                box.elements = mine.at(contents.datasets[i].name)[next++];
            }
        }
    }
    static_cast<void>(
        move::write_datasets(comm, host_of_rank, places.path, datasets,
                             {static_cast<std::size_t>(options.aggregators.value_or(0)),
                              options.step_timeout_s, memory}));
}

}  // namespace fluvial::stage
