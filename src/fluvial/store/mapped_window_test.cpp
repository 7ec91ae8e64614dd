// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/mapped_window.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

constexpr std::uint64_t kib = 1024, window = 256 * kib, length = 1024 * kib + 100;

std::byte expected(std::uint64_t offset) {
    return static_cast<std::byte>(offset * 7 + offset / 251);
}

/// Known bytes, just written and so in memory; deleted with the object.
class Known {
  public:
    Known() : path_(std::filesystem::temp_directory_path() / text("fluvial_map_", ::getpid())) {
        std::vector<std::byte> bytes(length);
        for (std::uint64_t i = 0; i < length; ++i) {
            bytes[i] = expected(i);
        }
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(length));
    }
    ~Known() { std::filesystem::remove(path_); }
    std::string path() const { return path_; }
    void cut(std::uint64_t bytes) const { std::filesystem::resize_file(path_, bytes); }

  private:
    std::filesystem::path path_;
};

/// What is known of windows onto `file` holds only where the system says what it has in memory;
/// a message when it does not.
bool shows(const InputFile& file) {
    const bool known = file.in_memory(0);
    if (!known) {
        MESSAGE("not run: this system does not say what it has in memory of this file");
    }
    return known;
}

bool holds(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (memory[i] != expected(offset + i)) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("a window shows the bytes of the file, wherever it is asked") {
    const Known known;
    const InputFile file(known.path());
    MappedWindow looking(window);
    if (!shows(file)) {
        CHECK(looking.map(file, 0, 1) == nullptr);
        return;
    }
    struct Part {
        std::uint64_t offset, bytes;
    };
    for (const Part& part : std::initializer_list<Part>{{0, 1},
                                                        {5, 100},
                                                        {window - 3, 6},
                                                        {length - 1, 1},
                                                        {3 * kib + 1, 2 * window},
                                                        {length - window, window},
                                                        {0, length}}) {
        const std::uint64_t offset = part.offset, bytes = part.bytes;
        CAPTURE(offset);
        const std::byte* const memory = looking.map(file, offset, bytes);
        REQUIRE(memory != nullptr);
        CHECK(holds(memory, offset, bytes));
    }
    CHECK(!looking.broken());
}

TEST_CASE("what is behind the end is not shown") {
    const Known known;
    const InputFile file(known.path());
    shows(file);
    MappedWindow looking(window);
    CHECK(looking.map(file, length - 10, 11) == nullptr);
    CHECK(looking.map(file, length + 1, 1) == nullptr);
    CHECK(looking.map(file, ~std::uint64_t{0}, 1) == nullptr);
    known.cut(100);  // after it was opened
    CHECK(looking.map(file, 50, 100) == nullptr);
}

TEST_CASE("writing into a window does not change the file") {
    const Known known;
    const InputFile file(known.path());
    MappedWindow looking(window);
    if (!shows(file)) {
        return;
    }
    const std::byte* const memory = looking.map(file, 0, kib);
    REQUIRE(memory != nullptr);
    std::memset(const_cast<std::byte*>(memory), 0, kib);
    std::vector<std::byte> bytes(kib);
    file.read(0, bytes);
    CHECK(holds(bytes.data(), 0, kib));
}

TEST_CASE("a file that is cut short under a window reads as zeros, and the window says so") {
    const Known known;
    const InputFile file(known.path());
    MappedWindow looking(window), other(window);
    if (!shows(file)) {
        return;
    }
    const std::byte* const memory = looking.map(file, 0, window);
    const std::byte* const there = other.map(file, 0, kib);
    REQUIRE(memory != nullptr);
    REQUIRE(there != nullptr);
    known.cut(16 * kib);
    CHECK(holds(memory, 0, 16 * kib));
    CHECK(!looking.broken());
    CHECK(memory[window - 1] == std::byte{0});
    CHECK(memory[32 * kib] == std::byte{0});
    CHECK(looking.broken());
    CHECK(holds(there, 0, kib));
    CHECK(!other.broken());
}

TEST_CASE("too many windows: those that come too late show nothing") {
    const Known known;
    const InputFile file(known.path());
    if (!shows(file)) {
        return;
    }
    std::vector<std::unique_ptr<MappedWindow>> windows;
    int shown = 0;
    for (int i = 0; i < 600; ++i) {
        windows.push_back(std::make_unique<MappedWindow>(window));
        shown += windows.back()->map(file, 0, kib) != nullptr;
    }
    CHECK(shown > 0);
    CHECK(shown <= 512);
    windows.clear();
    MappedWindow after(window);
    CHECK(after.map(file, 0, kib) != nullptr);
}
