// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/netcdf4_output.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/store/hdf5/attribute_limits.hpp"
#include "fluvial/store/hdf5/dimensions.hpp"
#include "fluvial/store/hdf5/objects.hpp"
#include "fluvial/store/hdf5/output_driver.hpp"
#include "fluvial/store/hdf5/scale_output.hpp"
#include "fluvial/store/netcdf_variables.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t small_chunk_bytes = 4096;  // of small records, many of which share a chunk
constexpr std::uint64_t record_bytes_max = 0xffff'ffff;  // of a chunk of HDF5

void write_attributes(hid_t object, const std::vector<NetcdfAttribute>& attributes,
                      const std::string& path) {
    for (const NetcdfAttribute& attribute : attributes) {
        if (attribute.text) {
            write_hdf5_texts(object, attribute.name, {&*attribute.text, 1}, {}, path);
        } else {
            write_hdf5_attribute(object, attribute.name, hdf5_type_of(attribute.dtype),
                                 {static_cast<Index>(attribute.count())}, attribute.numbers.data(),
                                 path);
        }
    }
}

/// Of a variable with one more axis, along which it has no record yet.
Hdf5Id growing_space(const Coordinates& shape) {
    std::vector<hsize_t> extent = {0}, most = {H5S_UNLIMITED};
    extent.insert(extent.end(), shape.begin(), shape.end());
    most.insert(most.end(), shape.begin(), shape.end());
    return Hdf5Id(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), most.data()));
}

void check_names(const RecordLayout& layout) {
    if (layout.variables.size() > scale_uses_max) {
        throw InvalidArgument(Problem{
            "a file of netCDF-4 cannot have so many variables", text(layout.variables.size()),
            text("at most ", scale_uses_max, " along an axis"), "Write CDF-5 (.nc), or HDF5"});
    }
    for (const auto& [name, length] : layout.dimensions) {
        check_netcdf_name(name, "an axis");
    }
    for (const RecordVariable& variable : layout.variables) {
        check_netcdf_name(variable.name, "a dataset");
        const auto& along = variable.dimensions;
        if (variable.name == record_axis && !along.empty()) {
            throw InvalidArgument(
                Problem{"'" + variable.name + "' is the axis of the records and of nothing else",
                        text("a dataset along (", listed(along), ") that changes with time"),
                        "one number a record", "Call it something else"});
        }
    }
}

/// It has the name of an axis which is not its first one, so it is not the coordinate.
bool borrows_name(const RecordVariable& variable, const RecordLayout& layout) {
    return variable.by_record &&
           std::any_of(layout.dimensions.begin(), layout.dimensions.end(),
                       [&](const auto& one) { return one.first == variable.name; });
}

}  // namespace

Netcdf4Output::~Netcdf4Output() = default;

Places Netcdf4Output::lay_out(const StepContents& step) {
    const Hdf5Session session;
    RecordLayout layout = record_layout(step);
    check_and_sort(layout);
    const bool first = !layout_;
    if (first) {
        make_file(layout, step);
    } else {
        check_alike(*layout_, layout, step.number);
    }
    make_room(layout);
    begin_chunks();
    for (const RecordVariable& variable : layout.variables) {
        if (variable.values && (first || variable.by_record)) {
            write(*variable.values, begin_of(variable.name));
        }
    }
    Places places;
    names_.clear();
    for (const DatasetDescription& dataset : step.datasets) {
        const Stored& stored = stored_.at(dataset.name);
        names_.push_back(dataset.name);
        places.packings.push_back(stored.packing);
        places.begins.push_back(stored.packing ? std::nullopt
                                               : std::optional(begin_of(dataset.name)));
        places.kept.push_back(!first && !layout_->find(dataset.name)->by_record);
    }
    return places;
}

void Netcdf4Output::make_file(const RecordLayout& layout, const StepContents& step) {
    check_names(layout);
    const Attributes said = record_series_attributes(step.of_series);
    check_attributes(said, "the series");
    const auto of_series = netcdf_attributes(said, "the series");
    check_scale_attributes(said, "the series");
    for (const RecordVariable& variable : layout.variables) {
        check_attributes(variable.attributes, "'" + variable.name + "'");
        static_cast<void>(
            netcdf_attributes(variable.attributes, "'" + variable.name + "'", variable.dtype));
        check_scale_attributes(variable.attributes, "'" + variable.name + "'");
    }
    forget();
    const Hdf5Id access = hdf5_output_access(), creation(H5Pcreate(H5P_FILE_CREATE));
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);  // for older programs
    H5Pset_cache(access, 0, 521, 0, 0.75);  // none of elements, which others write
    // Variables in their order, as programs list them.
    H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    file_ = Hdf5Id(written(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation, access), path_));
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    const std::string made_by = text("version=2,hdf5=", major, '.', minor, '.', release);
    write_hdf5_texts(file_, "_NCProperties", {&made_by, 1}, {}, path_);
    write_attributes(file_, of_series, path_);
    std::uint64_t bytes = hdf5_object_bytes_max * (layout.variables.size() + 2);
    for (const RecordVariable& variable : layout.variables) {
        bytes += variable.by_record ? 0 : bytes_of(variable);
    }
    add_hdf5_room(path_, bytes);
    for (const RecordVariable& variable : layout.variables) {
        make_variable(variable, step, borrows_name(variable, layout));
    }
    make_dimensions(layout);
    layout_ = layout;
}

/// `borrowed`: its name is that of an axis, whose scale has it in the file.
void Netcdf4Output::make_variable(const RecordVariable& variable, const StepContents& step,
                                  bool borrowed) {
    const std::string link = borrowed ? text(netcdf4_no_coordinate, variable.name) : variable.name;
    Stored stored;
    stored.shape = variable.shape;
    stored.bytes = bytes_of(variable);
    const auto dataset =
        std::find_if(step.datasets.begin(), step.datasets.end(),
                     [&](const DatasetDescription& one) { return one.name == variable.name; });
    if (variable.by_record && dataset != step.datasets.end()) {
        stored.packing = packing_of(compression_, *dataset);
    }
    const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    if (!variable.by_record) {
        H5Pset_layout(properties, H5D_CONTIGUOUS);
        H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    } else {
        stored.records_per_chunk =
            stored.packing ? 0 : std::max<std::uint64_t>(small_chunk_bytes / stored.bytes, 1);
        std::vector<hsize_t> chunk = {std::max<hsize_t>(stored.records_per_chunk, 1)};
        const Coordinates& rest = stored.packing ? stored.packing->chunk : variable.shape;
        chunk.insert(chunk.end(), rest.begin(), rest.end());
        H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
        if (stored.packing) {
            H5Pset_shuffle(properties);
            H5Pset_deflate(properties, static_cast<unsigned>(stored.packing->level));
        } else if (stored.bytes > record_bytes_max) {
            throw InvalidArgument(
                Problem{"'" + variable.name + "' is too large for a record of netCDF-4",
                        text(stored.bytes, " bytes"),
                        text("at most ", record_bytes_max, ", the largest chunk of HDF5"),
                        "Write CDF-5 (.nc), or give compression='gzip'"});
        }
    }
    const Hdf5Id space =
        variable.by_record ? growing_space(variable.shape) : hdf5_space_of(variable.shape);
    stored.dataset = Hdf5Id(written(H5Dcreate2(file_, link.c_str(), hdf5_type_of(variable.dtype),
                                               space, H5P_DEFAULT, properties, H5P_DEFAULT),
                                    path_));
    write_attributes(
        stored.dataset,
        netcdf_attributes(variable.attributes, "'" + variable.name + "'", variable.dtype), path_);
    stored_.emplace(variable.name, std::move(stored));
}

/// Each dimension is a scale, and each variable says which it has.
void Netcdf4Output::make_dimensions(const RecordLayout& layout) {
    std::vector<std::pair<std::string, Index>> all = {{record_axis, 0}};
    all.insert(all.end(), layout.dimensions.begin(), layout.dimensions.end());
    std::map<std::string, Hdf5Id> alone;
    std::map<std::string, hid_t> scales;
    std::int32_t number = 0;
    for (const auto& [name, length] : all) {
        const RecordVariable* const variable = layout.find(name);
        if (variable != nullptr && !borrows_name(*variable, layout)) {
            scales[name] = stored_.at(name).dataset;
            write_hdf5_scale(scales[name], name, path_);
        } else {
            scales[name] = alone[name] = make_scale(name, length);
        }
        write_hdf5_attribute(scales[name], "_Netcdf4Dimid", H5T_NATIVE_INT32, {1}, &number, path_);
        ++number;
    }
    ScaleUses uses;
    for (const RecordVariable& variable : layout.variables) {
        std::vector<std::string> along = variable.dimensions;
        if (variable.by_record) {
            along.insert(along.begin(), record_axis);
        }
        if (along != std::vector<std::string>{variable.name}) {
            std::vector<hid_t> of_axes;
            for (const std::string& name : along) {
                of_axes.push_back(scales.at(name));
            }
            uses.attach(stored_.at(variable.name).dataset, of_axes, path_);
        }
    }
    uses.write(path_);
    if (const auto time = alone.find(record_axis); time != alone.end()) {
        scale_of_records_ = std::move(time->second);
    }
}

/// A dimension that has no variable of its name is a dataset without elements.
Hdf5Id Netcdf4Output::make_scale(const std::string& name, Index length) {
    const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE));
    const bool grows = name == record_axis;
    if (grows) {
        const hsize_t chunk = small_chunk_bytes / sizeof(float);
        H5Pset_chunk(properties, 1, &chunk);
    }
    const Hdf5Id space = grows ? growing_space({}) : hdf5_space_of({length});
    Hdf5Id made(written(H5Dcreate2(file_, name.c_str(), H5T_IEEE_F32BE, space, H5P_DEFAULT,
                                   properties, H5P_DEFAULT),
                        path_));
    std::array<char, 80> label{};
    std::snprintf(label.data(), label.size(),
                  "This is a netCDF dimension but not a netCDF variable.%10lld",
                  static_cast<long long>(length));
    write_hdf5_scale(made, label.data(), path_);
    return made;
}

/// For a record more.
void Netcdf4Output::make_room(const RecordLayout& layout) {
    std::uint64_t bytes = hdf5_object_bytes_max;
    for (const RecordVariable& variable : layout.variables) {
        const Stored& stored = stored_.at(variable.name);
        if (variable.by_record) {
            bytes += (stored.packing ? 0 : std::max(stored.bytes, small_chunk_bytes)) +
                     small_chunk_bytes + hdf5_object_bytes_max;
        }
    }
    add_hdf5_room(path_, bytes);
    extend(records_ + 1);
}

/// Chunks that begin with this record get their places.
void Netcdf4Output::begin_chunks() {
    for (auto& [name, stored] : stored_) {
        if (stored.records_per_chunk == 0 || records_ % stored.records_per_chunk != 0) {
            continue;
        }
        Coordinates offset = {static_cast<Index>(records_)};
        for (int axis = 0; axis < stored.shape.size(); ++axis) {
            offset.push_back(0);
        }
        const std::uint64_t bytes = stored.records_per_chunk * stored.bytes;
        Hdf5ChunkPlacer placer(path_, bytes);
        stored.chunk_begin = placer.place(stored.dataset, offset, bytes, 0);
    }
}

/// Of all of a variable that is there once, or of the record that is being written.
std::uint64_t Netcdf4Output::begin_of(const std::string& name) const {
    const Stored& stored = stored_.at(name);
    if (stored.records_per_chunk == 0) {
        return H5Dget_offset(stored.dataset);
    }
    return stored.chunk_begin + records_ % stored.records_per_chunk * stored.bytes;
}

std::vector<std::uint64_t> Netcdf4Output::place(const std::vector<PackedChunk>& chunks) {
    const Hdf5Session session;
    Hdf5ChunkPlacer placer(path_, chunks);
    std::vector<std::uint64_t> begins;
    for (const PackedChunk& chunk : chunks) {
        Coordinates offset = {static_cast<Index>(records_)};
        for (const Index first : chunk.offset) {
            offset.push_back(first);
        }
        begins.push_back(placer.place(stored_.at(names_[chunk.dataset]).dataset, offset,
                                      chunk.bytes, chunk.filters_left_out));
    }
    return begins;
}

/// Says how many records there are.
void Netcdf4Output::extend(std::uint64_t records) {
    for (auto& [name, stored] : stored_) {
        if (stored.records_per_chunk == 0 && !stored.packing) {
            continue;
        }
        std::vector<hsize_t> extent = {records};
        extent.insert(extent.end(), stored.shape.begin(), stored.shape.end());
        written(H5Dset_extent(stored.dataset, extent.data()), path_);
    }
    if (scale_of_records_.valid()) {
        const hsize_t extent = records;
        written(H5Dset_extent(scale_of_records_, &extent), path_);
    }
}

void Netcdf4Output::finish() {
    const Hdf5Session session;
    written(H5Fflush(file_, H5F_SCOPE_GLOBAL), path_);
    ++records_;
}

void Netcdf4Output::give_up(std::uint64_t) {
    const Hdf5Session session;
    if (!file_.valid()) {
        return;
    }
    if (records_ == 0) {  // the first record may be another one
        forget();
        ::unlink(path_.c_str());
        return;
    }
    // The next record takes its place, and its chunks where they were begun.
    extend(records_);
    written(H5Fflush(file_, H5F_SCOPE_GLOBAL), path_);
}

void Netcdf4Output::make_without_steps(const Attributes& of_series) {
    const Hdf5Session session;
    make_file({}, {0, {}, of_series, {}});
    without_steps_ = true;
    written(H5Fflush(file_, H5F_SCOPE_GLOBAL), path_);
}

void Netcdf4Output::close() {
    if (!file_.valid()) {
        return;
    }
    const Hdf5Session session;
    written(H5Fflush(file_, H5F_SCOPE_GLOBAL), path_);
    forget();
    if (records_ == 0 && !without_steps_) {
        ::unlink(path_.c_str());
    }
}

/// The file is closed.
void Netcdf4Output::forget() {
    stored_.clear();
    layout_.reset();
    scale_of_records_ = Hdf5Id();
    file_ = Hdf5Id();
}

void Netcdf4Output::write(std::span<const std::byte> bytes, std::uint64_t at) const {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        throw_errno("'" + path_ + "' cannot be written", errno);
    }
    try {
        write_at(file, path_, bytes, at);
    } catch (...) {
        ::close(file);
        throw;
    }
    ::close(file);
}

}  // namespace fluvial::store
