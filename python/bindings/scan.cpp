// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/scan.hpp"

#include <cstring>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array_function.hpp"
#include "compute.hpp"
#include "compute_pieces.hpp"
#include "fluvial/scan/staged_file.hpp"
#include "lent_arrays.hpp"
#include "watched_ranks.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using scan::Comparison;
using scan::Decoding;
using scan::Options;
using scan::Outcome;
using scan::Predicate;
using scan::Request;
using scan::Scan;
using scan::StoredValue;

/// Finds a name in a table, or says which there are.
template <class T, std::size_t N>
T from_name(const std::pair<const char*, T> (&table)[N], const std::string& name,
            const char* what) {
    std::string allowed;
    for (const auto& [known, value] : table) {
        if (name == known) {
            return value;
        }
        allowed += text(allowed.empty() ? "'" : ", '", known, "'");
    }
    throw InvalidArgument(Problem{text("unknown ", what), "'" + name + "'", allowed, ""});
}

Comparison to_comparison(const std::string& sign) {
    static constexpr std::pair<const char*, Comparison> table[] = {
        {"<", Comparison::Less},    {"<=", Comparison::LessEqual},
        {">", Comparison::Greater}, {">=", Comparison::GreaterEqual},
        {"==", Comparison::Equal},  {"!=", Comparison::NotEqual},
    };
    return from_name(table, sign, "comparison");
}

Options::Mode to_mode(const std::string& name) {
    static constexpr std::pair<const char*, Options::Mode> table[] = {
        {"collective", Options::Mode::Collective}, {"independent", Options::Mode::Independent}};
    return from_name(table, name, "mode");
}

Options::Shuffle to_shuffle(const std::string& name) {
    static constexpr std::pair<const char*, Options::Shuffle> table[] = {
        {"common", Options::Shuffle::Common},
        {"to-one", Options::Shuffle::ToOne},
        {"to-all", Options::Shuffle::ToAll}};
    return from_name(table, name, "shuffle");
}

/// A Python function of the inputs with these numbers, which returns an array of bool.
Predicate python_predicate(nb::object function, std::vector<int> numbers) {
    std::string declared = declared_by(function);
    const ArrayFunction condition(std::move(function), ArrayFunction::Returns::Bool,
                                  "the condition", declared);
    for (const int number : numbers) {
        declared += text(number == numbers.front() ? " of inputs " : ", ", number);
    }
    auto holds = [condition, numbers](std::span<const ArrayView> inputs, const Region& where,
                                      std::span<std::uint8_t> mask) {
        std::vector<ArrayView> wanted;
        for (const int number : numbers) {
            wanted.push_back(inputs[static_cast<std::size_t>(number)]);
        }
        const nb::gil_scoped_acquire gil;
        LentArrays arrays(wanted);
        {
            const auto numpy = nb::module_::import_("numpy");
            const nb::object full = numpy.attr("ascontiguousarray")(numpy.attr("broadcast_to")(
                condition(arrays.list(), where.extent), to_tuple(where.extent)));
            const BorrowedArray borrowed(full);
            const auto* const said = reinterpret_cast<const std::uint8_t*>(borrowed.view().data);
            for (std::size_t i = 0; i < mask.size(); ++i) {
                mask[i] &= said[i];
            }
        }
        arrays.check_returned("the condition");
    };
    Predicate predicate(std::move(holds), std::move(declared));
    predicate.asked = std::move(numbers);
    return predicate;
}

/// (input, "<", bound) or (function, [inputs]).
Predicate to_predicate(nb::handle where) {
    if (nb::isinstance<nb::int_>(where[0])) {
        return scan::compare(nb::cast<int>(where[0]),
                             to_comparison(nb::cast<std::string>(where[1])),
                             nb::cast<double>(where[2]));
    }
    return python_predicate(nb::borrow(where[0]), nb::cast<std::vector<int>>(where[1]));
}

Request to_request(nb::handle inputs, nb::handle entries, nb::handle selection,
                   std::vector<int> over, std::vector<int> backwards, nb::handle weights,
                   nb::handle where, nb::handle groups, bool missing_is_nan,
                   std::optional<int> record_axis) {
    Request request;
    for (const nb::handle input : inputs) {
        scan::Input& added = request.inputs.emplace_back();
        for (const nb::handle part : input[0]) {
            added.parts.push_back(nb::cast<std::shared_ptr<store::Dataset>>(part));
        }
        added.decoding = nb::cast<Decoding>(input[1]);
    }
    request.selection = to_selection(selection);
    request.entries = to_entries(entries);
    request.over = std::move(over);
    request.backwards = std::move(backwards);
    for (const nb::handle factors : weights) {
        request.weights.push_back(
            {nb::cast<int>(factors[0]), nb::cast<std::vector<double>>(factors[1])});
    }
    for (const nb::handle predicate : where) {
        request.where.push_back(to_predicate(predicate));
    }
    request.missing_is_nan = missing_is_nan;
    request.record_axis = record_axis;
    if (!groups.is_none()) {
        request.groups = {nb::cast<int>(groups[0]), nb::cast<std::vector<int>>(groups[1]),
                          nb::cast<int>(groups[2])};
    }
    return request;
}

nb::dict to_dict(const scan::Stats& s) {
    nb::dict d;
    d["bytes_read"] = s.bytes_read;
    d["reads"] = s.reads;
    d["elements"] = s.elements;
    d["chunks_decoded"] = s.chunks_decoded;
    d["bytes_sent"] = s.bytes_sent;
    d["metadata_bytes"] = s.metadata_bytes;
    d["read_s"] = s.read_s;
    d["compute_s"] = s.compute_s;
    d["merge_s"] = s.merge_s;
    d["total_s"] = s.total_s;
    return d;
}

/// What a scan is to do and how: made locally, before anything is collective.
struct Described {
    Request request;
    Options options;
};

/// A scan whose threads may need the GIL until they have ended.
class HeldScan {
  public:
    HeldScan(Request request, Options options, WatchedRanks& ranks) {
        const nb::gil_scoped_release release;
        if (options.mode == Options::Mode::Collective) {  // else its errors are its own
            options.task = std::make_shared<const move::WatchedTask>(ranks.task());
        }
        scan_ = std::make_unique<Scan>(std::move(request), options, ranks.comm());
    }
    HeldScan(HeldScan&&) = default;
    ~HeldScan() {
        const nb::gil_scoped_release release;
        scan_.reset();
    }
    Scan& scan() { return *scan_; }

  private:
    std::unique_ptr<Scan> scan_;
};

nb::object to_scalar(DType dtype, const StoredValue& value) {
    compute::Array array(dtype, {});
    std::memcpy(array.bytes.data(), value.bytes.data(), array.bytes.size());
    return nb::object(to_numpy(array)[nb::tuple()]);
}

nb::object to_scalar(DType dtype, const std::optional<StoredValue>& value) {
    return value ? to_scalar(dtype, *value) : nb::none();
}

void bind_decoding(nb::module_& m) {
    nb::class_<Decoding>(m, "Decoding", "From stored values to numbers, as the CF conventions say.")
        .def(nb::init<>(), "Leaves everything as it is.")
        .def_rw("packed", &Decoding::packed, "Values are float64: stored * scale + offset.")
        .def_ro("scale", &Decoding::scale)
        .def_ro("offset", &Decoding::offset)
        .def_prop_ro("drops_values", &Decoding::drops_values)
        .def(
            "stored",
            [](const Decoding& d, const std::string& dtype) {
                return std::string(name_of(d.stored(dtype_from_name(dtype))));
            },
            "dtype"_a, "The dtype of stored elements, with _Unsigned taken into account.")
        .def(
            "decoded",
            [](const Decoding& d, const std::string& dtype) {
                return std::string(name_of(d.decoded(dtype_from_name(dtype))));
            },
            "dtype"_a, "The dtype that operators see.")
        .def(
            "missing",
            [](const Decoding& d, const std::string& dtype) {
                nb::list out;
                for (const StoredValue& value : d.missing) {
                    out.append(to_scalar(d.stored(dtype_from_name(dtype)), value));
                }
                return out;
            },
            "dtype"_a, "Stored values that mean 'no value'.")
        .def(
            "valid_range",
            [](const Decoding& d, const std::string& dtype) {
                const DType stored = d.stored(dtype_from_name(dtype));
                return nb::make_tuple(to_scalar(stored, d.valid_min),
                                      to_scalar(stored, d.valid_max));
            },
            "dtype"_a,
            "Smallest and largest stored value that is one; None where there is no bound.")
        .def(
            "forget_valid_range",
            [](Decoding& d) {
                d.valid_min.reset();
                d.valid_max.reset();
            },
            "As if the attributes said nothing of a valid range.");
    m.def(
        "cf_decoding",
        [](const store::Dataset& dataset) {
            std::vector<std::string> warnings;
            Decoding decoding =
                scan::cf_decoding(dataset.attributes(), dataset.dtype(), dataset.name(), warnings);
            return std::make_pair(std::move(decoding), std::move(warnings));
        },
        "dataset"_a, "What a dataset's attributes say, and what of them cannot be used.");
}

void bind_ranks(nb::module_& m) {
    nb::class_<WatchedRanks>(m, "ScanRanks", "The ranks of a scan, which watch each other.")
        .def(
            "__init__",
            [](WatchedRanks* self, std::optional<long> handle, double stall_timeout) {
                const nb::gil_scoped_release release;
                new (self) WatchedRanks(handle, stall_timeout, "the scan");
            },
            "comm"_a.none(), "stall_timeout"_a, "Collective.")
        .def(
            "allgather",
            [](WatchedRanks& self, const nb::bytes& mine) {
                std::vector<std::vector<std::byte>> all;
                {
                    const std::span<const std::byte> said = to_span(mine);
                    const nb::gil_scoped_release release;
                    all = self.together([&] { return self.comm().allgather(said); });
                }
                nb::list out;
                for (const std::vector<std::byte>& said : all) {
                    out.append(to_bytes(said));
                }
                return out;
            },
            "mine"_a, "What each rank says. Collective.")
        .def("close", &WatchedRanks::close, nb::call_guard<nb::gil_scoped_release>(),
             "Collective.");
}

void bind_scans(nb::module_& m) {
    m.def(
        "step_as_file",
        [](const stage::ReadStep& step, const std::string& name) {
            return std::const_pointer_cast<store::File>(scan::as_file(step, name));
        },
        "step"_a, "name"_a, "A live step as a file, for scans.");
    nb::class_<Described>(m, "ScanRequest", "What a scan is to do, and how. Local.")
        .def(
            "__init__",
            [](Described* self, nb::handle inputs, nb::handle entries, nb::handle selection,
               std::vector<int> over, std::vector<int> backwards, nb::handle weights,
               nb::handle where, nb::handle groups, bool missing_is_nan,
               std::optional<int> record_axis, const std::string& mode, const std::string& shuffle,
               int threads, int aggregators, std::int64_t buffer_bytes,
               std::int64_t read_ahead_bytes, std::int64_t memory_bytes, bool reproducible,
               double stall_timeout) {
                Options options;
                options.mode = to_mode(mode);
                options.shuffle = to_shuffle(shuffle);
                options.threads = threads;
                options.aggregators = aggregators;
                options.buffer_bytes = buffer_bytes;
                options.read_ahead_bytes = read_ahead_bytes;
                options.memory_bytes = memory_bytes;
                options.reproducible = reproducible;
                options.stall_timeout_s = stall_timeout;
                new (self) Described{
                    to_request(inputs, entries, selection, std::move(over), std::move(backwards),
                               weights, where, groups, missing_is_nan, record_axis),
                    options};
            },
            nb::kw_only(), "inputs"_a, "entries"_a, "selection"_a.none(), "over"_a, "backwards"_a,
            "weights"_a, "where"_a, "groups"_a.none(), "missing_is_nan"_a, "record_axis"_a.none(),
            "mode"_a, "shuffle"_a, "threads"_a, "aggregators"_a, "buffer_bytes"_a,
            "read_ahead_bytes"_a, "memory_bytes"_a, "reproducible"_a, "stall_timeout"_a,
            "`inputs`: (list of datasets, Decoding). `entries`: (name, operator, input numbers). "
            "`backwards`: axes along which the last of equal elements is the first. "
            "`weights`: (axis, factors). `where`: (input number, sign, bound) or (function, input "
            "numbers). `groups`: (axis, group of each index, number of groups). "
            "`record_axis`: of which one record is selected, of files that may grow.");
    nb::class_<HeldScan>(m, "Scan", "Reads and computes on threads of its own.")
        .def(
            "__init__",
            [](HeldScan* self, const Described& what, WatchedRanks& ranks) {
                new (self) HeldScan(what.request, what.options, ranks);
            },
            "request"_a, "ranks"_a, "Collective.")
        .def(
            "start", [](HeldScan& s) { s.scan().start(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "test", [](HeldScan& s) { return s.scan().test(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("progress", [](HeldScan& s) { return s.scan().progress(); })
        .def(
            "wait",
            [](HeldScan& s) {
                Outcome outcome;
                {
                    const nb::gil_scoped_release release;
                    outcome = s.scan().wait();
                }
                nb::list groups;
                for (const auto& group : outcome.groups) {
                    nb::dict results;
                    for (const auto& [name, result] : group) {
                        results[name.c_str()] = to_numpy(result);
                    }
                    groups.append(results);
                }
                return nb::make_tuple(groups, to_dict(outcome.stats));
            },
            "({entry: {array name: array}} of each group, statistics). Collective.");
}

}  // namespace
}  // namespace fluvial::python

void bind_scan(nanobind::module_& m) {
    fluvial::python::bind_decoding(m);
    fluvial::python::bind_ranks(m);
    fluvial::python::bind_scans(m);
}
