// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/objects.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/output_driver.hpp"

namespace fluvial::store {
namespace {

/// Half precision, which libhdf5 has no name for, by the fields that IEEE 754 gives it.
Hdf5Id half_type() {
    Hdf5Id type(H5Tcopy(H5T_NATIVE_FLOAT));
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

Hdf5Id complex_type(hid_t part, std::size_t bytes) {
    Hdf5Id type(H5Tcreate(H5T_COMPOUND, 2 * bytes));
    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", bytes, part);
    return type;
}

}  // namespace

Hdf5Id hdf5_type_of(DType dtype) {
    switch (dtype) {
        case DType::Int8:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_INT8));
        case DType::Int16:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_INT16));
        case DType::Int32:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_INT32));
        case DType::Int64:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_INT64));
        case DType::UInt8:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_UINT8));
        case DType::UInt16:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_UINT16));
        case DType::UInt32:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_UINT32));
        case DType::UInt64:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_UINT64));
        case DType::Float16:
            return half_type();
        case DType::Float32:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_FLOAT));
        case DType::Float64:
            return Hdf5Id(H5Tcopy(H5T_NATIVE_DOUBLE));
        case DType::Complex64:
            return complex_type(H5T_NATIVE_FLOAT, 4);
        case DType::Complex128:
            break;
    }
    return complex_type(H5T_NATIVE_DOUBLE, 8);
}

Hdf5Id hdf5_space_of(const Coordinates& shape) {
    if (shape.empty()) {
        return Hdf5Id(H5Screate(H5S_SCALAR));
    }
    const std::vector<hsize_t> extent(shape.begin(), shape.end());
    return Hdf5Id(H5Screate_simple(shape.size(), extent.data(), nullptr));
}

Hdf5Id hdf5_with_groups() {
    Hdf5Id properties(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(properties, 1);
    return properties;
}

void write_hdf5_attribute(hid_t object, const std::string& name, hid_t type,
                          const Coordinates& shape, const void* data, const std::string& path) {
    if (name.empty()) {
        throw InvalidArgument(Problem{text("an attribute in '", path, "' has no name"), "''",
                                      "one character or more", "Call it something"});
    }
    const Hdf5Id space = hdf5_space_of(shape);
    const Hdf5Id made(
        written(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), path));
    if (volume_of(shape) > 0) {
        written(H5Awrite(made, type, data), path);
    }
}

void write_hdf5_texts(hid_t object, const std::string& name, std::span<const std::string> values,
                      const Coordinates& shape, const std::string& path) {
    std::size_t length = 1;
    for (const std::string& value : values) {
        length = std::max(length, value.size());
    }
    std::string all;
    for (const std::string& value : values) {
        all += value + std::string(length - value.size(), '\0');
    }
    const Hdf5Id type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type, length);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    write_hdf5_attribute(object, name, type, shape, all.data(), path);
}

void add_hdf5_room(const std::string& path, std::uint64_t bytes) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat facts = {};
    if (file < 0 || ::fstat(file, &facts) != 0) {
        const int error = errno;
        if (file >= 0) {
            ::close(file);
        }
        throw_errno("'" + path + "' cannot be written", error);
    }
    try {
        take_room(file, path, static_cast<std::uint64_t>(facts.st_size) + bytes);
    } catch (...) {
        ::close(file);
        throw;
    }
    ::close(file);
}

Hdf5ChunkPlacer::Hdf5ChunkPlacer(const std::string& path, std::uint64_t bytes_max)
    : path_(path), nothing_(std::make_unique_for_overwrite<std::byte[]>(bytes_max)) {}

namespace {

std::uint64_t longest_of(std::span<const PackedChunk> chunks) {
    std::uint64_t longest = 0;
    for (const PackedChunk& chunk : chunks) {
        longest = std::max(longest, chunk.bytes);
    }
    return longest;
}

}  // namespace

Hdf5ChunkPlacer::Hdf5ChunkPlacer(const std::string& path, std::span<const PackedChunk> chunks)
    : Hdf5ChunkPlacer(path, longest_of(chunks)) {
    std::uint64_t bytes = hdf5_object_bytes_max;
    for (const PackedChunk& chunk : chunks) {
        bytes += chunk.bytes + hdf5_index_bytes_max;
    }
    add_hdf5_room(path, bytes);
}

std::uint64_t Hdf5ChunkPlacer::place(hid_t dataset, const Coordinates& offset, std::uint64_t bytes,
                                     std::uint32_t filters_left_out) {
    const std::vector<hsize_t> first(offset.begin(), offset.end());
    Hdf5Placing placing(nothing_.get());
    written(
        H5Dwrite_chunk(dataset, H5P_DEFAULT, filters_left_out, first.data(), bytes, nothing_.get()),
        path_);
    if (placing.writes != 1 || placing.bytes != bytes) {
        throw SystemError(Problem{
            "libhdf5 does not write a chunk in one piece",
            text(placing.writes, " writes, the last of ", placing.bytes, " bytes, for ", bytes),
            "one write", "Write without compression"});
    }
    return placing.offset;
}

}  // namespace fluvial::store
