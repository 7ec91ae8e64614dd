// SPDX-License-Identifier: Apache-2.0
/// Sparse data into a file, by windows that few ranks write.
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "bound_topology.hpp"
#include "compute.hpp"
#include "fluvial/move/sparse_write.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/given_up.hpp"
#include "planned.hpp"
#include "preparation.hpp"
#include "route.hpp"
#include "watched_ranks.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

/// `prepare` returns a path, {offset: contiguous uint8}, writers, alignment, window, time-out,
/// a topology or None, planner, strict; what it raises on one rank is raised on all. Returns
/// (bytes, here, at most on a rank, writers, paths, a warning for rank 0).
/// `limit_s` is for ranks that do not run.
nb::tuple sparse_write(std::optional<long> handle, double limit_s, const nb::callable& prepare) {
    move::SparseWritten written;
    int rank = 0;
    {
        const nb::gil_scoped_release release;
        WatchedRanks ranks(handle, move::RankWatch::kept_limit(limit_s), "the write");
        mpi::Comm& comm = ranks.comm();
        rank = comm.rank();
        const auto write = [&] {
            std::string path;
            std::shared_ptr<nb::object> keep;
            std::vector<move::FilePart> parts;
            move::SparseWriteOptions options;
            mpi::agree(comm, [&] {
                with_python([&] {
                    const nb::tuple said = nb::cast<nb::tuple>(prepare());
                    keep = share(nb::object(said));
                    path = nb::cast<std::string>(said[0]);
                    for (const auto& [offset, bytes] : nb::cast<nb::dict>(said[1])) {
                        const auto array = nb::cast<Bytes>(bytes);
                        const auto* const begin = reinterpret_cast<const std::byte*>(array.data());
                        parts.push_back({nb::cast<std::uint64_t>(offset), {begin, array.size()}});
                    }
                    options.writers = nb::cast<std::size_t>(said[2]);
                    options.align = nb::cast<std::uint64_t>(said[3]);
                    options.window_bytes = nb::cast<std::uint64_t>(said[4]);
                    options.stall_timeout_s = nb::cast<double>(said[5]);
                    options.topology = topology_or_none(said[6]);
                    options.plan.planner = nb::cast<std::string>(said[7]);
                    options.displaced = displaced_if(nb::cast<bool>(said[8]));
                });
            });
            // That of `ranks`, which outlives the call.
            options.task = {std::shared_ptr<void>(), &ranks.task()};
            return move::sparse_write(comm, path, parts, options);
        };
        written = mpi::given_up_on_error(comm, [&] { return ranks.together(write); });
        ranks.close();
    }
    return nb::make_tuple(written.bytes, written.here, written.at_most, written.writers,
                          written.paths_max, rank == 0 ? written.warning : std::string());
}

}  // namespace

void bind_sparse_write(nb::module_& m) {
    m.def("sparse_write", sparse_write, "comm"_a.none(), "limit_s"_a, "prepare"_a,
          "(bytes, here, at most on a rank, writers, paths, a warning). Collective.");
}

}  // namespace fluvial::python
