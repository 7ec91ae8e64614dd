// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/host_memory.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::host;

namespace {

std::size_t descriptors() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t found = 0;
    for (std::string line; std::getline(maps, line);) {
        found += line.find("memfd:fluvial-host") != std::string::npos ? 1 : 0;
    }
    return found;
}

}  // namespace

TEST_CASE("what a rank stores the others load, whichever of them keeps the memory") {
    mpi::Comm host = world().split_by_host();
    const std::size_t before = descriptors();
    for (const bool by_mpi : {false, true}) {
        CAPTURE(by_mpi);
        const auto own = static_cast<std::size_t>(host.rank());
        const std::size_t bytes = 5000 * own;  // the first has none
        HostMemory shared =
            by_mpi ? HostMemory::by_mpi(host, bytes) : HostMemory::allocate(host, bytes);
        CHECK(shared.is_mpis() == (by_mpi || host.size() == 1));
        CHECK(mappings() == (shared.is_mpis() ? 0 : 1));
        const std::span<std::byte> mine = shared.memory(host.rank());
        REQUIRE(mine.size() == bytes);
        std::fill(mine.begin(), mine.end(), static_cast<std::byte>(own));
        host.barrier();
        for (int rank = 0; rank < host.size(); ++rank) {
            const std::span<std::byte> theirs = shared.memory(rank);
            REQUIRE(theirs.size() == 5000 * static_cast<std::size_t>(rank));
            CHECK(std::all_of(theirs.begin(), theirs.end(),
                              [&](std::byte b) { return b == static_cast<std::byte>(rank); }));
        }
        host.barrier();
        shared.close();
        CHECK(mappings() == 0);
    }
    CHECK(descriptors() == before);
    host.close();
}

// ThreadSanitizer leaves too few addresses for more memory than any machine has.
#ifdef __SANITIZE_THREAD__
constexpr bool addresses_are_few = true;
#else
constexpr bool addresses_are_few = false;
#endif

TEST_CASE("pages are taken when they are touched" * doctest::skip(addresses_are_few)) {
    mpi::Comm host = world().split_by_host();
    if (host.size() > 1) {
        HostMemory shared = HostMemory::allocate(host, std::size_t{1} << 40);
        const std::span<std::byte> next = shared.memory((host.rank() + 1) % host.size());
        next.front() = next.back() = std::byte{1};
        host.barrier();
        CHECK(shared.memory(host.rank()).back() == std::byte{1});
        host.barrier();
        shared.close();
    }
    host.close();
}

TEST_CASE("no memory at all, and memory that is left behind") {
    mpi::Comm host = world().split_by_host();
    HostMemory none = HostMemory::allocate(host, 0);
    CHECK(none.memory(host.size() - 1).empty());
    none.close();
    if (host.size() > 1) {
        HostMemory left = HostMemory::allocate(host, 100);
        left.abandon();
        left.memory(0).front() = std::byte{1};
    }
    CHECK(mappings() == 0);
    host.close();
}

TEST_CASE("what does not fit is an error on all ranks, where MPI keeps the memory") {
    mpi::Comm host = world().split_by_host();
    if (host.size() > 1) {
        const std::size_t bytes = host.rank() == 0 ? std::size_t{1} << 45 : 0;
        CHECK_THROWS_WITH_AS(HostMemory::by_mpi(host, bytes), doctest::Contains("/dev/shm"),
                             SystemError);
    }
    host.close();
}
