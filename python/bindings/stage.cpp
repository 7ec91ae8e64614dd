// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "attributes.hpp"
#include "communicator.hpp"
#include "compute.hpp"
#include "distribute.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/reduce.hpp"
#include "fluvial/stage/share.hpp"
#include "preparation.hpp"
#include "stage_handles.hpp"
#include "stage_statistics.hpp"
#include "stage_together.hpp"

using namespace nanobind::literals;

namespace fluvial::python {

nb::object share_with_numpy(const ArrayView& view, std::shared_ptr<const void> owner,
                            bool writable) {
    const Index item = static_cast<Index>(size_of(view.dtype));
    std::size_t shape[ndim_max];
    std::int64_t strides[ndim_max];
    for (int axis = 0; axis < view.ndim(); ++axis) {
        shape[axis] = static_cast<std::size_t>(view.extent[axis]);
        strides[axis] = view.strides[axis] / item;
    }
    auto* held = new std::shared_ptr<const void>(std::move(owner));
    const nb::capsule capsule(
        held, [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
    const auto ndim = static_cast<std::size_t>(view.ndim());
    void* data = const_cast<std::byte*>(view.data);
    if (writable) {
        return nb::cast(
            nb::ndarray<nb::numpy>(data, ndim, shape, capsule, strides, dlpack_dtype(view.dtype)));
    }
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, ndim, shape, capsule, strides,
                                                   dlpack_dtype(view.dtype)));
}

namespace {

using stage::Reader;
using stage::ReadStep;
using stage::StagedDataset;

/// A reader with the communicator over which its reductions run.
class CommReader {
  public:
    CommReader(const std::string& name, std::optional<long> handle,
               const stage::ReaderOptions& options)
        : comm_(to_comm(handle)), reader_([&] {
              try {
                  Reader reader(name, comm_, options);
                  if (!comm_.serial()) {
                      move::RankWatch::of(comm_);  // from here on a rank that dies is noticed
                  }
                  return reader;
              } catch (...) {
                  comm_.close();
                  throw;
              }
          }()) {}
    /// Waits for reductions that other threads are in the middle of.
    void close(bool step_was_read) {
        step_was_read ? reader_.close() : reader_.abort();
        const auto turn = this->turn();
        if (!closed_) {
            closed_ = true;
            comm_.close();
        }
    }
    Reader& reader() { return reader_; }
    std::map<std::string, compute::Result> reduce(
        const ReadStep& step, const std::function<stage::ReduceRequest()>& request) {
        made_.check("the series");
        const auto turn = this->turn();
        if (closed_) {
            throw InvalidArgument("the stream is closed; reduce while a step is open");
        }
        return stage::reduce(step, request, comm_);
    }
    std::map<std::string, std::vector<distribute::Piece>> share(
        const ReadStep& step, const std::function<stage::ShareRequest()>& prepare) {
        made_.check("the series");
        const auto turn = this->turn();
        if (closed_) {
            throw InvalidArgument("the stream is closed; share while a step is open");
        }
        // A serial reader's threads take no turns, and ask no other rank.
        if (places_.empty() && !comm_.serial()) {
            const auto task = move::watched(comm_, step.stall_timeout_s(), "the series");
            places_ = task.during([&] { return stage::places_of(comm_); });
        }
        const auto complete = [&] {
            stage::ShareRequest wanted = prepare();
            wanted.writer_host = [this](int rank) { return reader_.host_of(rank); };
            wanted.readers = comm_.serial() ? stage::places_of(comm_) : places_;
            return wanted;
        };
        return stage::share_of(step, complete, comm_);
    }

  private:
    /// One reduction at a time over one communicator. Recursive, for operators that reduce.
    std::unique_lock<std::recursive_mutex> turn() {
        return comm_.serial() || made_.inherited() ? std::unique_lock<std::recursive_mutex>()
                                                   : std::unique_lock(mutex_);
    }

    MadeHere made_;
    mpi::Comm comm_;
    std::recursive_mutex mutex_;
    std::atomic<bool> closed_ = false;
    std::vector<distribute::Place> places_;  ///< of all ranks; gathered when first needed
    Reader reader_;
};

using HeldReader = Held<CommReader>;

/// `prepare` returns what is to be reduced, by name; what it raises on one rank is raised on all.
nb::dict reduce(HeldReader& held, const ReadStep& step, nb::handle prepare, bool local) {
    std::optional<BorrowedArray> weights, mask;
    const auto describe = [&] {
        const nb::object wanted = prepare();
        stage::ReduceRequest made;
        made.datasets = nb::cast<std::vector<std::string>>(wanted["datasets"]);
        made.entries = to_entries(nb::object(wanted["entries"]));
        made.selection = to_selection(wanted["selection"]);
        made.over = nb::cast<std::vector<int>>(wanted["over"]);
        made.backwards = nb::cast<std::vector<int>>(wanted["backwards"]);
        const auto by = nb::cast<std::string>(wanted["by"]);
        using By = stage::ReduceRequest::By;
        made.by = by == "itself" ? By::Itself : by == "scan" ? By::Scan : By::IndependentScan;
        if (const nb::object array = wanted["weights"]; !array.is_none()) {
            made.weights = weights.emplace(array).view();
        }
        if (const nb::object array = wanted["mask"]; !array.is_none()) {
            made.mask = mask.emplace(array).view();
        }
        return made;
    };
    std::map<std::string, compute::Result> results;
    {
        const nb::gil_scoped_release release;
        const auto request = [&] { return with_python(describe); };
        results = local ? stage::reduce(step, request, mpi::Comm()) : held->reduce(step, request);
    }
    nb::dict out;
    for (const auto& [name, result] : results) {
        out[name.c_str()] = to_numpy(result);
    }
    return out;
}

/// `prepare` returns names of datasets and a strategy; what it raises on one rank is raised on all.
nb::dict share(HeldReader& held, const ReadStep& step, nb::handle prepare) {
    const auto describe = [&] {
        const nb::object wanted = prepare();
        stage::ShareRequest made;
        made.datasets = nb::cast<std::vector<std::string>>(wanted[0]);
        made.strategy = to_strategy(wanted[1]);
        return made;
    };
    std::map<std::string, std::vector<distribute::Piece>> shares;
    {
        const nb::gil_scoped_release release;
        shares = held->share(step, [&] { return with_python(describe); });
    }
    nb::dict out;
    for (const auto& [name, pieces] : shares) {
        nb::list parts;
        for (const distribute::Piece& piece : pieces) {
            parts.append(to_tuple(piece));
        }
        out[name.c_str()] = parts;
    }
    return out;
}

void bind_reader(nb::module_& m) {
    bind_lent_memory(m);
    nb::class_<StagedDataset>(m, "StagedDataset")
        .def_prop_ro("name", &StagedDataset::name)
        .def_prop_ro("dtype",
                     [](const StagedDataset& d) { return std::string(name_of(d.dtype())); })
        .def_prop_ro("shape", [](const StagedDataset& d) { return to_tuple(d.shape()); })
        .def_prop_ro("attributes", &StagedDataset::attributes)
        .def_prop_ro("chunks",
                     [](const StagedDataset& d) {
                         nb::list out;
                         for (const Chunk& chunk : d.chunks()) {
                             out.append(nb::make_tuple(to_tuple(chunk.region.offset),
                                                       to_tuple(chunk.region.extent), chunk.rank));
                         }
                         return out;
                     })
        .def(
            "read",
            [](const StagedDataset& d, nb::handle selection) {
                const auto selected = to_selection(selection);
                stage::Data data;
                {
                    const nb::gil_scoped_release release;
                    data = selected ? d.read(*selected) : d.read();
                }
                return share_with_numpy(data.view, std::move(data.owner), data.copied);
            },
            "selection"_a.none());

    nb::class_<ReadStep>(m, "ReadStep")
        .def_prop_ro("index", &ReadStep::index)
        .def_prop_ro("skipped", &ReadStep::skipped)
        .def_prop_ro("attributes", &ReadStep::attributes)
        .def("names", &ReadStep::names)
        .def(
            "has",
            [](const ReadStep& step, nb::handle name) {
                std::string text;
                return nb::try_cast(name, text) && step.has(text);
            },
            "name"_a.none())
        .def(
            "dataset",
            [](const ReadStep& step, nb::handle name) {
                return step.dataset(to_text(name, "the name of a dataset"));
            },
            "name"_a.none())
        .def("read_together", &read_together, "names"_a, "cut"_a.none(), "telling"_a)
        .def("finish", &ReadStep::finish, nb::call_guard<nb::gil_scoped_release>());

    nb::class_<HeldReader>(m, "Reader")
        .def(
            "__init__",
            [](HeldReader* self, const std::string& name, std::optional<long> handle,
               const std::string& start, const std::string& full, const std::string& resume,
               const std::string& retained, const std::string& directory, double rendezvous_timeout,
               double step_timeout, double stall_timeout, const std::string& transport,
               const std::string& interfaces, const std::string& fetch,
               const std::string& contact) {
                const stage::ReaderOptions options{.start = stage::start_from_name(start),
                                                   .full = stage::full_of_reader_from_name(full),
                                                   .resume = resume,
                                                   .retained = retained,
                                                   .directory = directory,
                                                   .rendezvous_timeout_s = rendezvous_timeout,
                                                   .step_timeout_s = step_timeout,
                                                   .stall_timeout_s = stall_timeout,
                                                   .transport = transport,
                                                   .interfaces = interfaces,
                                                   .fetch = fetch,
                                                   .contact = contact};
                const nb::gil_scoped_release release;
                new (self) HeldReader(std::make_unique<CommReader>(name, handle, options));
            },
            nb::kw_only(), "name"_a, "comm"_a.none(), "start"_a, "full"_a, "resume"_a, "retained"_a,
            "directory"_a, "rendezvous_timeout"_a, "step_timeout"_a, "stall_timeout"_a,
            "transport"_a, "interfaces"_a, "fetch"_a, "contact"_a)
        .def(
            "next", [](HeldReader& r) { return r->reader().next(); },
            nb::call_guard<nb::gil_scoped_release>())
        .def(
            "close", [](HeldReader& r, bool step_was_read) { r->close(step_was_read); },
            "step_was_read"_a = true, nb::call_guard<nb::gil_scoped_release>())
        .def("reduce", &reduce, "step"_a, "prepare"_a, "local"_a,
             "`prepare` returns a dict of datasets, entries, selection, over, backwards (axes, of "
             "which selection, weights and mask are in ascending order all the same), weights, "
             "mask, and `by`: 'itself'; 'scan', on which ranks only agree; 'independent scan', for "
             "which they agree on nothing else.")
        .def("share", &share, "step"_a, "prepare"_a,
             "{dataset: [(offset, extent, chunk)]} of this rank; `prepare` returns (names, "
             "strategy).")
        .def_prop_ro(
            "attributes",
            [](HeldReader& r) { return without_gil([&] { return r->reader().attributes(); }); })
        .def_prop_ro("host", [](HeldReader& r) { return r->reader().host(); })
        .def(
            "host_of", [](HeldReader& r, int rank) { return r->reader().host_of(rank); }, "rank"_a)
        .def_prop_ro("disk_was_full", [](HeldReader& r) { return r->reader().disk_was_full(); })
        .def_prop_ro("status",
                     [](HeldReader& r) {
                         return status_of(without_gil([&] { return r->reader().status(); }));
                     })
        .def_prop_ro("stats", [](HeldReader& r) {
            return stats_of(without_gil([&] { return r->reader().stats(); }));
        });
}

}  // namespace
}  // namespace fluvial::python

void bind_stage(nanobind::module_& m) {
    fluvial::python::bind_writer(m);
    fluvial::python::bind_reader(m);
}
