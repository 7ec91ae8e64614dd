// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/output.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/index_walk.hpp"
#ifdef FLUVIAL_WITH_HDF5
#include "fluvial/store/hdf5/netcdf4_output.hpp"
#include "fluvial/store/hdf5/output.hpp"
#endif
#include "fluvial/store/netcdf_classic_output.hpp"

namespace fluvial::store {
namespace {

constexpr std::size_t write_bytes_max = std::size_t{1} << 30;  // of a call of pwrite
constexpr const char* remedy = "Write to a folder where this user may, on a disk with room";

void read_at(int file, const std::string& path, std::span<std::byte> to, std::uint64_t at) {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got =
            ::pread(file, to.data() + done, to.size() - done, static_cast<off_t>(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            throw_errno("'" + path + "' cannot be read", got < 0 ? errno : EIO);
        }
        done += static_cast<std::size_t>(got);
    }
}

/// Calls `visit(bytes, at)` for each piece of a part that is one both in memory and in the file,
/// until one returns false; that is the result.
template <class Visit>
bool for_each_run(std::uint64_t begin, const Coordinates& shape, const Region& region,
                  const ArrayView& elements, const Visit& visit) {
    if (region.empty()) {
        return true;
    }
    std::vector<std::byte> packed;
    ArrayView view = elements;
    if (!elements.is_contiguous()) {
        packed.resize(static_cast<std::size_t>(elements.size()) * size_of(elements.dtype));
        copy(elements, {packed.data(), elements.dtype, elements.extent,
                        contiguous_strides(elements.extent, size_of(elements.dtype))});
        view = ArrayView(packed.data(), elements.dtype, elements.extent);
    }
    // Axes that are whole, and the one before them, lie in one piece of the file.
    int axis = shape.size();
    while (axis > 0 && region.extent[axis - 1] == shape[axis - 1]) {
        --axis;
    }
    axis = std::max(axis - 1, 0);
    const Coordinates strides = contiguous_strides(shape, size_of(elements.dtype));
    const Coordinates outer(region.extent.span().first(static_cast<std::size_t>(axis)));
    const auto rows = static_cast<std::size_t>(volume_of(outer));
    const std::size_t bytes = static_cast<std::size_t>(view.size()) * size_of(view.dtype) /
                              std::max<std::size_t>(rows, 1);
    const std::uint64_t first =
        begin + static_cast<std::uint64_t>(offset_of(region.offset, strides));
    const std::byte* data = view.data;
    bool good = true;
    for_each_offset(
        outer.span(),
        [&](Index at) {
            good = good && visit(std::span(data, bytes), first + static_cast<std::uint64_t>(at));
            data += bytes;
        },
        strides);
    return good;
}

}  // namespace

std::vector<std::uint64_t> Output::place(const std::vector<PackedChunk>&) {
    throw InvalidArgument("chunks of a format that does not compress");
}

void write_at(int file, const std::string& path, std::span<const std::byte> data,
              std::uint64_t at) {
    while (!data.empty()) {
        const ssize_t written = ::pwrite(file, data.data(), std::min(data.size(), write_bytes_max),
                                         static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            throw_errno("'" + path + "' cannot be written", errno, remedy);
        }
        data = data.subspan(static_cast<std::size_t>(written));
        at += static_cast<std::uint64_t>(written);
    }
}

bool writes_files(const std::string& engine) {
    return engine == "hdf5" || engine == "netcdf" || engine == "netcdf4";
}

std::unique_ptr<Output> make_output(const std::string& engine, const std::string& path,
                                    const std::optional<std::string>& pattern,
                                    const std::string& compression) {
    if (!writes_files(engine)) {
        throw InvalidArgument(Problem{"files cannot be written from C++ by this engine",
                                      "'" + engine + "' for '" + path + "'",
                                      "hdf5, netcdf, netcdf4",
                                      "Write HDF5, and convert it by `fluvial pipe`"});
    }
    const Compression how = to_compression(compression, engine);
    if (engine == "netcdf") {
        return std::make_unique<NetcdfClassicOutput>(path);
    }
#ifdef FLUVIAL_WITH_HDF5
    if (engine == "netcdf4") {
        return std::make_unique<Netcdf4Output>(path, how);
    }
    return std::make_unique<Hdf5Output>(path, pattern, how);
#else
    static_cast<void>(pattern);
    throw InvalidArgument(Problem{"this build of Fluvial has no HDF5", "'" + path + "'", "streams",
                                  "Build it with FLUVIAL_HDF5=ON"});
#endif
}

void write_part(int file, const std::string& path, std::uint64_t begin, const Coordinates& shape,
                const Region& region, const ArrayView& elements) {
    for_each_run(begin, shape, region, elements, [&](std::span<const std::byte> run, auto at) {
        write_at(file, path, run, at);
        return true;
    });
}

bool has_part(int file, const std::string& path, std::uint64_t begin, const Coordinates& shape,
              const Region& region, const ArrayView& elements) {
    std::vector<std::byte> there;
    return for_each_run(begin, shape, region, elements,
                        [&](std::span<const std::byte> run, auto at) {
                            there.resize(run.size());
                            read_at(file, path, there, at);
                            return std::equal(run.begin(), run.end(), there.begin());
                        });
}

void take_room(int file, const std::string& path, std::uint64_t end) {
    struct stat facts = {};
    if (::fstat(file, &facts) != 0) {
        throw_errno("'" + path + "' cannot be written", errno, remedy);
    }
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    if (end <= size) {
        return;
    }
    const int error = ::posix_fallocate(file, facts.st_size, static_cast<off_t>(end - size));
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL && error != ENOSYS) {
        throw_errno("'" + path + "' cannot be written", error, remedy);
    }
}

}  // namespace fluvial::store
