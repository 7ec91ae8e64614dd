// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>

#include "fluvial/c/boundary.hpp"
#include "fluvial/c/element_type.hpp"
#include "fluvial/c/open_file.hpp"
#include "fluvial/c/operators.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/scan/scan.hpp"

using namespace fluvial;
using c::check_given;
using c::guarded;

struct fluvial_pending {
    scan::Scan scan;
    std::shared_ptr<const move::WatchedTask> task;  ///< null where there is one rank
    bool wanted = false;                            ///< the result, on this rank
    void* result = nullptr;
    DType type = DType::Float64;
    Index size = 0;  ///< entries that `result` has room for
    MPI_Offset* location = nullptr;
};

namespace {

/// What a call asks for, once it is known to make sense here.
struct Order {
    scan::Request request;
    scan::Options options;
    bool wanted = false;
    DType type = DType::Float64;  ///< of the result
    Index size = 1;
    std::string kept;  ///< axes, and of ToOne where and how many, in words that ranks compare
};

using MakeOperator = std::function<c::TypedOperator(DType elements)>;

void check_one_of(const char* what, int value, int last) {
    if (value < 0 || value > last) {
        throw InvalidArgument(
            Problem{text("io->", what, " is out of range"), text(value), text("0 to ", last), ""});
    }
}

void check_object(const fluvial_object_io& io) {
    if (io.pending != nullptr) {
        throw InvalidArgument(Problem{"this object I/O is still under way", "", "",
                                      "Call fluvial_wait first, or use another one"});
    }
    check_one_of("mode", io.mode, FLUVIAL_INDEPENDENT);
    check_one_of("block", io.block, 1);
    check_one_of("shuffle", io.shuffle, FLUVIAL_COMMON);
    check_one_of("cf", io.cf, 1);
    const int ranks = io.file->comm.size();
    if (io.root != FLUVIAL_EVERYWHERE && (io.root < 0 || io.root >= ranks)) {
        throw InvalidArgument(Problem{"io->root is no rank", text(io.root),
                                      text("0 to ", ranks - 1, ", or FLUVIAL_EVERYWHERE"), ""});
    }
    const int most = io.map == nullptr ? 1 : FLUVIAL_MAX_DATASETS;
    if (io.ndatasets < 1 || io.ndatasets > most) {
        throw InvalidArgument(Problem{"io->ndatasets is out of range", text(io.ndatasets),
                                      text("1 to ", most),
                                      "Several datasets need a function that combines them"});
    }
}

void add_inputs(const fluvial_object_io& io, scan::Request& request) {
    std::vector<std::string> warnings;
    for (int i = 0; i < io.ndatasets; ++i) {
        auto dataset = io.file->dataset(io.datasets[i]);
        scan::Input input{{dataset}, {}};
        if (io.cf != 0) {
            input.decoding = scan::cf_decoding(dataset->attributes(), dataset->dtype(),
                                               dataset->name(), warnings);
        }
        request.inputs.push_back(std::move(input));
    }
    c::remember_warnings(warnings);
}

/// The selection, the axes to reduce, and how many entries are kept.
void add_region(const fluvial_object_io& io, Order& order) {
    const int ndim = order.request.inputs[0].parts[0]->shape().size();
    Selection selection{Coordinates(ndim, 0), Coordinates(ndim, 0), Coordinates(ndim, 1)};
    std::vector<int> over;
    for (int axis = 0; axis < ndim; ++axis) {
        selection.start[axis] = io.start[axis];
        selection.count[axis] = io.count[axis];
        selection.stride[axis] = io.stride[axis];
        if (io.keep[axis] == 0) {
            over.push_back(axis);
            continue;
        }
        check_one_of("keep", io.keep[axis], 1);
        order.size *= std::max<Index>(io.count[axis], 0);
        order.kept += text(order.kept.empty() ? "" : ", ", axis);
        if (io.shuffle == FLUVIAL_TO_ONE) {
            order.kept += text(" from ", io.start[axis], " count ", io.count[axis]);
        }
    }
    if (over.empty() && ndim > 0) {
        throw InvalidArgument(Problem{"io->keep leaves nothing to reduce", "all axes kept",
                                      "at least one that is not", ""});
    }
    order.request.selection = selection;
    order.request.over = std::move(over);
}

scan::Options options_of(const fluvial_object_io& io, bool calls_mpi) {
    const fluvial_file& file = *io.file;
    scan::Options options;
    const bool alone = io.mode == FLUVIAL_INDEPENDENT;
    options.mode = alone ? scan::Options::Mode::Independent : scan::Options::Mode::Collective;
    options.shuffle = io.shuffle == FLUVIAL_TO_ONE   ? scan::Options::Shuffle::ToOne
                      : io.shuffle == FLUVIAL_TO_ALL ? scan::Options::Shuffle::ToAll
                                                     : scan::Options::Shuffle::Common;
    options.aggregators = file.aggregators;
    options.buffer_bytes = file.buffer_bytes;
    options.threads = file.threads;
    options.memory_bytes = file.memory_bytes;
    options.reproducible = file.reproducible;
    if (alone && options.threads == 0) {  // no rank may be asked how many others there are
        const auto cores = static_cast<int>(std::thread::hardware_concurrency());
        options.threads = std::max(1, cores / file.ranks_here);
    }
    options.on_calling_thread = calls_mpi && mpi::thread_level() != mpi::ThreadLevel::Multiple;
    return options;
}

Order order_of(const fluvial_object_io& io, const MakeOperator& make, const void* result) {
    check_object(io);
    Order order;
    add_inputs(io, order.request);
    add_region(io, order);
    const auto& first = order.request.inputs[0];
    const DType elements =
        io.map != nullptr ? DType::Float64 : first.decoding.decoded(first.parts[0]->dtype());
    c::TypedOperator made = make(elements);
    order.type = made.type;
    auto op = io.map == nullptr
                  ? made.op
                  : c::on_mapped(made.op, io.map, io.map_context, io.ndatasets, io.functions);
    std::vector<int> inputs(static_cast<std::size_t>(io.ndatasets));
    std::iota(inputs.begin(), inputs.end(), 0);
    order.request.entries.push_back({"result", std::move(op), std::move(inputs)});
    order.options = options_of(io, made.calls_mpi);
    order.wanted = io.mode == FLUVIAL_INDEPENDENT || io.shuffle == FLUVIAL_TO_ALL ||
                   io.root == FLUVIAL_EVERYWHERE || io.root == io.file->comm.rank();
    if (order.wanted) {
        check_given(result, "result");
    }
    return order;
}

/// What ranks must say alike beside what the scan compares.
void add_terms(const fluvial_object_io& io, const Order& order, Terms& terms) {
    const std::string remedy = "Start the same object I/Os in the same order on every rank";
    terms.add("io->shuffle", exact(io.shuffle), remedy);
    terms.add("io->root", exact(io.root), remedy);
    terms.add("io->cf", exact(io.cf), remedy);
    terms.add("the axes that io->keep keeps", order.kept, remedy);
    terms.add("the type of the result", std::string(name_of(order.type)), remedy);
    terms.add("io->functions", io.functions == nullptr ? "none" : exact(io.functions), remedy);
}

/// A result in the types of its places.
struct Delivery {
    std::vector<std::byte> values, location;
    void to(const fluvial_pending& pending) const {
        copy(values, pending.result);
        copy(location, pending.location);
    }

  private:
    static void copy(const std::vector<std::byte>& bytes, void* to) {
        if (!bytes.empty()) {
            std::memcpy(to, bytes.data(), bytes.size());
        }
    }
};

Delivery delivery_of(const fluvial_pending& pending, const compute::Result& result) {
    Delivery made;
    if (!pending.wanted) {
        return made;
    }
    const compute::Array& value = result.at("value");
    const Index entries = volume_of(value.shape);
    if (entries != pending.size) {
        throw InvalidArgument(Problem{"the result has another size than its place",
                                      text("room for ", static_cast<std::size_t>(pending.size)),
                                      text(entries), ""});
    }
    made.values.resize(static_cast<std::size_t>(entries) * size_of(pending.type));
    c::convert(value.view(), pending.type, made.values.data());
    const auto coordinates = result.find("coordinates");
    if (pending.location != nullptr && coordinates != result.end()) {
        const auto& bytes = coordinates->second.bytes;
        made.location.assign(bytes.begin(), bytes.end());
    }
    return made;
}

/// Waits and delivers; whatever goes wrong on one rank goes wrong on all.
void finish(fluvial_object_io& io) {
    const auto waited_for = [](std::atomic<int>* count) { --*count; };
    const std::unique_ptr<std::atomic<int>, decltype(waited_for)> at_the_end(&io.file->pending);
    const std::unique_ptr<fluvial_pending> pending(std::exchange(io.pending, nullptr));
    std::exception_ptr failure;
    Delivery delivery;
    try {
        const scan::Outcome outcome = pending->scan.wait();
        io.bytes_read = outcome.stats.bytes_read;
        io.bytes_sent = outcome.stats.bytes_sent;
        delivery = delivery_of(*pending, outcome.groups.at(0).at("result"));
    } catch (...) {
        failure = std::current_exception();
    }
    if (pending->task && pending->task->ended()) {
        if (!failure) {
            pending->task->look();  // throws what another has told
        }
        std::rethrow_exception(failure);  // a rank does not run, or has left: none is to be asked
    }
    const mpi::Comm& comm = io.file->comm;
    const auto together = [&] {
        const Index failed = comm.sum(failure ? 1 : 0);
        if (failed > 0 && failed < comm.size()) {
            mpi::agree(comm, [&] {
                if (failure) {
                    std::rethrow_exception(failure);
                }
            });
        }
    };
    if (pending->task) {
        pending->task->during(together);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    delivery.to(*pending);
}

/// A call that may wait for other ranks.
void check_possible(const fluvial_object_io& io, const char* call) {
    c::check_outside_functions(call);
    if (io.pending != nullptr && io.pending->task) {
        mpi::check_running();
    }
}

/// `named_size`: what `result` has room for; none: one entry a kept position.
int begin(fluvial_object_io* io, const MakeOperator& make, void* result,
          const std::size_t* named_size) {
    return guarded([&] {
        check_given(io, "io");
        check_given(io->file, "io->file");
        c::check_outside_functions("fluvial_object_get");
        const mpi::Comm serial;
        const bool collective = io->mode != FLUVIAL_INDEPENDENT;
        if (collective) {
            mpi::check_running();
        }
        const mpi::Comm& comm = collective ? io->file->comm : serial;
        std::shared_ptr<const move::WatchedTask> task;
        if (comm.size() > 1) {
            task = std::make_shared<const move::WatchedTask>(io->file->watched("the scan"));
            task->come();
        }
        Order order;
        const auto agree = [&] {
            mpi::agree_on(
                comm, [&] { order = order_of(*io, make, result); },
                [&](Terms& terms) { add_terms(*io, order, terms); });
        };
        task ? task->during(agree) : agree();
        order.options.task = task;
        const Index size = named_size == nullptr ? order.size : static_cast<Index>(*named_size);
        scan::Scan scan(std::move(order.request), order.options, comm);
        io->pending = new fluvial_pending{std::move(scan), task, order.wanted, result,
                                          order.type,      size, io->location};
        ++io->file->pending;
        io->pending->scan.start();
        if (io->block != 0) {
            finish(*io);
        }
    });
}

}  // namespace

int fluvial_object_io_init(fluvial_object_io* io, fluvial_file* file, const char* dataset) {
    return guarded([&] {
        check_given(io, "io");
        *io = fluvial_object_io{};
        io->file = file;
        io->datasets[0] = -1;  // until it is found: starting this object fails on all ranks
        io->ndatasets = 1;
        io->block = 1;
        io->root = FLUVIAL_EVERYWHERE;
        check_given(file, "file");
        check_given(dataset, "dataset");
        const int number = file->number(dataset);
        const Coordinates shape = file->dataset(number)->shape();
        std::copy(shape.begin(), shape.end(), io->count);
        std::fill_n(io->stride, FLUVIAL_MAX_DIMS, 1);
        io->datasets[0] = number;
    });
}

int fluvial_object_io_add(fluvial_object_io* io, const char* dataset) {
    return guarded([&] {
        check_given(io, "io");
        check_given(io->file, "io->file");
        check_given(dataset, "dataset");
        if (io->ndatasets < 1 || io->ndatasets >= FLUVIAL_MAX_DATASETS) {
            throw InvalidArgument(Problem{"an object I/O has no room for another dataset",
                                          text(io->ndatasets), text(FLUVIAL_MAX_DATASETS), ""});
        }
        io->datasets[io->ndatasets++] = -1;
        io->datasets[io->ndatasets - 1] = io->file->number(dataset);
    });
}

int fluvial_object_get_vara(fluvial_object_io* io, MPI_Op op, void* result, MPI_Datatype type) {
    return begin(
        io, [&](DType elements) { return c::operator_of(op, type, elements, io->functions); },
        result, nullptr);
}

int fluvial_object_get(fluvial_object_io* io, const char* op, size_t size, double* result) {
    return begin(
        io,
        [&](DType) {
            check_given(op, "op");
            return c::operator_of(op);
        },
        result, &size);
}

int fluvial_test(fluvial_object_io* io, int* done) {
    return guarded([&] {
        check_given(io, "io");
        check_given(done, "done");
        check_possible(*io, "fluvial_test");
        *done = io->pending == nullptr || io->pending->scan.test() ? 1 : 0;
    });
}

double fluvial_progress(const fluvial_object_io* io) {
    return io == nullptr || io->pending == nullptr ? 1.0 : io->pending->scan.progress();
}

int fluvial_wait(fluvial_object_io* io) {
    return guarded([&] {
        check_given(io, "io");
        check_possible(*io, "fluvial_wait");
        if (io->pending != nullptr) {
            finish(*io);
        }
    });
}
