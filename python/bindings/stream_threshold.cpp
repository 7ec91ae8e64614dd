// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "fluvial/stream/threshold_collective.hpp"
#include "stream_functions.hpp"
#include "stream_handles.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using stream::Channel;

/// `prepare` returns a limit or (merge, judge), and rounds_ahead.
void begin_threshold(stream::ThresholdCollective* self, Channel& channel, nb::handle prepare) {
    double limit = 0;
    std::uint64_t rounds_ahead = 0;
    std::optional<stream::ThresholdRule> rule;
    agree(channel, stream::Collective::BeginThreshold, [&] {
        const nb::object wanted = prepare();
        rounds_ahead = nb::cast<std::uint64_t>(wanted["rounds_ahead"]);
        if (wanted["limit"].is_none()) {
            rule = to_rule(wanted["merge"], wanted["judge"], rounds_ahead,
                           nb::cast<std::string>(wanted["declared"]));
        } else {
            limit = nb::cast<double>(wanted["limit"]);
        }
    });
    const Alone alone(channel);
    if (rule) {
        new (self) stream::ThresholdCollective(channel, std::move(*rule));
    } else {
        new (self) stream::ThresholdCollective(
            stream::ThresholdCollective::sum_over(channel, limit, rounds_ahead));
    }
}

}  // namespace

void bind_threshold(nb::module_& m) {
    using stream::ThresholdCollective;
    nb::class_<ThresholdCollective>(m, "ThresholdCollective")
        .def("__init__", &begin_threshold, "channel"_a, "prepare"_a, nb::keep_alive<1, 2>())
        .def("contribute",
             alone(static_cast<bool (ThresholdCollective::*)(double)>(
                 &ThresholdCollective::contribute)),
             "value"_a)
        .def(
            "contribute_bytes",
            [](ThresholdCollective& self, const nb::bytes& value) {
                const std::vector<std::byte> bytes = to_bytes(value);
                const Alone alone(self);
                return self.contribute(bytes);
            },
            "value"_a)
        .def_prop_ro("late", &ThresholdCollective::late);
}

}  // namespace fluvial::python
