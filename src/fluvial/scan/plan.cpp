// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/plan.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <sched.h>

#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/sparse_exchange.hpp"
#include "fluvial/scan/access_choice.hpp"
#include "fluvial/scan/footprint.hpp"
#include "fluvial/scan/partial_result.hpp"
#include "fluvial/scan/plan_terms.hpp"
#include "fluvial/scan/prepare.hpp"
#include "fluvial/scan/routing.hpp"

namespace fluvial::scan {
namespace {

constexpr Index buffer_default = 1024 * 1024;  ///< most of it stays in the second-level cache
constexpr Index window_min = 1024 * 1024;      ///< to map less costs more than to copy it
constexpr Index window_max = 4 * window_min;
constexpr Index buffer_min = 4096;
constexpr Index buffer_max = Index{1} << 30;
const Index memory_default = Options().memory_bytes;
constexpr int threads_max = 1024;
constexpr int tag_request = 2;

/// The names of an input's axes without those of groups; "" for one without a name.
std::vector<std::string> axis_names(const Input& input) {
    std::vector<std::string> names;
    for (const std::string& name : input.parts.front()->dimensions()) {
        names.push_back(name.substr(name.rfind('/') + 1));
    }
    return names;
}

/// Elements are paired by position: of t(lat, lon) and u(lon, lat) those would be others.
void check_axes_alike(const Input& first, const Input& input) {
    if (first.parts.empty() || input.parts.empty()) {
        return;
    }
    const std::vector<std::string> expected = axis_names(first), names = axis_names(input);
    for (std::size_t axis = 0; axis < std::min(expected.size(), names.size()); ++axis) {
        if (!expected[axis].empty() && !names[axis].empty() && expected[axis] != names[axis]) {
            throw InvalidArgument(Problem{
                "the inputs of one scan differ in their dimensions",
                text("'", input.parts.front()->name(), "' with '", names[axis], "' as axis ", axis),
                text("'", expected[axis], "' as of '", first.parts.front()->name(), "'"),
                "Elements are paired by position: read one, and transpose it"});
        }
    }
}

Coordinates common_shape(const Request& request) {
    if (request.inputs.empty() || request.entries.empty()) {
        throw InvalidArgument(Problem{
            "a scan has nothing to do",
            text(request.inputs.size(), " datasets, ", request.entries.size(), " operators"),
            "at least one of each", ""});
    }
    const Coordinates shape = joined_shape(request.inputs.front());
    for (const Input& input : request.inputs) {
        const std::string& name = input.parts.empty() ? "" : input.parts.front()->name();
        if (!(joined_shape(input) == shape)) {
            throw InvalidArgument(Problem{"the inputs of one scan differ in shape",
                                          text("'", name, "' ", joined_shape(input)), text(shape),
                                          ""});
        }
        check_axes_alike(request.inputs.front(), input);
        if (part_begins(input) != part_begins(request.inputs.front())) {
            throw InvalidArgument(Problem{"the inputs of one scan are cut into files differently",
                                          text("'", name, "'"),
                                          "files that hold the same part of every input", ""});
        }
    }
    return shape;
}

void check_axis(int axis, const Selection& selection, std::size_t entries, const char* what) {
    if (axis < 0 || axis >= selection.ndim()) {
        throw InvalidArgument(Problem{text(what, ": no such axis"), text(axis),
                                      text("0 to ", selection.ndim() - 1), ""});
    }
    if (static_cast<Index>(entries) != selection.count[axis]) {
        throw InvalidArgument(
            Problem{text(what, " do not fit the selection"), text(entries, " along axis ", axis),
                    text(selection.count[axis]), "Give one for each selected index"});
    }
}

/// Of the enumerators from 0 to `last`.
template <class Choice>
void check_choice(const char* option, Choice value, Choice last, const char* names) {
    if (value > last) {
        throw InvalidArgument(Problem{text(option, " of a scan is none of its values"),
                                      text("number ", static_cast<int>(value)),
                                      text("0 to ", static_cast<int>(last), ": ", names),
                                      "Name the enumerator"});
    }
}

/// What the environment of this rank says: each has its own.
void look_at_environment(const Options& options, Plan& plan) {
    plan.access = permitted(options.access);
    if (options.reproducible) {
        plan.access = Options::Access::Copy;  // runs of elements are as long in every run
    }
    static_cast<void>(compute::kernels());  // refuses an unknown FLUVIAL_ISA
}

/// This rank's part of the plan, as far as no other rank matters.
void plan_alone(const Request& request, const Options& options, Plan& plan) {
    check_choice("mode", options.mode, Options::Mode::Independent, "Collective, Independent");
    check_choice("shuffle", options.shuffle, Options::Shuffle::ToAll, "Common, ToOne, ToAll");
    check_choice("access", options.access, Options::Access::InPlace, "Chosen, Copy, InPlace");
    look_at_environment(options, plan);
    const Coordinates shape = common_shape(request);
    RankRequest rank_request{request.selection.value_or(select(whole(shape))), request.weights,
                             request.groups, request.backwards};
    const Selection& selection = rank_request.selection;
    if (selection.ndim() != shape.size()) {
        throw InvalidArgument(Problem{"the selection has another number of axes than the data",
                                      text(selection.ndim()), text(shape.size()), ""});
    }
    check_inside(selection, shape, "selection of a scan");
    std::set<std::string> names;
    for (const auto& entry : request.entries) {
        if (entry.op == nullptr) {
            throw InvalidArgument(Problem{"'" + entry.name + "' has no operator", "a null pointer",
                                          "one of compute::make_operator or of your own", ""});
        }
        if (!names.insert(entry.name).second) {
            throw InvalidArgument(Problem{"two results of the same name", "'" + entry.name + "'",
                                          "unique names", ""});
        }
    }
    plan.sets = operator_sets(request);
    plan.over = compute::make_domain(whole(selection.count), request.over, {}).over;
    for (const int axis : request.backwards) {
        if (axis < 0 || axis >= selection.ndim()) {
            throw InvalidArgument(Problem{"an axis that is counted backwards: no such axis",
                                          text(axis), text("0 to ", selection.ndim() - 1), ""});
        }
    }
    for (const AxisWeights& weights : request.weights) {
        check_axis(weights.axis, selection, weights.factor.size(), "weights");
    }
    if (request.groups) {
        check_axis(request.groups->axis, selection, request.groups->group.size(), "groups");
        const auto [low, high] =
            std::minmax_element(request.groups->group.begin(), request.groups->group.end());
        plan.groups = request.groups->count;
        if (plan.groups < 1 ||
            (low != request.groups->group.end() && (*low < -1 || *high >= plan.groups))) {
            throw InvalidArgument(Problem{"groups are out of range", text("count ", plan.groups),
                                          "-1 to count - 1", ""});
        }
        if (!std::binary_search(plan.over.begin(), plan.over.end(), request.groups->axis)) {
            throw InvalidArgument(Problem{"the axis of a grouping must be reduced",
                                          text("axis ", request.groups->axis), "one of `over`",
                                          "Add it to `over`"});
        }
    }
    const auto range = [](const char* what, Index value, Index low, Index high) {
        if (value != 0 && (value < low || value > high)) {
            throw InvalidArgument(Problem{text(what, " is out of range"), text(value),
                                          text(low, " to ", high, ", or 0: chosen"), ""});
        }
    };
    range("threads", options.threads, 1, threads_max);
    range("aggregators", options.aggregators, 1, Index{1} << 30);
    range("buffer_bytes", options.buffer_bytes, buffer_min, buffer_max);
    range("memory_bytes", options.memory_bytes, 1, std::numeric_limits<Index>::max());
    range("read_ahead_bytes", options.read_ahead_bytes, 0, buffer_max);
    plan.buffer_bytes = options.buffer_bytes == 0 ? buffer_default : options.buffer_bytes;
    // What the operators themselves refuse shows now, not on a thread later.
    PartialResult(plan.sets, selection, plan.over, {}, 1).check();
    static_cast<void>(Prepare(request, plan.sets));
    for (std::size_t i = request.inputs.size(); i-- > 0;) {  // the first one that has chunks
        if (!chunk_of(request.inputs[i].parts.front()->layout()).empty()) {
            plan.grid_input = i;
        }
    }
    plan.selection = selection;
    plan.covered = selection;
    plan.rank_requests.push_back(rank_request);
    plan.own = std::move(rank_request);
}

/// What follows from looking at all ranks once.
struct Overview {
    Region bounds;  ///< of all selections that are not empty, or where all are, of their axes
    bool threads_alike = true;
};

/// Collective, one allreduce.
Overview look_at_all(const mpi::Comm& comm, Plan& plan) {
    constexpr Index none = std::numeric_limits<Index>::max();
    const Region mine = plan.own.selection.bounds();
    const int ndim = mine.ndim();
    std::vector<Index> least{plan.threads, -plan.threads};
    const auto add = [&](int axis, bool counts) {
        least.push_back(counts ? mine.offset[axis] : none);
        least.push_back(counts ? -(mine.offset[axis] + mine.extent[axis]) : none);
    };
    for (int axis = 0; axis < ndim; ++axis) {
        add(axis, !mine.empty());
        add(axis, mine.extent[axis] > 0);  // along axes that are kept there are results of nothing
    }
    least = comm.min_of_each(std::move(least));
    plan.metadata_bytes += static_cast<Index>(least.size() * sizeof(Index));
    Overview overview;
    overview.threads_alike = least[0] == -least[1];
    overview.bounds = {Coordinates(ndim, 0), Coordinates(ndim, 0)};
    for (int axis = 0; axis < ndim; ++axis) {
        auto at = static_cast<std::size_t>(2 + 4 * axis);
        at += least[at] == none ? 2 : 0;
        if (least[at] != none) {
            overview.bounds.offset[axis] = least[at];
            overview.bounds.extent[axis] = -least[at + 1] - least[at];
        }
    }
    return overview;
}

/// Tells the ranks that read for this one what it asks, and learns for which ranks this one reads.
void exchange_rank_requests(const Request& request, const mpi::Comm& comm, Plan& plan) {
    const Overview overview = look_at_all(comm, plan);
    plan.common = false;
    plan.selection = select(overview.bounds);
    plan.covered = plan.selection;
    const LaneOwners owners(comm, plan.threads, overview.threads_alike);
    plan.lane_begin = owners.first_lane(comm.rank());
    plan.lanes = owners.lanes();
    const UnitGrid grid(request.inputs[plan.grid_input], plan.selection, plan.buffer_bytes);
    plan.readers = readers_of(plan.own.selection, plan.selection, grid, owners);
    ByteWriter rank_request;
    encode(rank_request, plan.own);
    std::vector<mpi::Addressed> messages;
    for (const int reader : plan.readers) {
        messages.push_back({reader, {rank_request.view().begin(), rank_request.view().end()}});
    }
    plan.rank_requests.clear();
    for (const mpi::Addressed& asked :
         mpi::sparse_exchange(comm, std::move(messages), tag_request)) {
        ByteReader in(asked.bytes);
        plan.rank_requests.push_back(decode_rank_request(in));
        plan.askers.push_back(asked.rank);
        plan.metadata_bytes +=
            asked.rank == comm.rank() ? 0 : static_cast<Index>(asked.bytes.size());
    }
}

/// Cores that this rank may use, shared between the ranks that may use them too.
int default_threads(int ranks_here) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    const bool known = sched_getaffinity(0, sizeof cores, &cores) == 0;
    return std::clamp((known ? CPU_COUNT(&cores) : 1) / ranks_here, 1, threads_max);
}

/// As many threads as were asked for or `chosen`, but no more than the memory is enough for; and
/// what is left of it for windows.
void divide_memory(const Request& request, const Options& options, int chosen, Plan& plan) {
    const int wanted = options.threads != 0 ? options.threads : chosen;
    const Index memory = options.memory_bytes != 0 ? options.memory_bytes : memory_default;
    const Index lane = lane_bytes(request, plan.grid_input, plan.buffer_bytes);
    plan.threads = static_cast<int>(std::clamp<Index>(memory / lane, 1, wanted));
    const auto inputs = static_cast<Index>(request.inputs.size());
    const Index window = (memory / plan.threads - lane) / inputs;
    plan.window_bytes = window < window_min ? 0 : std::min(window, window_max);
}

/// Position of this rank among all, when hosts are dealt in turn: the first n are n aggregators
/// spread over as many hosts as there are.
Index position_by_host(const mpi::Comm& comm) {
    mpi::Comm host = comm.split_by_host();
    const Index local = host.rank();
    host.close();
    ByteWriter out;
    out.put(local);
    const auto all = comm.allgather(out.view());
    Index position = 0;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const Index other = ByteReader(all[static_cast<std::size_t>(rank)]).get<Index>();
        position += std::pair(other, rank) < std::pair(local, comm.rank());
    }
    return position;
}

}  // namespace

Plan make_plan(const Request& request, const Options& options, const mpi::Comm& comm) {
    Plan plan;
    if (comm.size() == 1 || options.mode == Options::Mode::Independent) {
        plan_alone(request, options, plan);
        const int chosen = comm.size() == 1 ? default_threads(1) : 1;
        divide_memory(request, options, chosen, plan);
        plan.lanes = plan.threads;
        return plan;
    }
    const auto validate = [&] {
        plan_alone(request, options, plan);
        if (options.shuffle == Options::Shuffle::ToOne && !plan.own.selection.is_dense()) {
            throw InvalidArgument(
                Problem{"selections that are parts of one reduction cannot have a stride",
                        text(plan.own.selection.stride), "1 along every axis",
                        "Use shuffle Common with one strided selection, or ToAll"});
        }
    };
    mpi::agree_on(comm, validate, [&](Terms& terms) { add_terms(request, options, plan, terms); });
    plan.metadata_bytes = 2 * static_cast<Index>(sizeof(Index));
    // Collective calls are made by all ranks, whatever each has been told of its threads.
    const int chosen = default_threads(comm.ranks_on_this_host());
    divide_memory(request, options, chosen, plan);
    if (options.aggregators != 0 && options.aggregators < comm.size() &&
        position_by_host(comm) >= options.aggregators) {
        plan.threads = 0;
    }
    if (options.shuffle == Options::Shuffle::Common) {
        plan.lane_begin = comm.exscan_sum(plan.threads);
        plan.lanes = comm.sum(plan.threads);
    } else {
        exchange_rank_requests(request, comm, plan);
    }
    return plan;
}

}  // namespace fluvial::scan
