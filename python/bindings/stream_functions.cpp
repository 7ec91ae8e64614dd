// SPDX-License-Identifier: Apache-2.0
#include "stream_functions.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "lent_arrays.hpp"
#include "python_failure.hpp"

namespace fluvial::python {

using stream::Association;
using stream::Batch;
using stream::Element;
using stream::Operation;

namespace {

/// The records of a batch, one array each.
nb::list record_arrays(const Batch& batch) {
    nb::list records;
    for_each_record(batch, [&](std::span<const std::byte> record) {
        records.append(bytes_array(record, false));
    });
    return records;
}

/// Calls `work(producer, elements)`; the arrays end with the call.
std::unique_ptr<Operation> make_python_callback(nb::object work, bool varies,
                                                std::string declared) {
    const auto shared = share(std::move(work));
    const auto call = [shared, varies](const Batch& batch) {
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
            calling_user([&] {
                return (*shared)(batch.producer, varies ? elements : nb::object(elements[0]));
            });
        }
        lent.check_returned("the function of a stream");
    };
    return stream::make_callback(call, false, std::move(declared));
}

std::optional<bool> to_verdict(nb::handle said) {
    if (said.is_none()) {
        return std::nullopt;
    }
    const int truth = PyObject_IsTrue(said.ptr());  // NumPy's booleans too
    if (truth < 0) {
        throw nb::python_error();
    }
    return truth != 0;
}

nb::bytes from_bytes(std::span<const std::byte> bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

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

nb::object elements_of(const Batch& batch, bool varies) {
    if (varies) {
        return record_arrays(batch);
    }
    return bytes_array({batch.data, batch.bytes}, false);
}

std::unique_ptr<Operation> make_operation(nb::handle entries, nb::handle callback,
                                          const std::string& declared, const Element& element,
                                          int ranks) {
    if (!callback.is_none()) {
        return make_python_callback(nb::borrow(callback), element.varies, declared);
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
        if (name == "nearest") {
            return Association::nearest();
        }
        if (name == "round_robin") {
            return Association::round_robin();
        }
        if (name == "most_room") {
            return Association::most_room();
        }
        throw InvalidArgument(
            Problem{"no such association of producers and consumers", "'" + name + "'",
                    "'nearest', 'round_robin', 'most_room', or a function of an element", ""});
    }
    if (nb::isinstance<nb::tuple>(given) && nb::len(given) == 4) {
        return Association::by_real_key(
            nb::cast<std::size_t>(given[0]), nb::cast<std::size_t>(given[1]),
            nb::cast<std::size_t>(given[2]), nb::cast<std::size_t>(given[3]));
    }
    if (nb::isinstance<nb::tuple>(given)) {
        return Association::by_key(nb::cast<std::size_t>(given[0]),
                                   nb::cast<std::size_t>(given[1]));
    }
    return Association::by(
        [shared = share(nb::borrow(given))](std::span<const std::byte> element) -> std::uint64_t {
            const nb::gil_scoped_acquire gil;
            return calling_user(
                [&] { return nb::cast<std::uint64_t>((*shared)(bytes_array(element, false))); });
        });
}

std::vector<std::byte> to_bytes(nb::handle object) {
    const auto bytes = nb::cast<nb::bytes>(object);
    const auto* first = reinterpret_cast<const std::byte*>(bytes.c_str());
    return {first, first + bytes.size()};
}

stream::ThresholdRule to_rule(nb::object merge, nb::object judge, std::uint64_t rounds_ahead,
                              std::string declared) {
    stream::ThresholdRule rule;
    rule.declared = std::move(declared);
    rule.merge = [merge = share(std::move(merge))](std::vector<std::byte> a,
                                                   std::span<const std::byte> b) {
        const nb::gil_scoped_acquire gil;
        return calling_user([&] { return to_bytes((*merge)(from_bytes(a), from_bytes(b))); });
    };
    rule.judge = [judge = share(std::move(judge))](std::span<const std::byte> merged, int count,
                                                   int producers) -> std::optional<bool> {
        const nb::gil_scoped_acquire gil;
        return calling_user(
            [&] { return to_verdict((*judge)(from_bytes(merged), count, producers)); });
    };
    rule.rounds_ahead = rounds_ahead;
    return rule;
}

}  // namespace fluvial::python
