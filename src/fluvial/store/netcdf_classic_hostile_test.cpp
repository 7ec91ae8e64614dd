// SPDX-License-Identifier: Apache-2.0
// Headers that are damaged in every way we could think of, and those that the fuzzer found.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>

#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/netcdf_classic.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

/// Bytes that this thread has from operator new, and the most there were.
struct Meter {
    std::size_t live = 0, peak = 0;
};
thread_local Meter meter;

}  // namespace

// Not inlined: GCC would take malloc and free for a mismatch with new and delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    meter.live += malloc_usable_size(memory);
    meter.peak = std::max(meter.peak, meter.live);
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    meter.live -= malloc_usable_size(memory);
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}

namespace {

using Bytes = std::vector<std::byte>;
using Type = ClassicType;

constexpr std::size_t bytes_for_any = 256 << 10;  // a window onto the file, messages
constexpr std::size_t bytes_for_each = 64;        // a variable takes more here than in the file

/// Whether it opens, after what it took of memory was found to be in proportion.
bool opens_within_bounds(const Bytes& bytes) {
    const std::size_t before = meter.live;
    meter.peak = meter.live;
    const bool opened = opens(open_netcdf_classic, bytes);
    CHECK(meter.peak - before < bytes_for_any + bytes_for_each * bytes.size());
    return opened;
}

/// Small, with everything that a header can hold.
ClassicFixture small(int version) {
    ClassicFixture made{version, 2};
    made.dimensions = {{"time", 0}, {"y", 2}, {"odd", 3}};
    made.attributes = {{"title", Type::Char, "small", {}}, {"n", Type::Short, "", {1, 2, 3}}};
    made.variables = {{"a", {1, 2}, Type::Float, {{"units", Type::Char, "K", {}}}},
                      {"b", {0, 2}, Type::Byte, {{"_FillValue", Type::Byte, "", {-1}}}},
                      {"c", {0}, Type::Double},
                      {"d", {}, version == 5 ? Type::UInt64 : Type::Int}};
    return made;
}

}  // namespace

TEST_CASE("every truncation") {
    for (const int version : {1, 2, 5}) {
        const Bytes whole = small(version).build();
        CHECK(opens_within_bounds(whole));
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CAPTURE(version);
            CAPTURE(length);
            CHECK_FALSE(opens_within_bounds(Bytes(whole.begin(), whole.begin() + Index(length))));
        }
    }
}

TEST_CASE("every byte changed to others") {
    for (const int version : {1, 2, 5}) {
        const ClassicFixture made = small(version);
        const Bytes whole = made.build();
        for (std::size_t place = 0; place < made.header().size(); ++place) {
            CAPTURE(version);
            CAPTURE(place);
            Bytes bytes = whole;
            for (int bit = 0; bit < 8; ++bit) {
                bytes[place] = whole[place] ^ static_cast<std::byte>(1 << bit);
                opens_within_bounds(bytes);
            }
            for (const int value : {0x00, 0x7f, 0x80, 0xff}) {
                bytes[place] = static_cast<std::byte>(value);
                opens_within_bounds(bytes);
            }
        }
    }
}

TEST_CASE("every four and every eight bytes replaced by numbers at the limits") {
    for (const int version : {1, 2, 5}) {
        const ClassicFixture made = small(version);
        const Bytes whole = made.build();
        for (std::size_t place = 4; place < made.header().size(); place += 4) {
            for (const std::uint64_t number :
                 {std::uint64_t{0}, std::uint64_t{0x7fffffff7fffffff}, ~std::uint64_t{0},
                  std::uint64_t{1} << 63, std::uint64_t{1} << 62, std::uint64_t{0xffffffff},
                  std::uint64_t{0x80000000}, std::uint64_t{0x7fffffff}}) {
                for (const std::size_t width : {4U, 8U}) {
                    CAPTURE(version);
                    CAPTURE(place);
                    CAPTURE(number);
                    Bytes bytes = whole;
                    for (std::size_t i = 0; i < width && place + i < bytes.size(); ++i) {
                        bytes[place + i] = static_cast<std::byte>(number >> 8 * (width - 1 - i));
                    }
                    opens_within_bounds(bytes);
                }
            }
        }
    }
}

TEST_CASE("a file of holes is no reason to take memory for it") {
    ClassicFixture made{5, 0};
    made.attributes = {{"huge", Type::Double, "", {}}};
    Bytes bytes = made.build();
    // magic, records, list, name, type, then the number of values
    const std::size_t place = 4 + 8 + (4 + 8) + (4 + 8) + (8 + 4) + 4;
    bytes[place + 2] = std::byte{1};  // 2^40
    const MemoryFile file(bytes);
    const int descriptor = ::open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(::ftruncate(descriptor, std::int64_t{1} << 45) == 0);
    ::close(descriptor);
    meter.peak = meter.live;
    const std::size_t before = meter.live;
    CHECK_THROWS_WITH_AS(open_netcdf_classic(file.path()),
                         doctest::Contains("longer than any header"), DamagedFile);
    CHECK(meter.peak - before < bytes_for_any);
}

TEST_CASE("the corpus: valid_ files open, hostile_ ones do not, all others may") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FLUVIAL_CORPUS)) {
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string content{std::istreambuf_iterator<char>(in), {}};
        const auto view = std::as_bytes(std::span(content));
        const bool opened = opens_within_bounds(Bytes(view.begin(), view.end()));
        CHECK_FALSE((name.starts_with("valid_") && !opened));
        CHECK_FALSE((name.starts_with("hostile_") && opened));
        ++files;
    }
    CHECK(files >= 20);
}
