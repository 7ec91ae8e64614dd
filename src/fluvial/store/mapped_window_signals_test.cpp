// SPDX-License-Identifier: Apache-2.0
// Bus errors that are not of our windows. Each trial is a child of a process that has had no window
// yet, and so no handler.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/mapped_window.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

constexpr std::uint64_t length = 64 * 1024;
constexpr int handled = 7, not_shown = 9;

/// Just written and so in memory; deleted with the object.
class Scratch {
  public:
    Scratch() : path_(std::filesystem::temp_directory_path() / text("fluvial_bus_", ::getpid())) {
        std::ofstream(path_, std::ios::binary) << std::string(length, 'x');
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::filesystem::remove(path_); }
    std::string path() const { return path_; }

  private:
    std::filesystem::path path_;
};

bool shows() {
    const Scratch scratch;
    const bool known = InputFile(scratch.path()).in_memory(0);
    if (!known) {
        MESSAGE("not run: this system does not say what it has in memory of a file");
    }
    return known;
}

/// How a child ends that has a handler of its own, looks at the file in place, and then touches a
/// page of a mapping of its own that has no file behind it.
int status_of_child(void (*handler)(int)) {
    const Scratch scratch;
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGBUS, handler);
        const InputFile file(scratch.path());
        MappedWindow looking(length);
        if (looking.map(file, 0, length) == nullptr) {
            ::_exit(not_shown);
        }
        auto* const memory = static_cast<volatile char*>(
            ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.descriptor(), 0));
        std::filesystem::resize_file(scratch.path(), 0);
        static_cast<void>(memory[0]);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

}  // namespace

TEST_CASE("a bus error elsewhere ends the process, as without windows") {
    if (shows()) {
        const int ended = status_of_child(SIG_DFL);
        REQUIRE(WIFSIGNALED(ended));
        CHECK(WTERMSIG(ended) == SIGBUS);
    }
}

TEST_CASE("a bus error elsewhere goes to the handler that was there before") {
    if (shows()) {
        const int ended = status_of_child([](int) { ::_exit(handled); });
        REQUIRE(WIFEXITED(ended));
        CHECK(WEXITSTATUS(ended) == handled);
    }
}

TEST_CASE("a window disturbs no handler where there is none, or ours") {
    if (!shows()) {
        return;
    }
    const Scratch scratch;
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGBUS, SIG_DFL);  // sanitizers have one
        const bool none = MappedWindow::disturbs_no_handler();
        std::signal(SIGBUS, [](int) { ::_exit(handled); });
        const bool other = MappedWindow::disturbs_no_handler();
        std::signal(SIGBUS, SIG_DFL);
        const InputFile file(scratch.path());
        MappedWindow looking(length);
        const bool shown = looking.map(file, 0, length) != nullptr;
        const bool ours = MappedWindow::disturbs_no_handler();
        ::_exit(none && !other && shown && ours ? 0 : not_shown);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a handler that is put over ours stays, and nothing is shown in place any more") {
    if (!shows()) {
        return;
    }
    const Scratch scratch;
    const pid_t child = ::fork();
    if (child == 0) {
        const InputFile file(scratch.path());
        MappedWindow looking(length), later(length);
        const bool before = looking.map(file, 0, length) != nullptr;
        std::signal(SIGBUS, [](int) { ::_exit(handled); });
        ::_exit(before && later.map(file, 0, length) == nullptr ? 0 : not_shown);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
