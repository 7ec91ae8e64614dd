// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/stream.hpp"

#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "communicator.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stream/stream_state.hpp"
#include "preparation.hpp"
#include "stream_functions.hpp"
#include "stream_handles.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using stream::Batch;
using stream::Channel;
using stream::Element;
using stream::Operation;
using stream::Pending;
using stream::Stream;

Element to_element(const nb::object& wanted) {
    const auto bytes = nb::cast<std::size_t>(wanted["bytes"]);
    if (nb::cast<bool>(wanted["varies"])) {
        return Element::varying(bytes);
    }
    const nb::object dtype = wanted["dtype"];
    return dtype.is_none() ? Element::opaque(bytes)
                           : Element::of(dtype_from_name(nb::cast<std::string>(dtype)),
                                         to_coordinates(wanted["shape"], "shape"));
}

/// `prepare` returns what the stream is to be, by name.
void attach(Stream* self, Channel& channel, nb::handle prepare) {
    stream::StreamOptions options;
    std::unique_ptr<Operation> operation;
    agree(channel, stream::Collective::AttachStream, [&] {
        const nb::object wanted = prepare();
        options.name = nb::cast<std::string>(wanted["name"]);
        options.element = to_element(wanted);
        options.buffer_bytes = nb::cast<std::size_t>(wanted["buffer_bytes"]);
        options.association = to_association(wanted["association"]);
        options.result_on_producers = nb::cast<bool>(wanted["result_on_producers"]);
        options.latency_s = nb::cast<double>(wanted["latency"]);
        options.element_type = nb::cast<std::string>(wanted["element_type"]);
        operation = make_operation(wanted["entries"], wanted["callback"],
                                   nb::cast<std::string>(wanted["declared"]), options.element,
                                   channel.size());
    });
    const Alone alone(channel);
    new (self) Stream(channel, options, std::move(operation));
}

/// {name: {part: array}}
nb::dict results_in(const std::vector<std::byte>& encoded) {
    const auto results = stream::decode_results(encoded);
    nb::dict out;
    for (const auto& [name, result] : results) {
        out[name.c_str()] = to_numpy(result);
    }
    return out;
}

nb::dict result_of(Stream& self) {
    const std::vector<std::byte>* encoded = nullptr;
    {
        const Alone alone(self);
        encoded = &self.result();
    }
    return results_in(*encoded);
}

/// (elements, results)
nb::tuple outcome_tuple(const stream::Outcome& outcome) {
    return nb::make_tuple(outcome.elements, results_in(outcome.result));
}

/// (producer, bytes before, elements); None at the end of the stream. Of try_next, elements may be
/// None: nothing there now.
nb::object batch_tuple(const Stream& self, const std::optional<Batch>& batch) {
    if (!batch) {
        return nb::none();
    }
    const bool varies = self.options().element.varies;
    const nb::object elements =
        batch->bytes == 0 ? nb::object(nb::none()) : elements_of(*batch, varies);
    return nb::make_tuple(batch->producer, batch->first, elements);
}

nb::dict statistics_of(const Stream& self) {
    const stream::Statistics s = self.statistics();
    nb::dict d;
    d["sent_elements"] = s.sent_elements;
    d["sent_bytes"] = s.sent_bytes;
    d["stalls"] = s.stalls;
    d["stalled_s"] = static_cast<double>(s.stalled_ns) * 1e-9;
    d["elements"] = s.elements;
    d["bytes"] = s.bytes;
    d["batches"] = s.batches;
    d["processing_s"] = static_cast<double>(s.processing_ns) * 1e-9;
    d["idle_s"] = static_cast<double>(s.idle_ns) * 1e-9;
    d["depth_bytes"] = s.depth_bytes;
    d["depth_bytes_max"] = s.depth_bytes_max;
    d["memory_bytes"] = s.memory_bytes;
    d["queries_answered"] = s.queries_answered;
    return d;
}

const ArrayView& contiguous_view(const BorrowedArray& array) {
    if (!array.view().is_contiguous()) {
        throw InvalidArgument(
            Problem{"elements do not lie side by side", "strides", "a contiguous array", ""});
    }
    return array.view();
}

/// Lives as long as its memory is sent from, which may end without the GIL.
std::shared_ptr<BorrowedArray> kept(nb::handle array) {
    return {new BorrowedArray(array), [](BorrowedArray* held) {
                const nb::gil_scoped_acquire gil;
                delete held;
            }};
}

/// `prepare` returns what this rank wants, by name; what it raises is raised on all ranks.
void open_channel(Channel* self, std::optional<long> handle, nb::handle prepare) {
    stream::ChannelRequest request;
    std::exception_ptr failure;
    try {
        with_python([&] {
            const nb::object wanted = prepare();
            request.role = static_cast<stream::Role>((nb::cast<bool>(wanted["producer"]) ? 1 : 0) +
                                                     (nb::cast<bool>(wanted["consumer"]) ? 2 : 0));
            request.options = {.shared_memory = nb::cast<bool>(wanted["shared_memory"]),
                               .timeout_s = nb::cast<double>(wanted["timeout"]),
                               .stall_timeout_s = nb::cast<double>(wanted["stall_timeout"]),
                               .trace_file = nb::cast<std::string>(wanted["trace_file"])};
        });
    } catch (const Error&) {
        failure = std::current_exception();
    }
    const nb::gil_scoped_release release;
    const progress::Setup setup(
        progress::time_limit(request.options.timeout_s, "Fluvial could not open a channel"));
    new (self) Channel(to_comm(handle), [&] {
        if (failure) {
            std::rethrow_exception(failure);
        }
        return request;
    });
}

void bind_channel(nb::module_& m) {
    nb::class_<Channel>(m, "Channel")
        .def("__init__", &open_channel, "comm"_a.none(), "prepare"_a)
        .def_prop_ro("rank", &Channel::rank)
        .def_prop_ro("size", &Channel::size)
        .def_prop_ro("producers", &Channel::producers)
        .def_prop_ro("consumers", &Channel::consumers)
        .def("progress", alone(&Channel::progress))
        .def("close", alone(&Channel::close))
        .def(
            "abandon",
            [](Channel& self, const std::string& message) {
                const Alone alone(self);
                self.abandon(message);
            },
            "message"_a);
}

void bind_sending(nb::class_<Stream>& stream) {
    stream
        .def(
            "send",
            [](Stream& self, nb::handle elements, Index count) {
                const BorrowedArray array(elements);
                const void* const data = contiguous_view(array).data;
                const Alone alone(self);
                self.send(data, count);
            },
            "elements"_a, "count"_a)
        .def(
            "send_record",
            [](Stream& self, nb::handle record) {
                const BorrowedArray array(record);
                const ArrayView& view = contiguous_view(array);
                const Alone alone(self);
                self.send_record({view.data, static_cast<std::size_t>(view.size())});
            },
            "record"_a)
        .def(
            "isend",
            [](Stream& self, nb::handle elements, Index count) {
                const auto array = kept(elements);
                const void* const data = contiguous_view(*array).data;
                const Alone alone(self);
                return self.isend(data, count, array);
            },
            "elements"_a, "count"_a)
        .def(
            "isend_record",
            [](Stream& self, nb::handle record) {
                const auto array = kept(record);
                const ArrayView& view = contiguous_view(*array);
                const Alone alone(self);
                return self.isend_record({view.data, static_cast<std::size_t>(view.size())}, array);
            },
            "record"_a)
        .def(
            "reserve",
            [](Stream& self, Index wanted) {
                std::span<std::byte> room;
                {
                    const Alone alone(self);
                    room = self.reserve_many(wanted);
                }
                return bytes_array(room, true);
            },
            "wanted"_a)
        .def(
            "reserve_record",
            [](Stream& self, std::size_t bytes) {
                std::span<std::byte> room;
                {
                    const Alone alone(self);
                    room = self.reserve(bytes);
                }
                return bytes_array(room, true);
            },
            "bytes"_a)
        .def("commit", alone(&Stream::commit), "count"_a)
        .def("flush", alone(&Stream::flush))
        .def("terminate", alone(&Stream::terminate))
        .def("iterminate", alone(&Stream::iterminate));
}

void bind_processing(nb::class_<Stream>& stream) {
    stream.def("operate", alone(&Stream::operate))
        .def("operate_some", alone(&Stream::operate_some), "bytes_max"_a)
        .def("next",
             [](Stream& self) {
                 std::optional<Batch> batch;
                 {
                     const Alone alone(self);
                     batch = self.next();
                 }
                 return batch_tuple(self, batch);
             })
        .def("try_next",
             [](Stream& self) {
                 std::optional<Batch> batch;
                 {
                     const Alone alone(self);
                     batch = self.try_next();
                 }
                 return batch_tuple(self, batch);
             })
        .def_prop_ro("ended", &Stream::ended)
        .def_prop_ro("name", [](const Stream& self) { return self.options().name; })
        .def_prop_ro("stats", &statistics_of)
        .def("query",
             [](Stream& self) {
                 stream::Outcome outcome;
                 {
                     const Alone alone(self);
                     outcome = self.query();
                 }
                 return outcome_tuple(outcome);
             })
        .def("iquery", alone(&Stream::iquery))
        .def("result", &result_of);
}

void bind_inquiry(nb::module_& m) {
    using stream::Inquiry;
    nb::class_<Inquiry>(m, "Inquiry")
        .def("test", alone(&Inquiry::test))
        .def("wait", [](Inquiry& self) {
            const stream::Outcome* outcome = nullptr;
            {
                const Alone alone(self);
                outcome = &self.wait();
            }
            return outcome_tuple(*outcome);
        });
}

}  // namespace

void agree(const Channel& channel, stream::Collective purpose,
           const std::function<void()>& prepare) {
    stream::ChannelState& state = *channel.state();
    state.check_usable();
    const auto with_gil = [&] { with_python(prepare); };
    const Alone alone(channel);
    if (state.takes_part()) {
        const stream::ChannelState::Together together = state.begin_together(purpose);
        mpi::agree(state.comm, with_gil);
    } else {
        with_gil();
    }
}

}  // namespace fluvial::python

/// Channels and streams inside a job. The GIL is free while a call blocks, and held by callbacks.
void bind_stream(nanobind::module_& m) {
    using namespace fluvial::python;
    bind_channel(m);
    bind_inquiry(m);
    bind_threshold(m);
    nb::class_<Pending>(m, "Pending")
        .def("test", alone(&Pending::test))
        .def("wait", alone(&Pending::wait));
    nb::class_<Stream> stream(m, "Stream");
    stream.def("__init__", &attach, "channel"_a, "prepare"_a, nb::keep_alive<1, 2>());
    bind_sending(stream);
    bind_processing(stream);
}
