// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/stream.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "communicator.hpp"
#include "compute.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "lent_arrays.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using stream::Association;
using stream::Batch;
using stream::Channel;
using stream::Element;
using stream::Operation;
using stream::Pending;
using stream::Stream;

/// The bytes of a batch or of room as they lie, for as long as the stream says.
nb::object bytes_array(std::span<const std::byte> bytes, bool writable) {
    const std::size_t shape[] = {bytes.size()};
    void* const data = const_cast<std::byte*>(bytes.data());
    const nb::capsule owner(data == nullptr ? static_cast<const void*>(shape) : data,
                            [](void*) noexcept {});
    const nb::dlpack::dtype dtype = dlpack_dtype(DType::UInt8);
    if (writable) {
        return nb::cast(nb::ndarray<nb::numpy>(data, 1, shape, owner, nullptr, dtype),
                        nb::rv_policy::reference);
    }
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, 1, shape, owner, nullptr, dtype),
                    nb::rv_policy::reference);
}

/// The records of a batch, one array each.
nb::list record_arrays(const Batch& batch) {
    nb::list records;
    for_each_record(batch, [&](std::span<const std::byte> record) {
        records.append(bytes_array(record, false));
    });
    return records;
}

nb::object elements_of(const Batch& batch, bool varies) {
    if (varies) {
        return record_arrays(batch);
    }
    return bytes_array({batch.data, batch.bytes}, false);
}

/// Calls `work(producer, elements)`; the arrays end with the call.
std::unique_ptr<Operation> make_python_callback(nb::object work, bool varies) {
    const auto shared = share(std::move(work));
    return stream::make_callback([shared, varies](const Batch& batch) {
        std::vector<ArrayView> views;
        const auto add = [&](std::span<const std::byte> bytes) {
            views.emplace_back(bytes.data(), DType::UInt8,
                               Coordinates{static_cast<Index>(bytes.size())});
        };
        if (varies) {
            for_each_record(batch, add);
        } else {
            add({batch.data, batch.bytes});
        }
        const nb::gil_scoped_acquire gil;
        LentArrays lent(views);
        {
            nb::object elements = lent.list();
            (*shared)(batch.producer, varies ? elements : nb::object(elements[0]));
        }
        lent.check_returned("the function of a stream");
    });
}

std::unique_ptr<Operation> make_operation(nb::handle entries, nb::handle callback,
                                          const Element& element, int ranks) {
    if (!callback.is_none()) {
        return make_python_callback(nb::borrow(callback), element.varies);
    }
    if (entries.is_none()) {
        return nullptr;
    }
    std::vector<stream::NamedOperator> operators;
    for (const nb::handle entry : entries) {
        operators.push_back({nb::cast<std::string>(entry[0]), to_operator(entry[1]),
                             nb::cast<std::vector<int>>(entry[2])});
    }
    return stream::make_reduction(std::move(operators), element, ranks);
}

Association to_association(nb::handle given) {
    if (nb::isinstance<nb::str>(given)) {
        const auto name = nb::cast<std::string>(given);
        if (name == "nearest") return Association::nearest();
        if (name == "round_robin") return Association::round_robin();
        if (name == "most_room") return Association::most_room();
        throw InvalidArgument(
            Problem{"no such association of producers and consumers", "'" + name + "'",
                    "'nearest', 'round_robin', 'most_room', or a function of an element", ""});
    }
    if (nb::isinstance<nb::tuple>(given)) {
        return Association::by_key(nb::cast<std::size_t>(given[0]),
                                   nb::cast<std::size_t>(given[1]));
    }
    return Association::by(
        [shared = share(nb::borrow(given))](std::span<const std::byte> element) -> std::uint64_t {
            const nb::gil_scoped_acquire gil;
            return nb::cast<std::uint64_t>((*shared)(bytes_array(element, false)));
        });
}

Element to_element(const nb::object& wanted) {
    const auto bytes = nb::cast<std::size_t>(wanted["bytes"]);
    if (nb::cast<bool>(wanted["varies"])) {
        return Element::varying(bytes);
    }
    const nb::object dtype = wanted["dtype"];
    return dtype.is_none() ? Element::opaque(bytes)
                           : Element::of(dtype_from_name(nb::cast<std::string>(dtype)),
                                         to_coordinates(wanted["shape"]));
}

/// What fails on one rank fails on all, so that none waits for it.
void agree(const Channel& channel, const std::function<void()>& prepare) {
    stream::ChannelState& state = *channel.state();
    state.check_usable();
    const auto with_gil = [&] {
        const nb::gil_scoped_acquire gil;
        try {
            prepare();
        } catch (const nb::python_error& error) {
            if (error.matches(nb::module_::import_("fluvial._core").attr("InvalidArgument"))) {
                throw InvalidArgument(nb::cast<std::string>(nb::str(error.value())));
            }
            throw;
        }
    };
    const nb::gil_scoped_release release;
    if (state.takes_part()) {
        state.meet("attach a stream");
        mpi::agree(state.comm, with_gil);
    } else {
        with_gil();
    }
}

/// `prepare` returns what the stream is to be, by name.
void attach(Stream* self, Channel& channel, nb::handle prepare) {
    stream::StreamOptions options;
    std::unique_ptr<Operation> operation;
    agree(channel, [&] {
        const nb::object wanted = prepare();
        options.name = nb::cast<std::string>(wanted["name"]);
        options.element = to_element(wanted);
        options.buffer_bytes = nb::cast<std::size_t>(wanted["buffer_bytes"]);
        options.association = to_association(wanted["association"]);
        options.result_on_producers = nb::cast<bool>(wanted["result_on_producers"]);
        options.latency_s = nb::cast<double>(wanted["latency"]);
        operation =
            make_operation(wanted["entries"], wanted["callback"], options.element, channel.size());
    });
    const nb::gil_scoped_release release;
    new (self) Stream(channel, options, std::move(operation));
}

nb::object result_of(Stream& self) {
    std::map<std::string, compute::Result> results;
    {
        const nb::gil_scoped_release release;
        results = stream::decode_results(self.result());
    }
    nb::dict out;
    for (const auto& [name, result] : results) {
        out[name.c_str()] = to_numpy(result);
    }
    return out;
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
    return d;
}

const ArrayView& contiguous_view(const BorrowedArray& array) {
    if (!array.view().is_contiguous()) {
        throw InvalidArgument(
            Problem{"elements do not lie side by side", "strides", "a contiguous array", ""});
    }
    return array.view();
}

void bind_channel(nb::module_& m) {
    nb::class_<Channel>(m, "Channel")
        .def(
            "__init__",
            [](Channel* self, std::optional<long> handle, bool producer, bool consumer,
               bool shared_memory, double timeout, const std::string& trace_file) {
                const auto role =
                    static_cast<stream::Role>((producer ? 1 : 0) + (consumer ? 2 : 0));
                const nb::gil_scoped_release release;
                new (self) Channel(to_comm(handle), role,
                                   {.shared_memory = shared_memory,
                                    .timeout_s = timeout,
                                    .trace_file = trace_file});
            },
            nb::kw_only(), "comm"_a.none(), "producer"_a, "consumer"_a, "shared_memory"_a,
            "timeout"_a, "trace_file"_a)
        .def_prop_ro("rank", &Channel::rank)
        .def_prop_ro("size", &Channel::size)
        .def_prop_ro("producers", &Channel::producers)
        .def_prop_ro("consumers", &Channel::consumers)
        .def("progress", &Channel::progress, nb::call_guard<nb::gil_scoped_release>())
        .def("close", &Channel::close, nb::call_guard<nb::gil_scoped_release>())
        .def("abandon", &Channel::abandon, "message"_a, nb::call_guard<nb::gil_scoped_release>());
}

void bind_sending(nb::class_<Stream>& stream) {
    stream
        .def(
            "send",
            [](Stream& self, nb::handle elements, Index count) {
                const BorrowedArray array(elements);
                const void* const data = contiguous_view(array).data;
                const nb::gil_scoped_release release;
                self.send(data, count);
            },
            "elements"_a, "count"_a)
        .def(
            "send_record",
            [](Stream& self, nb::handle record) {
                const BorrowedArray array(record);
                const ArrayView& view = contiguous_view(array);
                const nb::gil_scoped_release release;
                self.send_record({view.data, static_cast<std::size_t>(view.size())});
            },
            "record"_a)
        .def(
            "isend",
            [](Stream& self, nb::object elements, Index count) {
                const auto array = std::shared_ptr<BorrowedArray>(
                    new BorrowedArray(elements), [](BorrowedArray* held) {
                        const nb::gil_scoped_acquire gil;
                        delete held;
                    });
                const void* const data = contiguous_view(*array).data;
                const nb::gil_scoped_release release;
                return self.isend(data, count, array);
            },
            "elements"_a, "count"_a)
        .def(
            "reserve",
            [](Stream& self, Index wanted) {
                std::span<std::byte> room;
                {
                    const nb::gil_scoped_release release;
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
                    const nb::gil_scoped_release release;
                    room = self.reserve(bytes);
                }
                return bytes_array(room, true);
            },
            "bytes"_a)
        .def("commit", &Stream::commit, "count"_a)
        .def("flush", &Stream::flush, nb::call_guard<nb::gil_scoped_release>())
        .def("terminate", &Stream::terminate, nb::call_guard<nb::gil_scoped_release>())
        .def("iterminate", &Stream::iterminate, nb::call_guard<nb::gil_scoped_release>());
}

void bind_processing(nb::class_<Stream>& stream) {
    stream.def("operate", &Stream::operate, nb::call_guard<nb::gil_scoped_release>())
        .def("operate_some", &Stream::operate_some, "bytes_max"_a,
             nb::call_guard<nb::gil_scoped_release>())
        .def("next",
             [](Stream& self) {
                 std::optional<Batch> batch;
                 {
                     const nb::gil_scoped_release release;
                     batch = self.next();
                 }
                 return batch_tuple(self, batch);
             })
        .def("try_next",
             [](Stream& self) {
                 std::optional<Batch> batch;
                 {
                     const nb::gil_scoped_release release;
                     batch = self.try_next();
                 }
                 return batch_tuple(self, batch);
             })
        .def_prop_ro("ended", &Stream::ended)
        .def_prop_ro("name", [](const Stream& self) { return self.options().name; })
        .def_prop_ro("stats", &statistics_of)
        .def("result", &result_of);
}

}  // namespace
}  // namespace fluvial::python

/// Channels and streams inside a job. The GIL is free while a call blocks, and held by callbacks.
void bind_stream(nanobind::module_& m) {
    using namespace fluvial::python;
    bind_channel(m);
    nb::class_<Pending>(m, "Pending")
        .def("test", &Pending::test, nb::call_guard<nb::gil_scoped_release>())
        .def("wait", &Pending::wait, nb::call_guard<nb::gil_scoped_release>());
    nb::class_<Stream> stream(m, "Stream");
    stream.def("__init__", &attach, "channel"_a, "prepare"_a, nb::keep_alive<1, 2>());
    bind_sending(stream);
    bind_processing(stream);
}
