// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/memory_file.hpp"

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/page.hpp"

using namespace fluvial;
using host::Access;
using host::Descriptor;
using host::MemoryFile;

namespace {

bool mapped_here(const std::string& label) {
    std::ifstream in("/proc/self/maps");
    const std::string maps(std::istreambuf_iterator<char>(in), {});
    return maps.find("/memfd:fluvial-" + label) != std::string::npos;
}

std::size_t resident_bytes(const MemoryFile& file) {
    struct stat status{};
    REQUIRE(::fstat(file.descriptor(), &status) == 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
}

}  // namespace

TEST_CASE("a memory file cannot change its size") {
    const MemoryFile file = MemoryFile::create("sealed", 1 << 20);
    CHECK(file.size() == 1 << 20);
    CHECK(::ftruncate(file.descriptor(), 4096) != 0);
    CHECK(::ftruncate(file.descriptor(), 1 << 21) != 0);
    const int seals = ::fcntl(file.descriptor(), F_GET_SEALS);
    CHECK((seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) ==
          (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
}

TEST_CASE("memory that a peer could shrink is not adopted") {
    Descriptor unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(unsealed.get(), 4096) == 0);
    CHECK_THROWS_WITH_AS(MemoryFile::adopt(std::move(unsealed)), doctest::Contains("could shrink"),
                         Error);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    Descriptor other(ends[1]);
    CHECK_THROWS_AS(MemoryFile::adopt(Descriptor(ends[0])), Error);
}

TEST_CASE("what one mapping writes another reads, also after the first and the file are gone") {
    std::optional<MemoryFile> file = MemoryFile::create("shared", 8192);
    host::Mapping reading;
    {
        const host::Mapping writing = file->map(Access::ReadWrite);
        reading = file->map(Access::ReadOnly);
        std::memcpy(writing.data() + 5000, "fluvial", 8);
    }
    file.reset();
    CHECK(std::strcmp(reinterpret_cast<const char*>(reading.data()) + 5000, "fluvial") == 0);
    CHECK(mapped_here("shared"));
    reading = {};
    CHECK_FALSE(mapped_here("shared"));
}

TEST_CASE("a write through a read-only mapping ends its process") {
    const MemoryFile file = MemoryFile::create("guarded", 4096);
    const host::Mapping reading = file.map(Access::ReadOnly);
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGSEGV, SIG_DFL);
        const_cast<volatile std::byte*>(reading.data())[0] = std::byte{1};
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("memory is taken when it is touched, and given back by pages") {
    const std::size_t mib = 1 << 20;
    const MemoryFile file = MemoryFile::create("pages", 64 * mib);
    const host::Mapping mapping = file.map(Access::ReadWrite);
    CHECK(resident_bytes(file) == 0);
    REQUIRE(mapping.populate(0, 8 * mib));
    std::memset(mapping.data(), 1, 8 * mib);
    CHECK(resident_bytes(file) >= 8 * mib);
    CHECK(resident_bytes(file) <= 10 * mib);
    file.release(100, 4 * mib);  // its first and last page are only partly inside: they stay
    CHECK(resident_bytes(file) <= 6 * mib + 2 * page_bytes());
    CHECK(mapping.data()[99] == std::byte{1});
    CHECK(mapping.data()[page_bytes() - 1] == std::byte{1});
    CHECK(mapping.data()[page_bytes()] == std::byte{0});
    CHECK(mapping.data()[4 * mib] == std::byte{1});
    CHECK(mapping.data()[4 * mib + 99] == std::byte{1});
}

TEST_CASE("a size that the system refuses is an error with the number") {
    CHECK_THROWS_WITH_AS(MemoryFile::create("huge", std::size_t{1} << 63),
                         doctest::Contains("9223372036854775808"), SystemError);
}
