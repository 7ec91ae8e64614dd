// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/reduce.hpp"

#include <algorithm>
#include <array>

#include "fluvial/base/error.hpp"
#include "fluvial/base/hash.hpp"
#include "fluvial/compute/merge_states.hpp"
#include "fluvial/compute/selected_coordinates.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/tree_merge.hpp"
#include "fluvial/stage/assemble.hpp"

namespace fluvial::stage {
namespace {

std::vector<StagedDataset> open_datasets(const ReadStep& step,
                                         const std::vector<std::string>& names) {
    if (names.empty()) {
        throw InvalidArgument(
            Problem{"a reduction needs input", "no dataset", "at least one name", ""});
    }
    std::vector<StagedDataset> datasets;
    for (const std::string& name : names) {
        datasets.push_back(step.dataset(name));
        if (!(datasets.back().shape() == datasets.front().shape())) {
            throw InvalidArgument(Problem{"the inputs of one reduction differ in shape",
                                          text("'", name, "' ", datasets.back().shape()),
                                          text("'", names.front(), "' ", datasets.front().shape()),
                                          ""});
        }
    }
    return datasets;
}

Region part_of(const Region& region, const mpi::Comm& comm) {
    if (region.ndim() == 0) {
        return comm.rank() == 0 ? region : Region{{0}, {0}};
    }
    const auto longest = std::max_element(region.extent.begin(), region.extent.end());
    return split(
        region, comm.size(),
        static_cast<int>(longest - region.extent.begin()))[static_cast<std::size_t>(comm.rank())];
}

ArrayView part_of(const ArrayView& extra, const char* what, const Selection& selection,
                  const Region& inside) {
    if (!(extra.extent == selection.count)) {
        throw InvalidArgument(Problem{text(what, " do not fit the selection"), text(extra.extent),
                                      text(selection.count), ""});
    }
    return subview(extra, inside);
}

/// A companion array in words: its extent, and a checksum of its corners and of elements that are
/// spread evenly. To look at all of them would take longer than the reduction.
std::string words_of(const std::optional<ArrayView>& extra) {
    constexpr Index looked_at = 1024;
    if (!extra) {
        return "none";
    }
    Bytes seen;
    const Index size = extra->size();
    const Index count = std::min(size, looked_at);
    for (Index i = 0; i < count; ++i) {
        const Index number = i < 2 ? i * (size - 1) : i * (size / count);
        const Coordinates at = coordinates_of(number, extra->extent);
        const std::byte* const from = extra->data + offset_of(at, extra->strides);
        seen.insert(seen.end(), from, from + size_of(extra->dtype));
    }
    return text(name_of(extra->dtype), ' ', extra->extent, ", checksum ", std::hex, hash_of(seen));
}

/// The state of one reduction on one rank. With strides the operators work in the selection's own
/// index space, and the coordinates that they find are translated at the end.
class Run {
  public:
    Run(const ReadStep& step, ReduceRequest request)
        : request_(std::move(request)),
          step_(step.index()),
          datasets_(open_datasets(step, request_.datasets)),
          selection_(request_.selection.value_or(select(whole(datasets_.front().shape())))),
          reduction_(request_.entries, domain()) {}

    /// What all ranks must say alike.
    void add_terms(Terms& terms) const {
        constexpr std::array words = {
            "it alone", "a scan, as conditions, groups, weights of axes and values to decode take",
            "an independent scan"};
        terms.add("what the reduction is made by", words.at(static_cast<std::size_t>(request_.by)));
        if (request_.by == ReduceRequest::By::IndependentScan) {
            return;
        }
        terms.add("the step that they reduce", exact(static_cast<std::int64_t>(step_)),
                  "Reduce the same step on every rank");
        std::string inputs;
        for (const StagedDataset& dataset : datasets_) {
            inputs += text(inputs.empty() ? "'" : ", '", dataset.name(), "' ",
                           name_of(dataset.dtype()), ' ', dataset.shape());
        }
        terms.add("the datasets", inputs);
        terms.add("the selection", compute::words_of(selection_));
        const auto& domain = reduction_.domain();
        terms.add("the axes to reduce over", exact(std::span<const int>(domain.over)));
        terms.add("the axes that are selected backwards",
                  exact(std::span<const int>(domain.backwards)));
        compute::add_terms(request_.entries, terms);
        terms.add("the weights", words_of(request_.weights));
        terms.add("the mask", words_of(request_.mask));
    }

    bool only_agrees() const { return request_.by != ReduceRequest::By::Itself; }

    void absorb_part(const mpi::Comm& comm) {
        const Region mine = part_of(selection_.bounds(), comm);
        if (selection_.ndim() != mine.ndim() || mine.empty()) {
            return;
        }
        for (const Part& part :
             assemble(datasets_.front().name(), datasets_.front().chunks(), mine)) {
            if (const auto inside = selected_within(selection_, part.region)) {
                absorb(*inside);
            }
        }
    }
    void merge_over(const mpi::Comm& comm) {
        if (comm.size() == 1) {
            return;
        }
        const auto fresh = [&] {
            return compute::Reduction(request_.entries, reduction_.domain());
        };
        const auto merge = [&](const Bytes& a, std::span<const std::byte> b) {
            return compute::merge_states(fresh, a, b);
        };
        const Bytes all = mpi::tree_merge(comm, reduction_.encode(), merge);
        reduction_ = fresh();
        reduction_.merge_encoded(all);
    }
    std::map<std::string, compute::Result> finish() const {
        auto results = reduction_.finish();
        if (!selection_.is_dense()) {
            for (auto& [name, result] : results) {
                const auto found = result.find("coordinates");
                if (found != result.end()) {
                    compute::make_global(found->second, selection_);
                }
            }
        }
        return results;
    }

  private:
    compute::Domain domain() const {
        check_inside(selection_, datasets_.front().shape(), "selection of a reduction");
        std::vector<DType> dtypes;
        for (const StagedDataset& dataset : datasets_) {
            dtypes.push_back(dataset.dtype());
        }
        const Region covered =
            selection_.is_dense() ? selection_.bounds() : whole(selection_.count);
        compute::Domain made = compute::make_domain(covered, request_.over, std::move(dtypes));
        for (const int axis : request_.backwards) {
            if (axis < 0 || axis >= selection_.ndim()) {
                throw InvalidArgument(Problem{"an axis that is counted backwards: no such axis",
                                              text(axis), text("0 to ", selection_.ndim() - 1),
                                              ""});
            }
        }
        made.backwards = request_.backwards;
        return made;
    }

    /// The elements `inside` (in the selection's own index space), which one chunk of the first
    /// dataset holds.
    void absorb(const Region& inside) {
        Selection here = selection_;
        for (int axis = 0; axis < here.ndim(); ++axis) {
            here.start[axis] += inside.offset[axis] * here.stride[axis];
            here.count[axis] = inside.extent[axis];
        }
        std::vector<Data> data;
        std::vector<ArrayView> views;
        for (const StagedDataset& dataset : datasets_) {
            data.push_back(dataset.read(here));
            views.push_back(data.back().view);
        }
        ArrayView weights;
        ArrayView mask;
        compute::Piece piece{views, selection_.is_dense() ? here.bounds() : inside, nullptr,
                             nullptr};
        if (request_.weights) {
            weights = part_of(*request_.weights, "weights", selection_, inside);
            piece.weights = &weights;
        }
        if (request_.mask) {
            mask = part_of(*request_.mask, "mask elements", selection_, inside);
            piece.mask = &mask;
        }
        reduction_.absorb(piece);
    }

    ReduceRequest request_;
    std::uint64_t step_;
    std::vector<StagedDataset> datasets_;
    Selection selection_;
    compute::Reduction reduction_;
};

}  // namespace

std::map<std::string, compute::Result> reduce(const ReadStep& step,
                                              const std::function<ReduceRequest()>& prepare,
                                              const mpi::Comm& comm) {
    const move::WatchedTask task = move::watched(comm, step.stall_timeout_s(), "the series");
    return task.during([&]() -> std::map<std::string, compute::Result> {
        std::optional<Run> run;
        const auto absorb = [&] {
            run.emplace(step, prepare());
            if (!run->only_agrees()) {
                run->absorb_part(comm);
            }
        };
        mpi::agree_on(comm, absorb, [&](Terms& terms) { run->add_terms(terms); });
        if (run->only_agrees()) {
            return {};
        }
        run->merge_over(comm);
        return run->finish();
    });
}

std::map<std::string, compute::Result> reduce(const ReadStep& step, const ReduceRequest& request,
                                              const mpi::Comm& comm) {
    return reduce(step, [&] { return request; }, comm);
}

}  // namespace fluvial::stage
