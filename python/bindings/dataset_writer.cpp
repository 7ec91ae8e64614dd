// SPDX-License-Identifier: Apache-2.0
/// Datasets of a file whose parts some ranks write for all.
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "arguments.hpp"
#include "compute.hpp"
#include "fluvial/move/dataset_write.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/mpi/kept_duplicate.hpp"
#include "fluvial/progress/engine.hpp"
#include "named_task.hpp"
#include "route.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

/// `said` is (begin, shape, bytes of an element, [[(offset, extent), …] of each rank]).
move::PlacedDataset to_dataset(const nb::tuple& said) {
    move::PlacedDataset dataset{nb::cast<std::uint64_t>(said[0]),
                                to_coordinates(said[1], "shape"),
                                nb::cast<std::size_t>(said[2]),
                                {}};
    int rank = 0;
    for (const nb::handle of_rank : nb::cast<nb::sequence>(said[3])) {
        for (const nb::handle region : nb::cast<nb::sequence>(of_rank)) {
            const auto box = nb::cast<nb::tuple>(region);
            dataset.boxes.push_back(
                {rank, {to_coordinates(box[0], "offset"), to_coordinates(box[1], "extent")}});
        }
        ++rank;
    }
    return dataset;
}

/// The ranks that write a series, which know each other's hosts.
class DatasetWriter {
  public:
    explicit DatasetWriter(long handle)
        : comm_(mpi::kept_duplicate(handle)),
          host_of_rank_(move::host_of_each_rank(*comm_)),
          writing_(move::writing_ranks(host_of_rank_)) {}

    bool in_small_pieces(const nb::tuple& said) const {
        return move::written_in_small_pieces(to_dataset(said), writing_);
    }
    void check() const {
        if (comm_->serial() && host_of_rank_.size() > 1) {
            throw InvalidArgument(Problem{
                "the series' ranks are apart: a step that they wrote "
                "for each other was broken off",
                "another step", "close()", "Close the series on all ranks, and open another"});
        }
    }

    /// `arrays` are this rank's of each dataset, in the order of its boxes. Ranks that do not come
    /// are seen by `task`, or come too late after `timeout_s`.
    std::uint64_t write(const NamedTask& task, double timeout_s, const std::string& path,
                        std::size_t writers, const nb::list& said, const nb::list& arrays) {
        check();
        std::vector<move::PlacedDataset> datasets;
        for (std::size_t i = 0; i < nb::len(said); ++i) {
            move::PlacedDataset& made =
                datasets.emplace_back(to_dataset(nb::cast<nb::tuple>(said[i])));
            std::size_t next = 0;
            for (move::RankBox& box : made.boxes) {
                if (box.rank == comm_->rank()) {
                    const auto array = nb::cast<Bytes>(arrays[i][next++]);
                    box.elements = reinterpret_cast<const std::byte*>(array.data());
                }
            }
        }
        const auto keep = share(nb::object(arrays));
        const nb::gil_scoped_release release;
        const auto late = progress::time_limit(timeout_s, "not all ranks wrote a step");
        const progress::Lookout looking([&](double waited_s) {
            task.look();
            late(waited_s);
        });
        try {
            return task.explaining([&] {
                return move::write_datasets(*comm_, host_of_rank_, path, datasets,
                                            {writers, timeout_s, keep});
            });
        } catch (const InvalidArgument&) {
            throw;
        } catch (const SystemError&) {
            throw;
        } catch (...) {
            mpi::lose(*comm_);
            throw;
        }
    }

  private:
    std::shared_ptr<mpi::Comm> comm_;
    std::vector<std::string> host_of_rank_;
    move::WritingRanks writing_;
};

}  // namespace
}  // namespace fluvial::python

void bind_dataset_writer(nanobind::module_& m) {
    namespace nb = nanobind;
    using fluvial::python::DatasetWriter;
    nb::class_<DatasetWriter>(m, "DatasetWriter",
                              "Writes datasets whose parts lie in many small pieces. Collective.")
        .def(nb::init<long>(), "handle"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("in_small_pieces", &DatasetWriter::in_small_pieces, "dataset"_a,
             "Whether ranks would write (begin, shape, bytes of an element, regions by rank) in so "
             "small pieces that it is faster to share it out. Local.")
        .def("check", &DatasetWriter::check,
             "Raise InvalidArgument after a write that was broken off. Local.")
        .def("write", &DatasetWriter::write, "task"_a, "timeout"_a, "path"_a, "writers"_a,
             "datasets"_a, "arrays"_a,
             "Write such datasets, of which this rank has lists of uint8 arrays. Collective.");
}
