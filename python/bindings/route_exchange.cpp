// SPDX-License-Identifier: Apache-2.0
/// Data along the paths of a plan, with helper ranks or without.
#include <algorithm>
#include <exception>
#include <functional>
#include <optional>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "communicator.hpp"
#include "compute.hpp"
#include "fluvial/base/assert.hpp"
#include "fluvial/move/helper_ranks.hpp"
#include "fluvial/move/planned_exchange.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/given_up.hpp"
#include "fluvial/mpi/kept_duplicate.hpp"
#include "planned.hpp"
#include "preparation.hpp"
#include "route.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

nb::object to_numpy(const move::Arrived& arrived) {
    auto* const keep = new std::shared_ptr<std::byte[]>(arrived.bytes);
    const nb::capsule owner(
        keep, [](void* held) noexcept { delete static_cast<std::shared_ptr<std::byte[]>*>(held); });
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(arrived.bytes.get(),
                                                                      {arrived.size}, owner));
}

/// What `prepare` returns: a plan, {flow: contiguous uint8}, a transfer (planned.hpp). `plan` keeps
/// it.
move::PlannedCall call_of(const nb::callable& prepare, std::shared_ptr<nb::object>& plan) {
    return with_python([&] {
        const nb::tuple said = nb::cast<nb::tuple>(prepare());
        plan = share(nb::object(said[0]));
        move::PlannedCall call = nb::cast<Planned&>(*plan).call(nb::cast<nb::dict>(said[1]));
        read_transfer(said[2], call.options, call.how, call.displaced);
        return call;
    });
}

/// Of each flow that begins or ends on this rank, (stops, windows, bytes, given up, instead) of
/// each path.
nb::dict to_dict(const std::vector<std::vector<move::PathUse>>& used) {
    nb::dict out;
    for (std::size_t i = 0; i < used.size(); ++i) {
        nb::list paths;
        for (const move::PathUse& use : used[i]) {
            paths.append(nb::make_tuple(nb::tuple(nb::cast(use.stops)), use.windows, use.bytes,
                                        use.given_up, use.instead));
        }
        if (!used[i].empty()) {
            out[nb::int_(i)] = paths;
        }
    }
    return out;
}

nb::tuple to_tuple(const move::Exchanged& exchanged, bool warns) {
    nb::dict out;
    const std::vector<move::Arrived>& arrived = exchanged.moved.arrived;
    for (std::size_t i = 0; i < arrived.size(); ++i) {
        if (arrived[i].bytes != nullptr) {
            out[nb::int_(i)] = to_numpy(arrived[i]);
        }
    }
    return nb::make_tuple(out, to_dict(exchanged.moved.used),
                          warns ? exchanged.warning : std::string());
}

/// {flow: uint8} of flows that end on this rank, what paths carried, and a warning for rank 0, or
/// nothing.
/// `limit_s` is for ranks to come that do not run.
nb::tuple exchange_routes(std::optional<long> handle, double limit_s, const nb::callable& prepare) {
    std::shared_ptr<nb::object> plan;
    move::Exchanged exchanged;
    int rank = 0;
    {
        const nb::gil_scoped_release release;
        const move::WatchedTask task(handle ? move::RankWatch::of(*handle) : nullptr,
                                     move::RankWatch::kept_limit(limit_s), "the exchange");
        exchanged = task.telling([&] {
            const auto comm = task.watching([&] {
                return handle ? mpi::kept_duplicate(*handle) : std::make_shared<mpi::Comm>();
            });
            rank = comm->rank();
            return move::exchange_over_kept(*comm, [&] { return call_of(prepare, plan); }, task);
        });
    }
    return to_tuple(exchanged, rank == 0);
}

/// The largest of each of `count` numbers that ranks have; `prepare` returns this rank's. What it
/// raises on one rank is raised on all.
std::vector<Index> largest_of_each(std::optional<long> handle, double limit_s, std::size_t count,
                                   const nb::callable& prepare) {
    const nb::gil_scoped_release release;
    const move::WatchedTask task(handle ? move::RankWatch::of(*handle) : nullptr,
                                 move::RankWatch::kept_limit(limit_s), "the exchange");
    return task.during([&] {
        const auto comm = handle ? mpi::kept_duplicate(*handle) : std::make_shared<mpi::Comm>();
        std::vector<Index> opposites(count, 0);
        const auto own = [&] {
            const auto said = with_python([&] { return nb::cast<std::vector<Index>>(prepare()); });
            FLUVIAL_ASSERT(said.size() == count);
            std::ranges::transform(said, opposites.begin(), std::negate());
        };
        try {
            mpi::agree_on(*comm, own, [](Terms&) {}, opposites);
        } catch (...) {
            if (comm->size() > 1 && !mpi::was_agreed(std::current_exception(), comm->size())) {
                mpi::lose(*comm);
            }
            throw;
        }
        std::ranges::transform(opposites, opposites.begin(), std::negate());
        return opposites;
    });
}

nb::tuple exchange_with_helpers(move::HelperRanks& helpers, const nb::callable& prepare,
                                bool warns) {
    std::shared_ptr<nb::object> plan;
    move::Exchanged exchanged;
    {
        const nb::gil_scoped_release release;
        exchanged = helpers.exchange([&] { return call_of(prepare, plan); });
    }
    return to_tuple(exchanged, warns);
}

/// The GIL is not held.
move::HelperRanks make_helpers(std::optional<long> handle, const nb::callable& prepare) {
    mpi::Comm comm = to_comm(handle);
    bool helps = false;
    mpi::given_up_on_error(comm, [&] {
        mpi::agree(comm, [&] { with_python([&] { helps = nb::cast<bool>(prepare()); }); });
    });
    return {std::move(comm), helps};
}

}  // namespace

void bind_exchange(nb::module_& m) {
    m.def("exchange_routes", exchange_routes, "comm"_a.none(), "limit_s"_a, "prepare"_a,
          "({flow: uint8} of those that end on this rank, {flow: paths}, a warning). Collective.");
    m.def("largest_of_each", largest_of_each, "comm"_a.none(), "limit_s"_a, "count"_a, "prepare"_a,
          "Of each of so many numbers that ranks have. Collective.");
    nb::class_<move::HelperRanks>(m, "HelperRanks", "Ranks that pass on what others exchange.")
        .def("helps", &move::HelperRanks::helps)
        .def("ranks",
             [](const move::HelperRanks& helpers) {
                 return std::vector<int>(helpers.helpers().begin(), helpers.helpers().end());
             })
        .def("serve", &move::HelperRanks::serve, nb::call_guard<nb::gil_scoped_release>())
        .def("exchange", exchange_with_helpers, "prepare"_a, "warns"_a, "As exchange_routes.")
        .def("release", &move::HelperRanks::release, nb::call_guard<nb::gil_scoped_release>())
        .def("abandon", &move::HelperRanks::abandon);
    m.def("make_helpers", make_helpers, "comm"_a.none(), "prepare"_a, "Collective.",
          nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace fluvial::python
