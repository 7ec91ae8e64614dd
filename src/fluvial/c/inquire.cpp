// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fluvial/c/boundary.hpp"
#include "fluvial/c/copied_values.hpp"
#include "fluvial/c/element_type.hpp"
#include "fluvial/c/open_file.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/mpi/info.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/scan/scan.hpp"

using namespace fluvial;
using c::check_given;
using c::guarded;

static_assert(FLUVIAL_MAX_DIMS == ndim_max);
static_assert(sizeof(MPI_Offset) == sizeof(Index));

namespace {

/// Calls use(dataset) with what is asked about.
template <class Use>
int inquire(fluvial_file* file, int dataset, const void* result, Use use) {
    return guarded([&] {
        check_given(file, "file");
        check_given(result, "the place for the result");
        use(*file->dataset(dataset));
    });
}

const Attribute& attribute_of(fluvial_file* file, int dataset, const char* name) {
    check_given(file, "file");
    check_given(name, "name");
    const auto used = dataset == FLUVIAL_GLOBAL ? nullptr : file->dataset(dataset);
    return c::attribute_in(used ? used->attributes() : file->file->attributes(), name);
}

}  // namespace

std::shared_ptr<const store::Dataset> fluvial_file::dataset(int number) const {
    const auto& names = file->names();
    if (number < 0 || number >= static_cast<int>(names.size())) {
        throw InvalidArgument(Problem{text("'", file->path(), "' has no dataset of this number"),
                                      text(number), text("0 to ", names.size(), " exclusive"), ""});
    }
    return file->dataset(names[static_cast<std::size_t>(number)]);
}

int fluvial_file::number(const std::string& name) const {
    const auto& names = file->names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        file->dataset(name);  // says why not
        throw InvalidArgument(Problem{"no dataset of this name", "'" + name + "'", "", ""});
    }
    return static_cast<int>(found - names.begin());
}

move::WatchedTask fluvial_file::watched(const char* of) const {
    return {move::RankWatch::of(comm), scan::Options().stall_timeout_s, of};
}

int fluvial_open(MPI_Comm comm, const char* path, MPI_Info info, fluvial_file** file) {
    return guarded([&] {
        c::check_outside_functions("fluvial_open");
        const progress::Setup setup;
        mpi::Comm own = mpi::Comm::duplicate(comm);
        auto opened = std::make_unique<fluvial_file>();
        try {
            mpi::agree(own, [&] {
                check_given(file, "file");
                *file = nullptr;
                check_given(path, "path");
                opened->aggregators =
                    static_cast<int>(std::min(mpi::positive_hint(info, "cb_nodes"), 1LL << 30));
                opened->buffer_bytes = mpi::positive_hint(info, "cb_buffer_size");
                opened->threads = static_cast<int>(
                    std::min(mpi::positive_hint(info, "fluvial_threads"), 1LL << 30));
                opened->memory_bytes = mpi::positive_hint(info, "fluvial_memory");
                opened->reproducible = mpi::truth_hint(info, "fluvial_reproducible");
                opened->file = store::open_file(path);
            });
        } catch (...) {
            own.close();
            throw;
        }
        opened->ranks_here = own.ranks_on_this_host();
        move::RankWatch::of(own);  // from here on a rank that dies is noticed
        opened->comm = std::move(own);
        *file = opened.release();
    });
}

namespace {

void check_unused(const fluvial_file& file) {
    if (file.pending != 0) {
        throw InvalidArgument(Problem{text("'", file.file->path(), "' is still in use"),
                                      text(file.pending, " object I/Os under way"), "none",
                                      mpi::running()
                                          ? "Call fluvial_wait for each of them first"
                                          : "They had to be waited for before MPI_Finalize: what "
                                            "they use stays until the program ends"});
    }
}

/// Where a rank does not run the file is closed for the others, which are told.
void close_together(fluvial_file* file) {
    const move::WatchedTask task = file->watched("");
    try {
        task.come();
        task.during([&] { mpi::agree(file->comm, [&] { check_unused(*file); }); });
    } catch (...) {
        if (task.ended()) {
            file->comm.abandon();
            delete file;
        }
        throw;
    }
    file->comm.close();
}

}  // namespace

int fluvial_close(fluvial_file* file) {
    return guarded([&] {
        if (file == nullptr) {
            return;
        }
        c::check_outside_functions("fluvial_close");
        if (mpi::running()) {
            close_together(file);
        } else {
            check_unused(*file);
            file->comm.close();  // locally
        }
        delete file;
    });
}

int fluvial_inq_ndatasets(fluvial_file* file, int* ndatasets) {
    return guarded([&] {
        check_given(file, "file");
        check_given(ndatasets, "ndatasets");
        *ndatasets = static_cast<int>(file->file->names().size());
    });
}

int fluvial_inq_dataset(fluvial_file* file, const char* name, int* dataset) {
    return guarded([&] {
        check_given(file, "file");
        check_given(name, "name");
        check_given(dataset, "dataset");
        *dataset = file->number(name);
    });
}

int fluvial_inq_name(fluvial_file* file, int dataset, size_t size, char* name) {
    return inquire(file, dataset, name,
                   [&](const auto& found) { c::copy_text(found.name(), size, name, "the name"); });
}

int fluvial_inq_ndims(fluvial_file* file, int dataset, int* ndims) {
    return inquire(file, dataset, ndims, [&](const auto& found) { *ndims = found.shape().size(); });
}

int fluvial_inq_shape(fluvial_file* file, int dataset, MPI_Offset* shape) {
    return inquire(file, dataset, shape, [&](const auto& found) {
        std::copy(found.shape().begin(), found.shape().end(), shape);
    });
}

int fluvial_inq_dimname(fluvial_file* file, int dataset, int axis, size_t size, char* name) {
    return inquire(file, dataset, name, [&](const auto& found) {
        if (axis < 0 || axis >= found.shape().size()) {
            throw InvalidArgument(Problem{text("'", found.name(), "' has no such axis"), text(axis),
                                          text("0 to ", found.shape().size(), " exclusive"), ""});
        }
        const auto& names = found.dimensions();
        const auto at = static_cast<std::size_t>(axis);
        c::copy_text(at < names.size() ? names[at] : "", size, name, "the dimension's name");
    });
}

int fluvial_inq_type(fluvial_file* file, int dataset, MPI_Datatype* type) {
    return inquire(file, dataset, type,
                   [&](const auto& found) { *type = c::type_in_c(found.dtype(), found.name()); });
}

int fluvial_get_att_text(fluvial_file* file, int dataset, const char* name, size_t size,
                         char* value) {
    return guarded([&] {
        c::copy_text_attribute(attribute_of(file, dataset, name), name, size, value,
                               "fluvial_get_att_double");
    });
}

int fluvial_get_att_double(fluvial_file* file, int dataset, const char* name, size_t count,
                           double* values) {
    return guarded([&] {
        c::copy_number_attribute(attribute_of(file, dataset, name), name, count, values,
                                 "fluvial_get_att_text");
    });
}
