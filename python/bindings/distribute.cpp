// SPDX-License-Identifier: Apache-2.0
#include "distribute.hpp"

#include <limits>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compute.hpp"
#include "fluvial/distribute/metrics.hpp"
#include "fluvial/distribute/registry.hpp"
#include "fluvial/distribute/rest.hpp"
#include "preparation.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using distribute::Assignment;
using distribute::Distribution;
using distribute::Metrics;
using distribute::Piece;
using distribute::Place;
using distribute::Request;
using distribute::Strategy;
using distribute::StrategyPtr;

nb::list to_list(const Place& place) {
    nb::list levels;
    for (const distribute::Level& level : place.levels()) {
        levels.append(nb::make_tuple(level.layer, level.name));
    }
    return levels;
}

/// From pairs (layer, name).
Place to_place(nb::handle object) {
    std::vector<distribute::Level> levels;
    for (auto& [layer, name] : to<std::vector<std::pair<std::string, std::string>>>(
             object, "a place", "a list of pairs (layer, name)")) {
        levels.push_back({std::move(layer), std::move(name)});
    }
    return Place(std::move(levels));
}

int to_rank(nb::handle object) {
    const Index rank = to_int(object, "the rank of a chunk");
    if (rank < 0 || rank > std::numeric_limits<int>::max()) {
        throw InvalidArgument(
            Problem{"the rank of a chunk is out of range", text(rank), "0 or more", ""});
    }
    return static_cast<int>(rank);
}

/// A strategy that is a Python callable of two lists; see fluvial.distribute.assign.
class PythonStrategy final : public Strategy {
  public:
    explicit PythonStrategy(nb::object function)
        : declared_(declared_by(function)), function_(share(std::move(function))) {}
    std::string describe() const override { return declared_; }
    Distribution assign(const Request& request) const override {
        return with_python([&] { return ask(request); });
    }

  private:
    Distribution ask(const Request& request) const {
        nb::list chunks, readers;
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            const distribute::WrittenChunk& chunk = request.chunks[i];
            chunks.append(nb::make_tuple(to_tuple(chunk.region.offset),
                                         to_tuple(chunk.region.extent), chunk.rank,
                                         to_list(chunk.place), i));
        }
        for (const Place& place : request.readers) {
            readers.append(to_list(place));
        }
        const nb::object call =
            nb::module_::import_("fluvial.distribute.own_strategy").attr("call");
        Distribution made;
        for (const nb::handle entry : call(*function_, chunks, readers)) {
            const Index reader = to_int(entry[0], "the reader of an assignment");
            const Index chunk = to_int(entry[3], "the chunk of an assignment");
            if (reader < 0 || reader >= static_cast<Index>(request.readers.size())) {
                throw InvalidArgument(
                    Problem{"the strategy " + declared_ + " named a reader that does not exist",
                            text(reader), text("0 to ", request.readers.size() - 1), ""});
            }
            made.assigned.push_back({static_cast<int>(reader),
                                     {{to_coordinates(entry[1], "the offset of an assignment"),
                                       to_coordinates(entry[2], "the extent of an assignment")},
                                      static_cast<std::size_t>(chunk)}});
        }
        made.left = distribute::rest_of(request, made);
        return made;
    }

    std::string declared_;
    std::shared_ptr<nb::object> function_;
};

StrategyPtr to_own(nb::handle function) {
    if (PyCallable_Check(function.ptr()) == 0) {
        throw_wrong_type("a strategy", function,
                         "a name such as 'hyperslabs', or a function of chunks and readers");
    }
    return std::make_shared<PythonStrategy>(nb::borrow(function));
}

/// A distribution and what it was made of.
class Made {
  public:
    Made(nb::handle chunks, nb::handle readers, nb::handle strategy, nb::handle itemsize) {
        for (const nb::handle chunk : chunks) {
            request_.chunks.push_back({{to_coordinates(chunk[0], "the offset of a chunk"),
                                        to_coordinates(chunk[1], "the extent of a chunk")},
                                       to_rank(chunk[2]),
                                       to_place(chunk[3])});
        }
        for (const nb::handle reader : readers) {
            request_.readers.push_back(to_place(reader));
        }
        const Index bytes = to_int(itemsize, "itemsize");
        if (bytes < 1) {
            throw InvalidArgument(
                Problem{"itemsize is out of range", text(bytes), "1 or more bytes", ""});
        }
        request_.element_bytes = static_cast<std::size_t>(bytes);
        const StrategyPtr by = to_strategy(strategy);
        const nb::gil_scoped_release release;
        made_ = distribute::assign(request_, *by);
    }

    nb::list assigned() const {
        nb::list out;
        for (const auto& [reader, piece] : made_.assigned) {
            out.append(nb::make_tuple(reader, to_tuple(piece)));
        }
        return out;
    }
    nb::list discarded() const {
        nb::list out;
        for (const Piece& piece : made_.discarded) {
            out.append(to_tuple(piece));
        }
        return out;
    }
    nb::tuple metrics(nb::handle layer) const {
        const Metrics m = distribute::metrics_of(request_, made_, to_text(layer, "layer"));
        return nb::make_tuple(m.locality, m.balance, m.alignment, m.partners_max, m.partners_mean,
                              m.pieces, m.bytes_max);
    }

  private:
    Request request_;
    Distribution made_;
};

}  // namespace

nb::tuple to_tuple(const Piece& piece) {
    return nb::make_tuple(to_tuple(piece.region.offset), to_tuple(piece.region.extent),
                          piece.chunk);
}

StrategyPtr to_strategy(nb::handle object) {
    if (nb::isinstance<nb::str>(object)) {
        return distribute::make_strategy(nb::cast<std::string>(object));
    }
    if (nb::isinstance<nb::tuple>(object) && nb::len(object) == 2) {
        distribute::OwnStrategies own;
        for (const auto& [name, function] :
             to<nb::dict>(object[1], "own strategies", "a dict of functions by name")) {
            own.emplace(to_text(name, "the name of a strategy"), to_own(function));
        }
        return distribute::make_strategy(to_text(object[0], "strategy"), own);
    }
    return to_own(object);
}

}  // namespace fluvial::python

void bind_distribute(nanobind::module_& m) {
    using namespace fluvial::python;
    nb::class_<Made>(m, "Distribution", "Which reader gets which part of which chunk.")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), "chunks"_a, "readers"_a,
             "strategy"_a.none(), "itemsize"_a.none(),
             "`chunks`: (offset, extent, rank, place); places: lists of (layer, name).")
        .def("assigned", &Made::assigned, "(reader, (offset, extent, chunk)) of each piece.")
        .def("discarded", &Made::discarded, "(offset, extent, chunk) of each.")
        .def("metrics", &Made::metrics, "layer"_a.none());
    m.def(
        "strategy_names",
        [] {
            nb::list names;
            for (const auto& entry : fluvial::distribute::registrations()) {
                names.append(nb::make_tuple(std::string(entry.name), std::string(entry.summary)));
            }
            return names;
        },
        "(name, summary) of each strategy.");
    m.def(
        "describe_strategy", [](nb::handle strategy) { return to_strategy(strategy)->describe(); },
        "strategy"_a.none());
}
