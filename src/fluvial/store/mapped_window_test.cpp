// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/mapped_window.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

bool holds(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
        if (memory[i] != expected(offset + i)) {
            return false;
        }
    }
    return true;
}

/// How a child ends that does this.
template <class F>
int status_of_child(F&& f) {
    const pid_t child = ::fork();
    if (child == 0) {
        f();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

/// Touches a page of a mapping of its own that has no file behind it.
void touch_nothing(const Known& known) {
    const InputFile file(known.path());
    auto* const memory = static_cast<volatile char*>(
        ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.descriptor(), 0));
    known.cut(0);
    static_cast<void>(memory[0]);
}

}  // namespace

TEST_CASE("a window shows the bytes of the file, wherever it is asked") {
    const Known known;
    const InputFile file(known.path());
    if (!file.in_memory(0)) {
        MESSAGE("this file system does not say what it has in memory: nothing is shown in place");
        MappedWindow looking(window);
        CHECK(looking.map(file, 0, 1) == nullptr);
        return;
    }
    MappedWindow looking(window);
    for (const auto& [offset, bytes] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1},
                                                              {5, 100},
                                                              {window - 3, 6},
                                                              {length - 1, 1},
                                                              {3 * kib + 1, 2 * window},
                                                              {length - window, window},
                                                              {0, length}}) {
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
    if (const std::byte* const memory = looking.map(file, 0, kib)) {
        std::memset(const_cast<std::byte*>(memory), 0, kib);
        std::vector<std::byte> bytes(kib);
        file.read(0, bytes);
        CHECK(holds(bytes.data(), 0, kib));
    }
}

TEST_CASE("a file that is cut short under a window reads as zeros, and the window says so") {
    const Known known;
    const InputFile file(known.path());
    MappedWindow looking(window), other(window);
    const std::byte* const memory = looking.map(file, 0, window);
    const std::byte* const there = other.map(file, 0, kib);
    if (memory == nullptr) {
        return;
    }
    known.cut(16 * kib);
    CHECK(holds(memory, 0, 16 * kib));
    CHECK(!looking.broken());
    CHECK(memory[window - 1] == std::byte{0});
    CHECK(memory[32 * kib] == std::byte{0});
    CHECK(looking.broken());
    CHECK(holds(there, 0, kib));
    CHECK(!other.broken());
}

TEST_CASE("bus errors of others stay theirs") {
    const Known known;
    const InputFile file(known.path());
    const auto look = [&] {
        MappedWindow looking(window);
        if (looking.map(file, 0, kib) == nullptr) {
            ::raise(SIGBUS);  // nothing to show here: the outcome is the same
        }
    };
    const int ended = status_of_child([&] {
        std::signal(SIGBUS, SIG_DFL);
        look();
        touch_nothing(known);
    });
    CHECK(WIFSIGNALED(ended));
    CHECK(WTERMSIG(ended) == SIGBUS);
    const Known again;
    const int handled = status_of_child([&] {
        std::signal(SIGBUS, [](int) { ::_exit(7); });
        const InputFile whole(again.path());
        MappedWindow looking(window);
        if (looking.map(whole, 0, kib) == nullptr) {
            ::_exit(7);
        }
        touch_nothing(again);
    });
    CHECK(WIFEXITED(handled));
    CHECK(WEXITSTATUS(handled) == 7);
}

TEST_CASE("too many windows: those that come too late show nothing") {
    const Known known;
    const InputFile file(known.path());
    std::vector<std::unique_ptr<MappedWindow>> windows;
    int shown = 0;
    for (int i = 0; i < 600; ++i) {
        windows.push_back(std::make_unique<MappedWindow>(window));
        shown += windows.back()->map(file, 0, kib) != nullptr;
    }
    CHECK(shown <= 512);
    windows.clear();
    MappedWindow after(window);
    CHECK((after.map(file, 0, kib) != nullptr) == (shown > 0));
}
