// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/sparse_write.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/aggregators.hpp"
#include "fluvial/move/planned_rounds.hpp"
#include "fluvial/move/write_plan.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::move {
namespace {

class OpenFile {
  public:
    OpenFile() = default;
    ~OpenFile() {
        if (descriptor_ >= 0) {
            ::close(descriptor_);
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    void open(const std::string& path) {
        path_ = path;
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor_ < 0) {
            fail("open");
        }
    }
    void write(std::uint64_t offset, std::span<const std::byte> bytes) const {
        while (!bytes.empty()) {
            const ssize_t done =
                ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (done < 0 && errno == EINTR) {
                continue;
            }
            if (done <= 0) {
                fail("write to");
            }
            bytes = bytes.subspan(static_cast<std::size_t>(done));
            offset += static_cast<std::uint64_t>(done);
        }
    }
    /// What is written behind the end of a full disk is said here by some file systems.
    void close() {
        const int descriptor = std::exchange(descriptor_, -1);
        if (descriptor >= 0 && ::close(descriptor) != 0) {
            fail("write to");
        }
    }

  private:
    [[noreturn]] void fail(const char* what) const {
        throw SystemError(Problem{text("cannot ", what, " the shared file '", path_, "'"),
                                  std::strerror(errno), "", ""});
    }

    int descriptor_ = -1;
    std::string path_;
};

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

/// One window of each writer: each rank's bytes for it go there in one message.
class Round {
  public:
    Round(const mpi::Comm& comm, std::span<const Extent> extents, std::span<const FilePart> parts)
        : comm_(comm), extents_(extents) {
        for (const FilePart& part : parts) {
            if (!part.bytes.empty()) {
                own_.push_back(part);
            }
        }
        std::sort(own_.begin(), own_.end(),
                  [](const FilePart& a, const FilePart& b) { return a.offset < b.offset; });
    }

    void add(int writer, const WriteWindow& window) {
        std::vector<std::size_t> bytes(static_cast<std::size_t>(comm_.size()), 0);
        each_inside(extents_, window,
                    [&](const Extent& one, std::uint64_t begin, std::uint64_t end) {
                        bytes[static_cast<std::size_t>(one.rank)] += end - begin;
                    });
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const std::size_t size = bytes[static_cast<std::size_t>(rank)];
            if (size == 0) {
                continue;
            }
            data_.push_back({rank, writer, size});
            outgoing_.push_back(rank == comm_.rank() ? packed(window, size) : Outgoing{});
        }
        if (writer == comm_.rank()) {
            window_ = window;
        }
    }
    /// What has come, at its place in the file. The bytes of this window, put together.
    std::uint64_t move_and_write(const OpenFile& file, PlannedRounds& rounds) {
        const std::vector<Arrived> arrived = rounds.move(data_, outgoing_);
        std::uint64_t written = 0;
        mpi::agree(comm_, [&] { written = write(file, arrived); });
        return written;
    }

  private:
    Outgoing packed(const WriteWindow& window, std::size_t size) const {
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
    std::uint64_t write(const OpenFile& file, const std::vector<Arrived>& arrived) const {
        std::vector<const std::byte*> next(static_cast<std::size_t>(comm_.size()), nullptr);
        for (std::size_t i = 0; i < data_.size(); ++i) {
            if (data_[i].to == comm_.rank()) {
                next[static_cast<std::size_t>(data_[i].from)] = arrived[i].bytes.get();
            }
        }
        std::vector<std::byte> run;  // that lies together in the file
        std::uint64_t run_begin = window_.begin, written = 0;
        const auto flush = [&] {
            file.write(run_begin, run);
            written += run.size();
            run.clear();
        };
        each_inside(extents_, window_,
                    [&](const Extent& one, std::uint64_t from, std::uint64_t to) {
                        if (from != run_begin + run.size()) {
                            flush();
                            run_begin = from;
                        }
                        const std::byte*& come = next[static_cast<std::size_t>(one.rank)];
                        run.insert(run.end(), come, come + (to - from));
                        come += to - from;
                    });
        flush();
        return written;
    }

    const mpi::Comm& comm_;
    std::span<const Extent> extents_;
    std::vector<FilePart> own_;
    WriteWindow window_;
    std::vector<route::RankBytes> data_;
    std::vector<Outgoing> outgoing_;
};

}  // namespace

SparseWritten sparse_write(const mpi::Comm& comm, const std::string& path,
                           std::span<const FilePart> parts, const SparseWriteOptions& options) {
    mpi::agree_on(
        comm, [&] { check(parts, options); },
        [&](Terms& terms) {
            terms.add("the file", path);
            terms.add("the writers", exact(static_cast<Index>(options.writers)));
            terms.add("the alignment", exact(static_cast<Index>(options.align)));
            terms.add("the window", exact(static_cast<Index>(options.window_bytes)));
            const route::Topology* const topology = options.topology.get();
            terms.add("the topology", topology != nullptr ? topology->describe() : "none");
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
    out.writers = topology != nullptr
                      ? choose_aggregators(*topology, extents, comm.size(), options.writers)
                      : choose_writers(host_of_each_rank(comm), extents, options.writers);
    const auto windows =
        plan_windows(extents, out.writers.size(), options.align, options.window_bytes);
    const bool writes =
        std::find(out.writers.begin(), out.writers.end(), comm.rank()) != out.writers.end();
    OpenFile file;
    mpi::agree(comm, [&] {
        if (writes) {
            file.open(path);
        }
    });
    std::size_t rounds = 0;
    for (const auto& of_writer : windows) {
        rounds = std::max(rounds, of_writer.size());
    }
    PlannedRounds moved(comm, topology, options.plan, options.stall_timeout_s);
    for (std::size_t k = 0; k < rounds; ++k) {
        Round round(comm, extents, parts);
        for (std::size_t writer = 0; writer < windows.size(); ++writer) {
            if (k < windows[writer].size()) {
                round.add(out.writers[writer], windows[writer][k]);
            }
        }
        out.here += round.move_and_write(file, moved);
    }
    mpi::agree(comm, [&] { file.close(); });
    out.paths_max = moved.paths_max();
    out.at_most = static_cast<std::uint64_t>(comm.max(static_cast<Index>(out.here)));
    return out;
}

}  // namespace fluvial::move
