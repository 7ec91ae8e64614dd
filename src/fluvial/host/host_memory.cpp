// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/host_memory.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include <sys/statvfs.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/page.hpp"
#include "fluvial/host/file_place.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::host {

namespace {

constexpr std::size_t cache_line = 64;
constexpr const char* mpi_directory = "/dev/shm";
/// What MPI puts in front of the memory.
constexpr std::size_t mpi_bytes = std::size_t{1} << 20;

/// Empty on all ranks when it cannot be had on one of them.
Mapping map_together(const mpi::Comm& host, std::size_t bytes) {
    MemoryFile file;
    FilePlace place;
    if (host.rank() == 0) {
        try {
            file = MemoryFile::create("host", bytes);
            place = place_of(file);
        } catch (const Error&) {
            place = {};
        }
    }
    const auto told = host.bcast(std::as_bytes(std::span(&place, 1)), 0);
    place = ByteReader(told).get<FilePlace>();
    Mapping mapping;
    if (place.descriptor >= 0) {
        try {
            if (host.rank() != 0) {
                file = open_at(place);
            }
            mapping = file.map(Access::ReadWrite);
        } catch (const Error&) {
            mapping = {};
        }
    }
    if (!host.all(mapping.size() > 0)) {
        return {};
    }
    return mapping;  // it keeps the memory: the first rank's descriptor is not needed any more
}

std::size_t room() {
    struct statvfs status{};
    if (::statvfs(mpi_directory, &status) != 0) {
        return std::numeric_limits<std::size_t>::max();
    }
    return std::size_t{status.f_bavail} * status.f_frsize;
}

[[noreturn]] void throw_no_room(std::size_t bytes) {
    throw SystemError(Problem{"there is too little shared memory",
                              text(room(), " bytes free in ", mpi_directory),
                              text(bytes + mpi_bytes, " bytes"),
                              text("Enlarge ", mpi_directory,
                                   " (docker run --shm-size); of a stream, lower buffer_bytes, or "
                                   "open the channel without shared_memory")});
}

}  // namespace

HostMemory HostMemory::allocate(const mpi::Comm& host, std::size_t bytes) {
    if (host.size() == 1) {
        return by_mpi(host, bytes);  // plain memory
    }
    // The memory of all, each rank's on pages of its own: a page lies near the rank that touches it
    // first.
    const std::vector<std::size_t> all = host.allgather_values(bytes);
    std::size_t sum = 0;
    for (const std::size_t one : all) {
        sum += whole_pages(one);
    }
    HostMemory shared;
    if (sum > 0) {
        shared.mapping_ = map_together(host, sum);
        if (shared.mapping_.size() == 0) {
            return by_mpi(host, bytes);
        }
    }
    std::byte* at = shared.mapping_.data();
    for (const std::size_t one : all) {
        shared.parts_.emplace_back(at, one);
        at += whole_pages(one);
    }
    return shared;
}

HostMemory HostMemory::by_mpi(const mpi::Comm& host, std::size_t bytes) {
    HostMemory shared;
    shared.by_mpi_ = true;
    const bool plain = host.size() == 1;
    const auto sum = static_cast<std::size_t>(host.sum(static_cast<Index>(bytes)));
    if (!plain) {
        // MPI does not look, or fails on one rank while others wait for it.
        mpi::agree(host, [&] {
            if (room() < sum + mpi_bytes) {
                throw_no_room(sum);
            }
        });
    }
    if (plain) {  // which MPI aligns like malloc
        std::size_t space = bytes + cache_line - 1;
        shared.window_ = mpi::Window::allocate_shared(host, static_cast<Index>(space));
        void* begin = shared.window_.memory(0).data();
        std::align(cache_line, bytes, begin, space);
        shared.parts_.emplace_back(static_cast<std::byte*>(begin), bytes);
        return shared;
    }
    shared.window_ = mpi::Window::allocate_shared(host, static_cast<Index>(bytes));
    for (int rank = 0; rank < host.size(); ++rank) {
        shared.parts_.push_back(shared.window_.memory(rank));
    }
    try {
        mpi::agree(host, [&] {
            if (bytes > 0 && !populate(shared.memory(host.rank()))) {
                throw_no_room(sum);
            }
        });
    } catch (...) {
        shared.close();
        throw;
    }
    return shared;
}

void HostMemory::close() {
    parts_.clear();
    mapping_ = {};
    window_.close();
}

void HostMemory::abandon() noexcept {
    window_.abandon();
}

}  // namespace fluvial::host
