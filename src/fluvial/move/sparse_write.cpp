// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/sparse_write.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/move/aggregators.hpp"
#include "fluvial/move/planned_rounds.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/move/write_plan.hpp"
#include "fluvial/move/write_rounds.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::move {
namespace {

void check(std::span<const FilePart> parts, const SparseWriteOptions& options) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) / 2;
    for (const FilePart& part : parts) {
        if (part.offset > most || part.bytes.size() > most - part.offset) {
            throw InvalidArgument(Problem{"a part lies behind the end of any file",
                                          text(part.offset), text("up to ", most), ""});
        }
    }
    const bool fits = options.align > 0 && options.align <= (1U << 30) &&
                      options.window_bytes >= options.align && options.window_bytes <= (1U << 30) &&
                      options.window_bytes % options.align == 0;
    if (!fits) {
        throw InvalidArgument(Problem{"a window is not a multiple of its alignment",
                                      text(options.window_bytes, " and ", options.align, " bytes"),
                                      "1 byte to 1 GiB, the window a multiple", ""});
    }
}

std::vector<Extent> extents_of_all(const mpi::Comm& comm, std::span<const FilePart> parts) {
    std::vector<std::uint64_t> mine;
    for (const FilePart& part : parts) {
        mine.insert(mine.end(), {part.offset, part.bytes.size()});
    }
    std::vector<Extent> all;
    int rank = 0;
    for (const auto& bytes : comm.allgather(std::as_bytes(std::span(mine)))) {
        for (std::size_t at = 0; at < bytes.size(); at += 2 * sizeof(std::uint64_t)) {
            Extent extent{0, 0, rank};
            std::memcpy(&extent.offset, bytes.data() + at, sizeof extent.offset);
            std::memcpy(&extent.bytes, bytes.data() + at + sizeof extent.offset,
                        sizeof extent.bytes);
            all.push_back(extent);
        }
        ++rank;
    }
    return sorted_extents(std::move(all));
}

/// Calls `visit(extent, begin, end)` for what lies in the window, in its order.
template <class Visit>
void each_inside(std::span<const Extent> extents, const WriteWindow& window, Visit&& visit) {
    auto extent = std::partition_point(extents.begin(), extents.end(), [&](const Extent& one) {
        return one.end() <= window.begin;
    });
    for (; extent != extents.end() && extent->offset < window.end; ++extent) {
        visit(*extent, std::max(extent->offset, window.begin), std::min(extent->end(), window.end));
    }
}

/// What ranks have, as lists of bytes and their places.
class ListedParts final : public RankParts {
  public:
    ListedParts(std::span<const Extent> extents, std::span<const FilePart> own)
        : extents_(extents) {
        for (const FilePart& part : own) {
            if (!part.bytes.empty()) {
                own_.push_back(part);
            }
        }
        std::sort(own_.begin(), own_.end(),
                  [](const FilePart& a, const FilePart& b) { return a.offset < b.offset; });
    }

    void add_bytes(const WriteWindow& window, std::span<std::size_t> by_rank) const override {
        each_inside(extents_, window,
                    [&](const Extent& one, std::uint64_t begin, std::uint64_t end) {
                        by_rank[static_cast<std::size_t>(one.rank)] += end - begin;
                    });
    }
    Outgoing outgoing(const WriteWindow& window, std::size_t size) const override {
        const auto bytes = std::make_shared<std::vector<std::byte>>();
        bytes->reserve(size);
        for (const FilePart& part : own_) {
            const std::uint64_t end = part.offset + part.bytes.size();
            const std::uint64_t from = std::max(part.offset, window.begin);
            const std::uint64_t to = std::min(end, window.end);
            if (from < to) {
                const auto inside = part.bytes.subspan(from - part.offset, to - from);
                bytes->insert(bytes->end(), inside.begin(), inside.end());
            }
        }
        return {*bytes, bytes};
    }
    std::uint64_t write(const SharedFile& file, const WriteWindow& window,
                        std::span<const std::byte* const> come) const override {
        std::vector<const std::byte*> next(come.begin(), come.end());
        std::vector<std::byte> run;  // that lies together in the file
        std::uint64_t run_begin = window.begin, written = 0;
        const auto flush = [&] {
            file.write(run_begin, run);
            written += run.size();
            run.clear();
        };
        each_inside(extents_, window, [&](const Extent& one, std::uint64_t from, std::uint64_t to) {
            if (from != run_begin + run.size()) {
                flush();
                run_begin = from;
            }
            const std::byte*& bytes = next[static_cast<std::size_t>(one.rank)];
            run.insert(run.end(), bytes, bytes + (to - from));
            bytes += to - from;
        });
        flush();
        return written;
    }

  private:
    std::span<const Extent> extents_;
    std::vector<FilePart> own_;
};

SparseWritten write_among(const mpi::Comm& comm, const std::string& path,
                          std::span<const FilePart> parts, const SparseWriteOptions& options) {
    mpi::agree_on(
        comm, [&] { check(parts, options); },
        [&](Terms& terms) {
            terms.add("the file", path);
            terms.add("the writers", exact(static_cast<Index>(options.writers)));
            terms.add("the alignment", exact(static_cast<Index>(options.align)));
            terms.add("the window", exact(static_cast<Index>(options.window_bytes)));
            say_topology(terms, options.topology.get());
            terms.add("the planner", options.plan.planner);
        });
    const std::vector<Extent> extents = extents_of_all(comm, parts);
    SparseWritten out;
    for (const Extent& extent : extents) {
        out.bytes += extent.bytes;
    }
    const route::Topology* topology = options.topology.get();
    if (topology != nullptr) {
        out.warning = check_in_place(comm, *topology, options.displaced);
        topology = out.warning.empty() ? topology : nullptr;
    }
    const std::vector<int> chosen =
        topology != nullptr ? choose_aggregators(*topology, extents, comm.size(), options.writers)
                            : choose_writers(host_of_each_rank(comm), extents, options.writers);
    const auto windows = plan_windows(extents, chosen.size(), options.align, options.window_bytes);
    PlannedRounds moved(comm, topology, options.plan, options.stall_timeout_s);
    out.here = write_in_rounds(comm, path, SharedFile::Missing::Make, chosen, windows,
                               ListedParts(extents, parts), moved);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (!windows[i].empty()) {
            out.writers.push_back(chosen[i]);
        }
    }
    out.paths_max = moved.paths_max();
    out.at_most = static_cast<std::uint64_t>(comm.max(static_cast<Index>(out.here)));
    return out;
}

}  // namespace

SparseWritten sparse_write(const mpi::Comm& comm, const std::string& path,
                           std::span<const FilePart> parts, const SparseWriteOptions& options) {
    const auto write = [&] { return write_among(comm, path, parts, options); };
    if (options.task) {
        return write();
    }
    return WatchedTask(RankWatch::of(comm), RankWatch::kept_limit(options.stall_timeout_s),
                       "the write")
        .during(write);
}

}  // namespace fluvial::move
