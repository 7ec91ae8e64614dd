// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/c/boundary.hpp"
#include "fluvial/c/copied_values.hpp"
#include "fluvial/c/element_type.hpp"
#include "fluvial/c/operators.hpp"
#include "fluvial/c/series.h"
#include "fluvial/c/series_region.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/mpi/info.hpp"
#include "fluvial/mpi/local_operation.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/named_options.hpp"

using namespace fluvial;
using c::check_given;
using c::guarded;

struct fluvial_reader {
    fluvial_reader(scan::Series opened, mpi::Comm own)
        : series(std::move(opened)),
          comm(std::move(own)),
          follows(series.options().follow && !series.live()),
          stall_timeout_s(move::RankWatch::kept_limit(series.options().stream.stall_timeout_s)) {}

    scan::Series series;
    mpi::Comm comm;
    bool follows;            ///< files that are still being written: next() is for all ranks
    double stall_timeout_s;  ///< of a reduction
    std::optional<scan::SeriesStep> step;
    std::uint64_t steps = 0;  ///< that were asked for

    const scan::SeriesStep& present_step() const {
        if (!step) {
            throw InvalidArgument(
                Problem{"there is no present step",
                        steps == 0 ? "none was asked for" : "the series has ended",
                        "a step that fluvial_reader_next has brought", ""});
        }
        return *step;
    }
};

namespace {

template <class Use>
int with_reader(fluvial_reader* reader, const char* call, Use use) {
    return guarded([&] {
        check_given(reader, "reader");
        c::check_outside_functions(call);
        use(*reader);
    });
}

/// Calls use(step) with the present one.
template <class Use>
int ask(fluvial_reader* reader, const void* result, Use use) {
    return with_reader(reader, "an inquiry", [&](fluvial_reader& mine) {
        check_given(result, "the place for the result");
        use(mine.present_step());
    });
}

template <class Use>
int ask_dataset(fluvial_reader* reader, const char* dataset, const void* result, Use use) {
    return ask(reader, result, [&](const scan::SeriesStep& step) {
        check_given(dataset, "dataset");
        use(step, std::string(dataset));
    });
}

/// A record of netCDF has a number of the step as a variable along the axis of time.
Attribute attribute_of_step(const scan::SeriesStep& step, const char* name) {
    check_given(name, "name");
    const bool has_scalar = !step.attributes().contains(name) && step.has(name) &&
                            step.shape(name).size() == 0 &&
                            !is_complex(step.dataset(name)->dtype());
    if (!has_scalar) {
        return c::attribute_in(step.attributes(), name);
    }
    const compute::Array number = step.read(name);
    if (is_integer(number.dtype)) {
        std::int64_t whole = 0;
        c::convert(number.view(), DType::Int64, &whole);
        return whole;
    }
    double real = 0;
    c::convert(number.view(), DType::Float64, &real);
    return real;
}

/// Calls use(attribute).
template <class Use>
int ask_attribute(fluvial_reader* reader, int of, const char* path, const char* name, Use use) {
    return with_reader(reader, "an inquiry", [&](fluvial_reader& mine) {
        c::check_owner(of);
        if (of == FLUVIAL_SERIES) {
            const Attributes all = mine.series.attributes();
            use(c::attribute_in(all, name));
        } else if (of == FLUVIAL_STEP) {
            use(attribute_of_step(mine.present_step(), name));
        } else if (of == FLUVIAL_DATASET) {
            check_given(path, "path");
            use(c::attribute_in(mine.present_step().dataset(path)->attributes(), name));
        } else {
            check_given(path, "path");
            const Attributes all = mine.present_step().group_attributes(path);
            use(c::attribute_in(all, name));
        }
    });
}

Region region_of(const Coordinates& shape, const MPI_Offset* start, const MPI_Offset* count) {
    if (start == nullptr && count == nullptr) {
        return whole(shape);
    }
    return {c::coordinates_from(shape.size(), start, "start"),
            c::coordinates_from(shape.size(), count, "count")};
}

void read(const scan::SeriesStep& step, const std::string& name, const Region& region, DType to,
          void* data) {
    const DType stored = step.dataset(name)->dtype();
    check_inside(region, step.shape(name), {"a region of", name.c_str()});
    if (region.empty()) {
        return;
    }
    check_given(data, "data");
    const auto into = [&](std::byte* bytes) {
        step.read(
            name, region,
            {bytes, stored, region.extent, contiguous_strides(region.extent, size_of(stored))});
    };
    if (stored == to) {
        into(static_cast<std::byte*>(data));
        return;
    }
    const auto bytes = static_cast<std::size_t>(region.volume()) * size_of(stored);
    const auto elements = std::make_unique_for_overwrite<std::byte[]>(bytes);
    into(elements.get());
    c::convert(ArrayView(elements.get(), stored, region.extent), to, data);
}

/// What is to be reduced, once it is known to make sense here.
struct Reduction {
    std::optional<scan::Variable> variable;
    std::vector<scan::Operation> operations;
};

Reduction reduction_of(const fluvial_reader& reader, const char* dataset, const char* op,
                       const void* place, const char* called) {
    check_given(dataset, "dataset");
    check_given(op, "op");
    check_given(place, called);
    Reduction made;
    made.variable = reader.present_step().variable(dataset);
    made.operations.emplace_back("result", c::operator_of(std::string(op)).op);
    return made;
}

/// What is to be alike on all ranks beside the operator, which the scan compares.
void add_terms(const fluvial_reader& reader, const char* dataset, std::size_t size, Terms& terms) {
    const std::string remedy = "Call the same reductions in the same order on every rank";
    terms.add("the number of the step", exact(static_cast<std::int64_t>(reader.steps)), remedy);
    terms.add("the dataset", exact(dataset), remedy);
    terms.add("how many numbers the result has room for", exact(static_cast<std::int64_t>(size)),
              remedy);
}

void deliver(const compute::Result& result, std::size_t size, double* to) {
    const compute::Array& value = result.at("value");
    const Index entries = volume_of(value.shape);
    if (static_cast<std::size_t>(entries) != size) {
        throw InvalidArgument(Problem{"the result has another size than its place",
                                      text("room for ", size), text(entries), ""});
    }
    c::convert(value.view(), DType::Float64, to);
}

compute::Result reduced(fluvial_reader& reader, const char* dataset, const char* op,
                        std::size_t size, const void* place, const char* called = "result") {
    const auto task = std::make_shared<const move::WatchedTask>(
        move::watched(reader.comm, reader.stall_timeout_s, "the reduction"));
    task->come();
    scan::Options options;
    options.stall_timeout_s = reader.stall_timeout_s;
    options.shuffle = scan::Options::Shuffle::Common;
    options.task = reader.comm.size() > 1 ? task : nullptr;
    auto pending = task->during([&] {
        Reduction wanted;
        mpi::agree_on(
            reader.comm, [&] { wanted = reduction_of(reader, dataset, op, place, called); },
            [&](Terms& terms) { add_terms(reader, dataset, size, terms); });
        return wanted.variable->start(wanted.operations, {}, reader.comm, options);
    });
    return pending.wait().results.at("result");
}

void find(fluvial_reader& reader, const char* dataset, const char* op, double* value,
          MPI_Offset* location) {
    const bool has_value = value != nullptr;
    const compute::Result result =
        reduced(reader, dataset, op, 1, has_value ? static_cast<const void*>(location) : nullptr,
                has_value ? "location" : "value");
    const auto found = result.find("coordinates");
    if (found == result.end()) {
        throw InvalidArgument(
            Problem{"this operator finds no place", text("'", op, "'"), "argmin, argmax", ""});
    }
    deliver(result, 1, value);
    const auto* const coordinates = found->second.as<std::int64_t>();
    const auto axes = static_cast<int>(volume_of(found->second.shape));
    const auto of_record = reader.present_step().axis_of_record(dataset);
    for (int axis = 0; axis < axes; ++axis) {
        if (axis != of_record) {
            *location++ = static_cast<MPI_Offset>(coordinates[axis]);
        }
    }
}

}  // namespace

int fluvial_reader_open(MPI_Comm comm, const char* name, MPI_Info options,
                        fluvial_reader** reader) {
    return guarded([&] {
        c::check_outside_functions("fluvial_reader_open");
        const progress::Setup setup;
        mpi::Comm own = mpi::Comm::duplicate(comm);
        try {
            scan::SeriesOptions wanted;
            mpi::agree(own, [&] {
                check_given(reader, "reader");
                *reader = nullptr;
                check_given(name, "name");
                wanted = stage::reader_options(mpi::hints_of(options));
            });
            scan::Series series(name, own, wanted);
            const auto nothing = [] {};
            mpi::agree_on(own, nothing, [&](Terms& terms) {
                terms.add("the option 'stall_timeout'",
                          exact(series.options().stream.stall_timeout_s));
            });
            move::RankWatch::of(own);  // from here on a rank that dies is noticed
            *reader = new fluvial_reader(std::move(series), std::move(own));
        } catch (...) {
            own.close();
            throw;
        }
    });
}

int fluvial_reader_next(fluvial_reader* reader, int* more) {
    return with_reader(reader, "fluvial_reader_next", [&](fluvial_reader& mine) {
        if (mine.follows) {
            mpi::check_running();
            mpi::agree(mine.comm, [&] { check_given(more, "more"); });
        }
        check_given(more, "more");
        *more = 0;
        mine.step.reset();
        ++mine.steps;
        mine.step = mine.series.next();
        *more = mine.step ? 1 : 0;
    });
}

int fluvial_reader_inq_iteration(fluvial_reader* reader, long long* iteration) {
    return ask(reader, iteration, [&](const scan::SeriesStep& step) {
        *iteration = static_cast<long long>(step.index());
    });
}

int fluvial_reader_inq_time(fluvial_reader* reader, double* time) {
    return fluvial_reader_get_att_double(reader, FLUVIAL_STEP, nullptr, "time", 1, time);
}

int fluvial_reader_inq_ndatasets(fluvial_reader* reader, int* ndatasets) {
    return ask(reader, ndatasets, [&](const scan::SeriesStep& step) {
        *ndatasets = static_cast<int>(step.names().size());
    });
}

int fluvial_reader_inq_name(fluvial_reader* reader, int dataset, size_t size, char* name) {
    return ask(reader, name, [&](const scan::SeriesStep& step) {
        const auto& names = step.names();
        if (dataset < 0 || dataset >= static_cast<int>(names.size())) {
            throw InvalidArgument(Problem{"the step has no dataset of this number", text(dataset),
                                          text("0 to ", names.size(), " exclusive"), ""});
        }
        c::copy_text(names[static_cast<std::size_t>(dataset)], size, name, "the name");
    });
}

int fluvial_reader_inq_ndims(fluvial_reader* reader, const char* dataset, int* ndims) {
    return ask_dataset(reader, dataset, ndims,
                       [&](const scan::SeriesStep& step, const std::string& name) {
                           *ndims = step.shape(name).size();
                       });
}

int fluvial_reader_inq_shape(fluvial_reader* reader, const char* dataset, MPI_Offset* shape) {
    return ask_dataset(reader, dataset, shape,
                       [&](const scan::SeriesStep& step, const std::string& name) {
                           const Coordinates found = step.shape(name);
                           std::copy(found.begin(), found.end(), shape);
                       });
}

int fluvial_reader_inq_type(fluvial_reader* reader, const char* dataset, MPI_Datatype* type) {
    return ask_dataset(reader, dataset, type,
                       [&](const scan::SeriesStep& step, const std::string& name) {
                           *type = c::type_in_c(step.dataset(name)->dtype(), name);
                       });
}

int fluvial_reader_get_att_text(fluvial_reader* reader, int of, const char* path, const char* name,
                                size_t size, char* value) {
    return ask_attribute(reader, of, path, name, [&](const Attribute& attribute) {
        c::copy_text_attribute(attribute, name, size, value, "fluvial_reader_get_att_double");
    });
}

int fluvial_reader_get_att_double(fluvial_reader* reader, int of, const char* path,
                                  const char* name, size_t count, double* values) {
    return ask_attribute(reader, of, path, name, [&](const Attribute& attribute) {
        c::copy_number_attribute(attribute, name, count, values, "fluvial_reader_get_att_text");
    });
}

int fluvial_reader_get_att_longlong(fluvial_reader* reader, int of, const char* path,
                                    const char* name, size_t count, long long* values) {
    return ask_attribute(reader, of, path, name, [&](const Attribute& attribute) {
        c::copy_number_attribute(attribute, name, count, values, "fluvial_reader_get_att_text");
    });
}

int fluvial_reader_get(fluvial_reader* reader, const char* dataset, MPI_Datatype type,
                       const MPI_Offset* start, const MPI_Offset* count, void* data) {
    return with_reader(reader, "fluvial_reader_get", [&](fluvial_reader& mine) {
        const scan::SeriesStep& step = mine.present_step();
        check_given(dataset, "dataset");
        read(step, dataset, region_of(step.shape(dataset), start, count), mpi::element_type(type),
             data);
    });
}

int fluvial_reader_reduce(fluvial_reader* reader, const char* dataset, const char* op, size_t size,
                          double* result) {
    return with_reader(reader, "fluvial_reader_reduce", [&](fluvial_reader& mine) {
        mpi::check_running();
        deliver(reduced(mine, dataset, op, size, result), size, result);
    });
}

int fluvial_reader_find(fluvial_reader* reader, const char* dataset, const char* op, double* value,
                        MPI_Offset* location) {
    return with_reader(reader, "fluvial_reader_find", [&](fluvial_reader& mine) {
        mpi::check_running();
        find(mine, dataset, op, value, location);
    });
}

int fluvial_reader_close(fluvial_reader* reader) {
    if (reader == nullptr) {
        return FLUVIAL_OK;
    }
    return with_reader(reader, "fluvial_reader_close", [](fluvial_reader& mine) {
        const std::unique_ptr<fluvial_reader> last(&mine);
        last->step.reset();
        try {
            last->series.close();
        } catch (...) {
            last->comm.close();
            throw;
        }
        last->comm.close();
    });
}
