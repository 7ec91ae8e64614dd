// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/output.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/attribute_limits.hpp"
#include "fluvial/store/hdf5/objects.hpp"
#include "fluvial/store/hdf5/output_driver.hpp"

namespace fluvial::store {
namespace {

/// openPMD wants these as unsigned numbers of 32 bits.
constexpr std::array<std::string_view, 2> of_32_bits = {"openPMDextension", "macroWeighted"};

std::uint64_t dataset_bytes(const DatasetDescription& dataset) {
    return static_cast<std::uint64_t>(volume_of(dataset.shape)) * size_of(dataset.dtype);
}

/// Gives one object attributes that it does not have yet.
class AttributeWriter {
  public:
    AttributeWriter(hid_t object, const std::string& path) : object_(object), path_(path) {}

    void write_all(const Attributes& attributes) {
        for (const auto& [name, value] : attributes) {
            name_ = name;
            std::visit([this](const auto& held) { write(held); }, value);
        }
    }
    void write_extent(const Coordinates& shape) {
        name_ = "shape";
        const std::vector<std::uint64_t> extent(shape.begin(), shape.end());
        make(Hdf5Id(H5Tcopy(H5T_NATIVE_UINT64)), {shape.size()}, extent.data());
    }

  private:
    /// What h5py reads as bool; openPMD's own library looks at the order of the words, too.
    void write(bool value) {
        Hdf5Id type(H5Tenum_create(H5T_NATIVE_INT8));
        const std::array<std::int8_t, 2> values = {0, 1};
        H5Tenum_insert(type, "TRUE", &values[1]);
        H5Tenum_insert(type, "FALSE", &values[0]);
        make(std::move(type), {}, &values[value ? 1 : 0]);
    }
    void write(std::int64_t value) {
        if (std::find(of_32_bits.begin(), of_32_bits.end(), name_) != of_32_bits.end()) {
            const auto narrow = static_cast<std::uint32_t>(value);
            make(Hdf5Id(H5Tcopy(H5T_NATIVE_UINT32)), {}, &narrow);
        } else {
            make(Hdf5Id(H5Tcopy(H5T_NATIVE_INT64)), {}, &value);
        }
    }
    void write(double value) { make(Hdf5Id(H5Tcopy(H5T_NATIVE_DOUBLE)), {}, &value); }
    void write(const std::string& value) { write_texts({&value, 1}, {}); }
    void write(const std::vector<std::int64_t>& values) {
        make(Hdf5Id(H5Tcopy(H5T_NATIVE_INT64)), {static_cast<Index>(values.size())}, values.data());
    }
    void write(const std::vector<double>& values) {
        make(Hdf5Id(H5Tcopy(H5T_NATIVE_DOUBLE)), {static_cast<Index>(values.size())},
             values.data());
    }
    void write(Unsigned value) { make(Hdf5Id(H5Tcopy(H5T_NATIVE_UINT64)), {}, &value); }
    void write(const std::vector<Unsigned>& values) {
        make(Hdf5Id(H5Tcopy(H5T_NATIVE_UINT64)), {static_cast<Index>(values.size())},
             values.data());
    }
    void write(const std::vector<std::string>& values) {
        write_texts(values, {static_cast<Index>(values.size())});
    }

    void write_texts(std::span<const std::string> values, const Coordinates& shape) {
        write_hdf5_texts(object_, name_, values, shape, path_);
    }
    void make(const Hdf5Id& type, const Coordinates& shape, const void* data) {
        write_hdf5_attribute(object_, name_, type, shape, data, path_);
    }

    hid_t object_;
    const std::string& path_;
    std::string name_;
};

Hdf5Id group_at(hid_t parent, const std::string& name, const std::string& path) {
    bool there = true;  // every link on the way
    for (std::size_t end = 0; there && end != std::string::npos;) {
        end = name.find('/', end + 1);
        there = H5Lexists(parent, name.substr(0, end).c_str(), H5P_DEFAULT) > 0;
    }
    if (there) {
        return Hdf5Id(written(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), path));
    }
    return Hdf5Id(written(
        H5Gcreate2(parent, name.c_str(), hdf5_with_groups(), H5P_DEFAULT, H5P_DEFAULT), path));
}

/// A dataset with all its room and nothing written into it; where its elements begin. One that is
/// compressed has no room yet.
std::optional<std::uint64_t> make_dataset(hid_t step, const DatasetDescription& dataset,
                                          const std::optional<Packing>& packing,
                                          const std::string& path) {
    const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    if (packing) {
        const std::vector<hsize_t> chunk(packing->chunk.begin(), packing->chunk.end());
        H5Pset_chunk(properties, packing->chunk.size(), chunk.data());
        H5Pset_shuffle(properties);
        H5Pset_deflate(properties, static_cast<unsigned>(packing->level));
    } else {
        H5Pset_layout(properties, H5D_CONTIGUOUS);
        H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    }
    const Hdf5Id type = hdf5_type_of(dataset.dtype), space = hdf5_space_of(dataset.shape);
    const Hdf5Id made(written(H5Dcreate2(step, dataset.name.c_str(), type, space,
                                         hdf5_with_groups(), properties, H5P_DEFAULT),
                              path));
    AttributeWriter(made, path).write_all(dataset.attributes);
    if (packing) {
        return std::nullopt;
    }
    const haddr_t offset = H5Dget_offset(made);
    if (offset == HADDR_UNDEF && volume_of(dataset.shape) > 0) {
        throw SystemError(Problem{"'" + path + "' cannot be written",
                                  "no room for '" + dataset.name + "'", "a disk with room", ""});
    }
    return offset == HADDR_UNDEF ? std::nullopt : std::optional<std::uint64_t>(offset);
}

}  // namespace

Hdf5Output::~Hdf5Output() = default;

Places Hdf5Output::lay_out(const StepContents& step) {
    const Hdf5Session session;
    const Attributes of_series = openpmd_series_attributes(step.of_series, pattern_);
    const OpenPmdLayout layout = openpmd_layout(step, of_series);
    check_attributes(of_series, "the series");
    check_attributes(layout);
    if (!file_.valid()) {
        make_file(of_series);
    }
    Places places;
    names_.clear();
    for (const DatasetDescription& dataset : layout.datasets) {
        places.packings.push_back(packing_of(compression_, dataset));
        names_.push_back(text("data/", step.number, "/", dataset.name));
    }
    make_room(layout, places);
    const Hdf5Id iteration = group_at(file_, text("data/", step.number), path_);
    for (const auto& [path, attributes] : layout.groups) {
        if (path.empty()) {
            AttributeWriter(iteration, path_).write_all(attributes);
        } else {
            AttributeWriter(group_at(iteration, path, path_), path_).write_all(attributes);
        }
    }
    for (const DatasetDescription& constant : layout.constants) {
        const Hdf5Id group = group_at(iteration, constant.name, path_);
        AttributeWriter attributes(group, path_);
        attributes.write_all(constant.attributes);
        attributes.write_extent(constant.shape);
    }
    for (std::size_t i = 0; i < layout.datasets.size(); ++i) {
        places.begins.push_back(
            make_dataset(iteration, layout.datasets[i], places.packings[i], path_));
    }
    flush();
    return places;
}

void Hdf5Output::make_file(const Attributes& of_series) {
    const Hdf5Id access = hdf5_output_access();
    H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);  // for older programs
    Hdf5Id made(written(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), path_));
    AttributeWriter(made, path_).write_all(of_series);
    file_ = std::move(made);  // whole: where this throws the next step begins anew
}

std::vector<std::uint64_t> Hdf5Output::place(const std::vector<PackedChunk>& chunks) {
    const Hdf5Session session;
    Hdf5ChunkPlacer placer(path_, chunks);
    std::vector<std::uint64_t> begins;
    Hdf5Id dataset;
    std::optional<std::size_t> opened;
    for (const PackedChunk& chunk : chunks) {
        if (opened != chunk.dataset) {
            opened = chunk.dataset;
            dataset = Hdf5Id(written(H5Dopen2(file_, names_[*opened].c_str(), H5P_DEFAULT), path_));
        }
        begins.push_back(placer.place(dataset, chunk.offset, chunk.bytes, chunk.filters_left_out));
    }
    flush();
    return begins;
}

void Hdf5Output::make_room(const OpenPmdLayout& layout, const Places& places) const {
    std::uint64_t bytes = hdf5_object_bytes_max * (layout.groups.size() + layout.constants.size() +
                                                   layout.datasets.size() + 2);
    for (std::size_t i = 0; i < layout.datasets.size(); ++i) {
        bytes += places.packings[i] ? 0 : dataset_bytes(layout.datasets[i]);
    }
    add_hdf5_room(path_, bytes);
}

void Hdf5Output::flush() {
    written(H5Fflush(file_, H5F_SCOPE_GLOBAL), path_);
}

void Hdf5Output::finish() {
    const Hdf5Session session;
    flush();
}

void Hdf5Output::give_up(std::uint64_t number) {
    const Hdf5Session session;
    const std::string group = text("data/", number);
    if (file_.valid() && H5Lexists(file_, "data", H5P_DEFAULT) > 0 &&
        H5Lexists(file_, group.c_str(), H5P_DEFAULT) > 0) {
        H5Ldelete(file_, group.c_str(), H5P_DEFAULT);
    }
}

void Hdf5Output::make_without_steps(const Attributes& of_series) {
    const Hdf5Session session;
    const Attributes attributes = openpmd_series_attributes(of_series, pattern_);
    check_attributes(attributes, "the series");
    make_file(attributes);
    add_hdf5_room(path_, hdf5_object_bytes_max * 2);
    group_at(file_, "data", path_);
    flush();
}

void Hdf5Output::close() {
    if (!file_.valid()) {
        return;
    }
    const Hdf5Session session;
    flush();
    file_ = Hdf5Id();
}

}  // namespace fluvial::store
