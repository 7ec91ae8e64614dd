// SPDX-License-Identifier: Apache-2.0
/// A global array that ranks cut in two ways, moved step after step.
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "bound_topology.hpp"
#include "communicator.hpp"
#include "compute.hpp"
#include "fluvial/move/redistribution.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/given_up.hpp"
#include "fluvial/progress/engine.hpp"
#include "planned.hpp"
#include "preparation.hpp"
#include "route.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using move::Redistribution;

/// From a sequence of (offset, extent).
std::vector<Region> to_regions(nb::handle boxes) {
    std::vector<Region> regions;
    for (const auto box : nb::cast<nb::list>(boxes)) {
        const auto pair = nb::cast<nb::tuple>(box);
        regions.push_back({to_coordinates(pair[0], "the offset of a box"),
                           to_coordinates(pair[1], "the extent of a box")});
    }
    return regions;
}

/// `prepare` returns the shape, a dtype's name, boxes, boxes, a topology or None, planner, a
/// transfer (planned.hpp); what it raises on one rank is raised on all. The GIL is held. `limit_s`
/// is for ranks to come.
Redistribution make_redistribution(std::optional<long> handle, double limit_s,
                                   const nb::callable& prepare) {
    const nb::gil_scoped_release release;
    const progress::Setup setup(progress::time_limit(limit_s, move::not_all_declared));
    mpi::Comm comm = to_comm(handle);
    Coordinates shape;
    DType dtype = DType::UInt8;
    std::vector<Region> has, wants;
    move::RedistributionOptions options;
    mpi::given_up_on_error(comm, [&] {
        mpi::agree(comm, [&] {
            with_python([&] {
                const nb::tuple said = nb::cast<nb::tuple>(prepare());
                shape = to_coordinates(said[0], "shape");
                dtype = dtype_from_name(nb::cast<std::string>(said[1]));
                has = to_regions(said[2]);
                wants = to_regions(said[3]);
                options.topology = topology_or_none(said[4]);
                options.plan.planner = nb::cast<std::string>(said[5]);
                read_transfer(said[6], options.plan.flow, options.how, options.displaced);
            });
        });
    });
    return {std::move(comm), shape, dtype, has, wants, std::move(options)};
}

/// The arrays of one step; the buffers are lent for that long.
class LentStep {
  public:
    /// `prepare` returns the arrays of the boxes that this rank has, and writable ones for those
    /// that it wants.
    move::StepArrays arrays(const nb::callable& prepare) {
        return with_python([&] {
            const nb::tuple said = nb::cast<nb::tuple>(prepare());
            move::StepArrays step;
            for (const nb::handle object : nb::cast<nb::list>(said[0])) {
                step.from.push_back({lend(object), share(nb::borrow(object))});
            }
            for (const nb::handle object : nb::cast<nb::list>(said[1])) {
                const ArrayView view = lend(object);
                step.to.push_back(
                    {{const_cast<std::byte*>(view.data), view.dtype, view.extent, view.strides},
                     share(nb::borrow(object))});
            }
            return step;
        });
    }

  private:
    ArrayView lend(nb::handle object) { return buffers_.emplace_back(object).view(); }

    std::vector<BorrowedArray> buffers_;
};

void move_step(Redistribution& made, const nb::callable& prepare) {
    LentStep lent;
    const nb::gil_scoped_release release;
    made.move([&] { return lent.arrays(prepare); });
}

nb::list flows_of(const Redistribution& made) {
    nb::list out;
    for (const route::RankFlow& flow : made.flows()) {
        nb::list paths;
        for (const std::vector<int>& stops : flow.paths) {
            paths.append(nb::tuple(nb::cast(stops)));
        }
        out.append(nb::make_tuple(flow.from, flow.to, flow.bytes, nb::tuple(paths)));
    }
    return out;
}

}  // namespace

void bind_redistribution(nb::module_& m) {
    nb::class_<Redistribution>(m, "Redistribution", "Two ways to cut one global array.")
        .def("move", move_step, "prepare"_a, "Collective.")
        .def("flows", flows_of, "(source, destination, bytes, paths) of each.")
        .def("speed_up", &Redistribution::speed_up)
        .def("warning", [](const Redistribution& made) { return made.warning(); })
        .def("close", &Redistribution::close, nb::call_guard<nb::gil_scoped_release>())
        .def("abandon", &Redistribution::abandon);
    m.def("make_redistribution", make_redistribution, "comm"_a.none(), "limit"_a, "prepare"_a,
          "Collective.");
}

}  // namespace fluvial::python
