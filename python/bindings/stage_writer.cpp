// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attributes.hpp"
#include "communicator.hpp"
#include "compute.hpp"
#include "fluvial/stage/writer.hpp"
#include "stage_handles.hpp"
#include "stage_statistics.hpp"
#include "stage_together.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using stage::Writer;
using stage::WriteStep;
using HeldWriter = Held<Writer>;
using HeldWriteStep = Held<WriteStep>;

/// Where a chunk begins: at zero unless said.
Coordinates place(nb::handle offset, const Coordinates& extent) {
    return offset.is_none() ? Coordinates(extent.size(), 0) : to_coordinates(offset, "offset");
}

/// The global shape: that of the chunk unless said.
Coordinates shape_or(nb::handle shape, const Coordinates& extent) {
    return shape.is_none() ? extent : to_coordinates(shape, "shape");
}

}  // namespace

void bind_writer(nb::module_& m) {
    nb::class_<HeldWriteStep>(m, "WriteStep")
        .def_prop_ro("index", [](const HeldWriteStep& step) { return step->index(); })
        .def_prop_ro("accepted", [](const HeldWriteStep& step) { return step->accepted(); })
        .def(
            "put",
            [](HeldWriteStep& step, nb::handle named, nb::handle array, nb::handle offset,
               nb::handle shape, const std::optional<Attributes>& attributes) {
                const std::string name = to_text(named, "the name of the dataset");
                const BorrowedArray data(array);
                const Coordinates& extent = data.view().extent;
                const Region region{place(offset, extent), extent};
                const Coordinates global = shape_or(shape, extent);
                const nb::gil_scoped_release release;
                const stage::NamedArray one{name, &data.view(),
                                            attributes ? &*attributes : nullptr};
                step->put({&one, 1}, region.offset, global);
            },
            "name"_a.none(), "array"_a.none(), "offset"_a.none(), "shape"_a.none(),
            "attributes"_a.none())
        .def(
            "put_together",
            [](HeldWriteStep& step, nb::dict arrays, nb::handle offset, nb::handle shape,
               nb::dict attributes) { put_together(*step, arrays, offset, shape, attributes); },
            "arrays"_a, "offset"_a.none(), "shape"_a.none(), "attributes"_a)
        .def(
            "span",
            [](HeldWriteStep& step, nb::handle named, const std::string& dtype, nb::handle count,
               nb::handle offset, nb::handle shape, const std::optional<Attributes>& attributes) {
                const std::string name = to_text(named, "the name of the dataset");
                const Coordinates extent = to_coordinates(count, "count");
                const Region region{place(offset, extent), extent};
                const Coordinates global = shape_or(shape, extent);
                MutableArrayView view;
                {
                    const nb::gil_scoped_release release;
                    view = step->span(name, dtype_from_name(dtype), region, global,
                                      attributes ? &*attributes : nullptr);
                }
                return share_with_numpy(view, step->keep_spans(), true);
            },
            "name"_a.none(), "dtype"_a, "count"_a.none(), "offset"_a.none(), "shape"_a.none(),
            "attributes"_a.none())
        .def(
            "end", [](HeldWriteStep& step) { step->end(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "abandon", [](HeldWriteStep& step) { step->abandon(); },
            nb::call_guard<nb::gil_scoped_release>());

    nb::class_<HeldWriter>(m, "Writer")
        .def(
            "__init__",
            [](HeldWriter* self, const std::string& name, std::optional<long> handle,
               std::int64_t queue_steps, std::int64_t reserve, std::int64_t queue_bytes,
               const std::string& full, const std::string& spill, std::int64_t spill_bytes,
               const std::string& retain, const std::string& steps_to,
               const std::string& on_stalled_reader, int readers, const std::string& directory,
               double rendezvous_timeout, double step_timeout, double stall_timeout,
               const std::string& network, const std::string& ports, bool encrypt) {
                const auto policies = stage::full_policies_from_name(full);
                const stage::WriterOptions options{
                    .queue_steps = queue_steps,
                    .reserve = reserve,
                    .queue_bytes = queue_bytes,
                    .full = policies.queue,
                    .on_full_disk = policies.disk,
                    .spill = spill,
                    .spill_bytes = spill_bytes,
                    .retain = retain,
                    .steps_to = stage::steps_to_from_name(steps_to),
                    .on_stalled_reader = stage::stalled_policy_from_name(on_stalled_reader),
                    .readers = readers,
                    .directory = directory,
                    .rendezvous_timeout_s = rendezvous_timeout,
                    .step_timeout_s = step_timeout,
                    .stall_timeout_s = stall_timeout,
                    .network = network,
                    .ports = ports,
                    .encrypt = encrypt};
                const nb::gil_scoped_release release;
                mpi::Comm comm = to_comm(handle);
                try {
                    new (self) HeldWriter(std::make_unique<Writer>(name, comm, options));
                } catch (...) {
                    comm.close();
                    throw;
                }
                comm.close();
            },
            nb::kw_only(), "name"_a, "comm"_a.none(), "queue_steps"_a, "reserve"_a, "queue_bytes"_a,
            "full"_a, "spill"_a, "spill_bytes"_a, "retain"_a, "steps_to"_a, "on_stalled_reader"_a,
            "readers"_a, "directory"_a, "rendezvous_timeout"_a, "step_timeout"_a, "stall_timeout"_a,
            "network"_a, "ports"_a, "encrypt"_a)
        .def(
            "set_attributes",
            [](HeldWriter& writer, const Attributes& attributes) {
                writer->set_attributes(attributes);
            },
            "attributes"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "begin_step",
            [](HeldWriter& writer, const Attributes& attributes) {
                return HeldWriteStep(std::make_unique<WriteStep>(writer->begin_step(attributes)));
            },
            "attributes"_a, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "close", [](HeldWriter& writer) { writer->close(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "abort", [](HeldWriter& writer, const std::string& why) { writer->abort(why); },
            "why"_a, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("stats",
                     [](const HeldWriter& writer) {
                         return stats_of(without_gil([&] { return writer->stats(); }));
                     })
        .def_prop_ro("disk_was_full",
                     [](const HeldWriter& writer) { return writer->disk_was_full(); })
        .def_prop_ro("contact", [](const HeldWriter& writer) { return writer->contact(); })
        .def_prop_ro("contact_path",
                     [](const HeldWriter& writer) { return writer->contact_path(); });
}

}  // namespace fluvial::python
