// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/dataset_write.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fluvial/move/box_in_file.hpp"
#include "fluvial/move/planned_rounds.hpp"
#include "fluvial/move/write_plan.hpp"
#include "fluvial/move/write_rounds.hpp"

namespace fluvial::move {
namespace {

constexpr std::uint64_t align_bytes = 1 << 20;
constexpr std::uint64_t window_of_few = 32 << 20, window_of_all = 4 << 20;

/// Datasets below do not repay the rounds.
constexpr std::uint64_t together_bytes_min = 1 << 20;
/// Mean bytes of a piece below which it pays to let others write. On one host the two cost the same
/// at 2 KiB. Between hosts it is a file system that ranks share, which gives a block to one host at
/// a time; that was not measured.
constexpr std::uint64_t piece_on_host = 1 << 10, piece_between_hosts = 64 << 10;
/// Messages of a round, at most, each of which every rank counts: 2^16 take a tenth of a second.
constexpr std::uint64_t messages_max = 1 << 16;

/// A box with its place, and the bytes that this rank has of it.
struct PlacedBox {
    int rank;
    BoxInFile box;
    const std::byte* elements;
    std::uint64_t first;
    std::uint64_t reach;  ///< the end of this one and of those before it
};

struct Placed {
    std::uint64_t begin, end;
    std::vector<PlacedBox> boxes;
};

/// What ranks have, as boxes of datasets.
class BoxedParts final : public RankParts {
  public:
    BoxedParts(const std::vector<PlacedDataset>& datasets, int rank,
               std::shared_ptr<const void> owner)
        : rank_(rank), owner_(std::move(owner)) {
        for (const PlacedDataset& one : datasets) {
            Placed& placed = datasets_.emplace_back(Placed{
                one.begin,
                one.begin + static_cast<std::uint64_t>(volume_of(one.shape)) * one.element_bytes,
                {}});
            for (const RankBox& rank_box : one.boxes) {
                const BoxInFile box(one.begin, one.shape, one.element_bytes, rank_box.region);
                if (box.bytes() > 0) {
                    placed.boxes.push_back(
                        {rank_box.rank, box, rank_box.elements, box.first(), box.end()});
                }
            }
            std::ranges::stable_sort(placed.boxes, {}, &PlacedBox::first);
            std::uint64_t reach = 0;
            for (PlacedBox& box : placed.boxes) {
                reach = box.reach = std::max(reach, box.reach);
            }
        }
        std::erase_if(datasets_, [](const Placed& one) { return one.begin == one.end; });
        std::ranges::sort(datasets_, {}, &Placed::begin);
    }

    std::vector<Extent> extents() const {
        std::vector<Extent> found;
        for (const Placed& one : datasets_) {
            found.push_back({one.begin, one.end - one.begin, 0});
        }
        return found;
    }
    /// Of all datasets, what each rank has; for the choice of writers.
    std::vector<Extent> extents_by_rank() const {
        std::vector<Extent> found;
        for (const Placed& one : datasets_) {
            for (const PlacedBox& box : one.boxes) {
                found.push_back({0, box.box.bytes(), box.rank});
            }
        }
        return found;
    }

    void add_bytes(const WriteWindow& window, std::span<std::size_t> by_rank) const override {
        each_inside(window, [&](const PlacedBox& one, std::uint64_t first, std::uint64_t last) {
            by_rank[static_cast<std::size_t>(one.rank)] += last - first;
        });
    }
    Outgoing outgoing(const WriteWindow& window, std::size_t size) const override {
        std::vector<std::span<const std::byte>> ranges;
        each_inside(window, [&](const PlacedBox& one, std::uint64_t first, std::uint64_t last) {
            if (one.rank == rank_) {
                ranges.emplace_back(one.elements + first, last - first);
            }
        });
        if (ranges.size() == 1) {
            return {ranges[0], owner_};
        }
        const auto bytes = std::make_shared<std::vector<std::byte>>();
        bytes->reserve(size);
        for (const auto range : ranges) {
            bytes->insert(bytes->end(), range.begin(), range.end());
        }
        return {*bytes, bytes};
    }
    std::uint64_t write(const SharedFile& file, const WriteWindow& window,
                        std::span<const std::byte* const> come) const override {
        if (const auto whole = lone_piece(window)) {
            file.write(whole->place, {come[static_cast<std::size_t>(whole->rank)], whole->bytes});
            return whole->bytes;
        }
        std::vector<const std::byte*> next(come.begin(), come.end());
        const auto together =
            std::make_unique_for_overwrite<std::byte[]>(window.end - window.begin);
        each_inside(window, [&](const PlacedBox& one, std::uint64_t first, std::uint64_t last) {
            const std::byte*& bytes = next[static_cast<std::size_t>(one.rank)];
            one.box.each_piece(first, last, [&](std::uint64_t place, std::uint64_t count) {
                std::memcpy(together.get() + (place - window.begin), bytes, count);
                bytes += count;
            });
        });
        std::uint64_t written = 0;
        each_dataset(window, [&](const Placed& one) {
            const std::uint64_t from = std::max(one.begin, window.begin);
            const std::uint64_t to = std::min(one.end, window.end);
            file.write(from, {together.get() + (from - window.begin), to - from});
            written += to - from;
        });
        return written;
    }

  private:
    struct Piece {
        int rank;
        std::uint64_t place, bytes;
    };
    /// All that the window has, where that is one piece of one rank.
    std::optional<Piece> lone_piece(const WriteWindow& window) const {
        std::optional<Piece> found;
        std::size_t boxes = 0;
        each_inside(window, [&](const PlacedBox& one, std::uint64_t first, std::uint64_t last) {
            const auto place = one.box.place_of_one(first, last);
            found = ++boxes == 1 && place ? std::optional(Piece{one.rank, *place, last - first})
                                          : std::nullopt;
        });
        return found;
    }
    template <class Visit>
    void each_dataset(const WriteWindow& window, Visit&& visit) const {
        auto one = std::ranges::partition_point(
            datasets_, [&](const Placed& dataset) { return dataset.end <= window.begin; });
        for (; one != datasets_.end() && one->begin < window.end; ++one) {
            visit(*one);
        }
    }
    /// Calls `visit(box, first, last)` for the bytes of each box that lie in the window.
    template <class Visit>
    void each_inside(const WriteWindow& window, Visit&& visit) const {
        each_dataset(window, [&](const Placed& dataset) {
            auto one = std::ranges::partition_point(
                dataset.boxes, [&](const PlacedBox& box) { return box.reach <= window.begin; });
            for (; one != dataset.boxes.end() && one->first < window.end; ++one) {
                const std::uint64_t first = one->box.before(window.begin);
                const std::uint64_t last = one->box.before(window.end);
                if (first < last) {
                    visit(*one, first, last);
                }
            }
        });
    }

    int rank_;
    std::shared_ptr<const void> owner_;
    std::vector<Placed> datasets_;
};

}  // namespace

WritingRanks writing_ranks(std::span<const std::string> host_of_rank) {
    return {host_of_rank.size(), std::set(host_of_rank.begin(), host_of_rank.end()).size()};
}

bool written_in_small_pieces(const PlacedDataset& dataset, const WritingRanks& of) {
    const bool one_host = of.hosts == 1;
    if (of.ranks * (one_host ? of.ranks : of.hosts) > messages_max) {
        return false;
    }
    std::uint64_t bytes = 0, pieces = 0;
    for (const RankBox& one : dataset.boxes) {
        const BoxInFile box(dataset.begin, dataset.shape, dataset.element_bytes, one.region);
        bytes += box.bytes();
        pieces += box.pieces();
    }
    return bytes >= together_bytes_min &&
           bytes < pieces * (one_host ? piece_on_host : piece_between_hosts);
}

std::uint64_t write_datasets(const mpi::Comm& comm, std::span<const std::string> host_of_rank,
                             const std::string& path, const std::vector<PlacedDataset>& datasets,
                             const DatasetWriteOptions& options) {
    const BoxedParts parts(datasets, comm.rank(), options.owner);
    const bool all_write = options.writers == 0 && writing_ranks(host_of_rank).hosts == 1;
    const auto count = all_write ? static_cast<std::size_t>(comm.size()) : options.writers;
    const std::vector<int> writers = choose_writers(host_of_rank, parts.extents_by_rank(), count);
    const bool few = writers.size() < static_cast<std::size_t>(comm.size());
    const auto windows = plan_windows(parts.extents(), writers.size(), align_bytes,
                                      few ? window_of_few : window_of_all);
    const route::RankPlanOptions plan;
    PlannedRounds rounds(comm, nullptr, plan, options.stall_timeout_s);
    return write_in_rounds(comm, path, SharedFile::Missing::Refuse, writers, windows, parts,
                           rounds);
}

}  // namespace fluvial::move
