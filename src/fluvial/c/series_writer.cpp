// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/series_writer.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "fluvial/c/boundary.hpp"
#include "fluvial/c/series.h"
#include "fluvial/c/series_region.hpp"
#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/mpi/info.hpp"
#include "fluvial/mpi/local_operation.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/named_options.hpp"

using namespace fluvial;
using c::check_given;
using c::guarded;

struct fluvial_writer {
    explicit fluvial_writer(stage::SeriesWriter opened) : series(std::move(opened)) {}

    stage::SeriesWriter series;
    std::optional<stage::SeriesWriteStep> step;
    bool begun = false;                             ///< a step, ever
    Attributes of_series, of_step;                  ///< said so far; of the step that begins next
    GroupAttributes of_groups;                      ///< of all steps from now on
    std::map<std::string, Attributes> of_datasets;  ///< the same
    std::set<std::string> news;  ///< datasets of which more was said since they were put
    std::set<std::string> told;  ///< of these, those that the open step has told of

    void tell(const std::string& dataset) {
        if (news.erase(dataset) != 0) {
            told.insert(dataset);
        }
    }
    /// What an attribute says here holds until it is said anew: the next step tells of it again.
    void lose_step() {
        step.reset();
        news.merge(told);
    }

    /// What is to be done in files, all ranks do.
    void check_mpi() const {
        if (!series.live()) {
            mpi::check_running();
        }
    }
    stage::SeriesWriteStep& open_step() {
        if (!step) {
            throw InvalidArgument(Problem{"no step is open", "a call that needs one",
                                          "calls between the begin and the end of a step",
                                          "Call fluvial_writer_begin_step first"});
        }
        return *step;
    }
    void check_no_step(const char* call) const {
        if (step) {
            throw InvalidArgument(Problem{text(call, " cannot be called now"),
                                          "a step that is open", "none",
                                          "Call fluvial_writer_end_step first"});
        }
    }
};

namespace {

/// Calls use(writer), with what it throws as a code.
template <class Use>
int with_writer(fluvial_writer* writer, const char* call, Use use) {
    return guarded([&] {
        check_given(writer, "writer");
        c::check_outside_functions(call);
        use(*writer);
    });
}

void check_path(int of, const char* path) {
    const bool needs_one = of == FLUVIAL_GROUP || of == FLUVIAL_DATASET;
    if (needs_one) {
        check_given(path, "path");
    } else if (path != nullptr) {
        throw InvalidArgument(Problem{"the path of an attribute makes no sense",
                                      text("'", path, "' of a series or step"),
                                      "a null pointer, or FLUVIAL_GROUP or FLUVIAL_DATASET", ""});
    }
}

void say(fluvial_writer& writer, int of, const char* path, const char* name, Attribute value) {
    check_given(name, "name");
    c::check_owner(of);
    check_path(of, path);
    if (of != FLUVIAL_DATASET) {
        writer.check_no_step("fluvial_writer_put_att of a series, a step or a group");
    }
    if (of == FLUVIAL_SERIES) {
        if (writer.begun) {
            throw InvalidArgument(Problem{"attributes of a series are said before its first step",
                                          text("'", name, "' after it"),
                                          "fluvial_writer_put_att right after the series is opened",
                                          "Say it of a step, FLUVIAL_STEP"});
        }
        Attributes all = writer.of_series;
        all.insert_or_assign(name, std::move(value));
        writer.series.set_attributes(all);
        writer.of_series = std::move(all);
    } else if (of == FLUVIAL_STEP) {
        writer.of_step.insert_or_assign(name, std::move(value));
    } else {
        if (of == FLUVIAL_GROUP) {
            static_cast<void>(with_groups({}, {{path, {{name, value}}}}, {}));  // if it can be one
        }
        auto& all = of == FLUVIAL_GROUP ? writer.of_groups : writer.of_datasets;
        all[path].insert_or_assign(name, std::move(value));
        if (of == FLUVIAL_DATASET) {
            writer.news.insert(path);
        }
    }
}

/// One number, or several.
template <class Number, class Value>
Attribute attribute_from(std::size_t count, const Value* values) {
    constexpr std::size_t most = PTRDIFF_MAX / sizeof(Number);
    if (count > most) {
        throw InvalidArgument(Problem{"an attribute cannot have so many numbers", text(count),
                                      text("0 to ", most), ""});
    }
    if (count > 0) {
        check_given(values, "values");
    }
    if (count == 1) {
        return static_cast<Number>(values[0]);
    }
    return std::vector<Number>(values, values + count);
}

/// What a put and a span have in common.
struct Part {
    std::string name;
    DType dtype;
    Region region;
    Coordinates shape;
    Attributes attributes;
};

Part part_of(fluvial_writer& writer, const char* dataset, MPI_Datatype type, int ndims,
             const MPI_Offset* offset, const MPI_Offset* count, const MPI_Offset* shape) {
    writer.open_step();
    check_given(dataset, "dataset");
    c::check_axes(ndims);
    Part part{
        dataset,
        mpi::element_type(type),
        {c::coordinates_from(ndims, offset, "offset"), c::coordinates_from(ndims, count, "count")},
        c::coordinates_from(ndims, shape, "shape"),
        {}};
    check_inside(part.region, part.shape, {"a part of", dataset});
    if (writer.news.contains(dataset)) {
        part.attributes = writer.of_datasets.at(dataset);  // those said before, too
    }
    return part;
}

/// A stream's step that its disk had no room for stays open.
void end_step(fluvial_writer& writer) {
    writer.open_step();
    writer.check_mpi();
    try {
        writer.open_step().end();
    } catch (const TimedOut&) {
        if (!writer.series.live()) {
            writer.lose_step();
        }
        throw;
    } catch (...) {
        writer.lose_step();
        throw;
    }
    writer.step.reset();
}

}  // namespace

int fluvial_writer_open(MPI_Comm comm, const char* name, MPI_Info options,
                        fluvial_writer** writer) {
    return guarded([&] {
        c::check_outside_functions("fluvial_writer_open");
        const progress::Setup setup;
        mpi::Comm own = mpi::Comm::duplicate(comm);
        std::unique_ptr<fluvial_writer> opened;
        try {
            stage::SeriesWriterOptions wanted;
            mpi::agree(own, [&] {
                check_given(writer, "writer");
                *writer = nullptr;
                check_given(name, "name");
                wanted = stage::writer_options(mpi::hints_of(options));
            });
            opened = std::make_unique<fluvial_writer>(stage::SeriesWriter(name, own, wanted));
        } catch (...) {
            own.close();
            throw;
        }
        own.close();
        *writer = opened.release();
    });
}

int fluvial_writer_put_att_text(fluvial_writer* writer, int of, const char* path, const char* name,
                                const char* value) {
    return with_writer(writer, "fluvial_writer_put_att_text", [&](fluvial_writer& mine) {
        check_given(value, "value");
        say(mine, of, path, name, std::string(value));
    });
}

int fluvial_writer_put_att_double(fluvial_writer* writer, int of, const char* path,
                                  const char* name, size_t count, const double* values) {
    return with_writer(writer, "fluvial_writer_put_att_double", [&](fluvial_writer& mine) {
        say(mine, of, path, name, attribute_from<double>(count, values));
    });
}

int fluvial_writer_put_att_longlong(fluvial_writer* writer, int of, const char* path,
                                    const char* name, size_t count, const long long* values) {
    return with_writer(writer, "fluvial_writer_put_att_longlong", [&](fluvial_writer& mine) {
        say(mine, of, path, name, attribute_from<std::int64_t>(count, values));
    });
}

int fluvial_writer_begin_step(fluvial_writer* writer, double time, long long iteration,
                              int* accepted) {
    return with_writer(writer, "fluvial_writer_begin_step", [&](fluvial_writer& mine) {
        mine.check_no_step("fluvial_writer_begin_step");
        if (iteration < FLUVIAL_NEXT) {
            throw InvalidArgument(Problem{"this is no number of an iteration", text(iteration),
                                          "0 or more, or FLUVIAL_NEXT", ""});
        }
        Attributes attributes = mine.of_step;
        if (!std::isnan(time)) {
            attributes.insert_or_assign("time", time);
        }
        stage::StepSaid said{.groups = mine.of_groups};
        if (iteration != FLUVIAL_NEXT) {
            said.iteration = static_cast<std::uint64_t>(iteration);
        }
        mine.step.emplace(mine.series.begin_step(attributes, said));
        mine.begun = true;
        mine.told.clear();
        mine.of_step.clear();
        if (accepted != nullptr) {
            *accepted = mine.step->accepted() ? 1 : 0;
        }
    });
}

int fluvial_writer_put(fluvial_writer* writer, const char* dataset, MPI_Datatype type, int ndims,
                       const MPI_Offset* offset, const MPI_Offset* count, const MPI_Offset* shape,
                       const void* data) {
    return with_writer(writer, "fluvial_writer_put", [&](fluvial_writer& mine) {
        const Part part = part_of(mine, dataset, type, ndims, offset, count, shape);
        if (!part.region.empty()) {
            check_given(data, "data");
        }
        mine.open_step().put(
            part.name,
            ArrayView(static_cast<const std::byte*>(data), part.dtype, part.region.extent),
            part.region.offset, part.shape, part.attributes);
        mine.tell(part.name);
    });
}

int fluvial_writer_span(fluvial_writer* writer, const char* dataset, MPI_Datatype type, int ndims,
                        const MPI_Offset* offset, const MPI_Offset* count, const MPI_Offset* shape,
                        void** data) {
    return with_writer(writer, "fluvial_writer_span", [&](fluvial_writer& mine) {
        check_given(data, "data");
        const Part part = part_of(mine, dataset, type, ndims, offset, count, shape);
        *data = mine.open_step()
                    .span(part.name, part.dtype, part.region, part.shape, part.attributes)
                    .data;
        mine.tell(part.name);
    });
}

int fluvial_writer_end_step(fluvial_writer* writer) {
    return with_writer(writer, "fluvial_writer_end_step", end_step);
}

int fluvial_writer_abandon_step(fluvial_writer* writer) {
    return with_writer(writer, "fluvial_writer_abandon_step", [](fluvial_writer& mine) {
        mine.open_step();
        mine.check_mpi();
        mine.open_step().abandon();
        mine.lose_step();
    });
}

int fluvial_writer_close(fluvial_writer* writer) {
    if (writer == nullptr) {
        return FLUVIAL_OK;
    }
    return with_writer(writer, "fluvial_writer_close", [](fluvial_writer& mine) {
        mine.check_no_step("fluvial_writer_close");
        mine.check_mpi();
        const std::unique_ptr<fluvial_writer> last(&mine);
        last->series.close();
    });
}

int fluvial_writer_abort(fluvial_writer* writer) {
    if (writer == nullptr) {
        return FLUVIAL_OK;
    }
    return with_writer(writer, "fluvial_writer_abort", [](fluvial_writer& mine) {
        mine.check_mpi();
        delete &mine;
    });
}
