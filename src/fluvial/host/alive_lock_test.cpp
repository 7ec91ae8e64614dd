// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/alive_lock.hpp"

#include <csignal>
#include <optional>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/host/child_process_fixture.hpp"

using namespace fluvial;
using host::AliveLock;
using host::kill_and_wait;
using host::MemoryFile;

namespace {

/// A child that runs `work`, says that it has, and then sleeps until it is killed.
template <class Work>
pid_t child_that(Work work) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        work();
        if (::write(ends[1], "!", 1) != 1) {
            ::_exit(1);
        }
        while (true) {
            ::pause();
        }
    }
    char byte = 0;
    REQUIRE(::read(ends[0], &byte, 1) == 1);
    ::close(ends[0]);
    ::close(ends[1]);
    return child;
}

}  // namespace

TEST_CASE("a byte is held from construction to destruction, and its neighbours are not") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    CHECK_FALSE(AliveLock::held(file, 3));
    {
        const AliveLock lock(file, 3);
        CHECK(AliveLock::held(file, 3));
        CHECK_FALSE(AliveLock::held(file, 2));
        CHECK_FALSE(AliveLock::held(file, 4));
        CHECK_THROWS_AS(AliveLock(file, 3), SystemError);
        CHECK(AliveLock::held(file, 3));
    }
    CHECK_FALSE(AliveLock::held(file, 3));
}

TEST_CASE("a byte beyond the end of the file can be held") {
    const MemoryFile file = MemoryFile::create("alive", 64);
    const AliveLock lock(file, 100000);
    CHECK(AliveLock::held(file, 100000));
}

TEST_CASE("emptying a lock gives it up") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    AliveLock lock(file, 0);
    lock = {};
    CHECK_FALSE(AliveLock::held(file, 0));
    CHECK_NOTHROW(AliveLock(file, 0));
}

TEST_CASE("the lock goes with its process when that is killed") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    const pid_t child = child_that([&] { new AliveLock(file, 7); });
    CHECK(AliveLock::held(file, 7));
    kill_and_wait(child);
    CHECK_FALSE(AliveLock::held(file, 7));
    CHECK_NOTHROW(AliveLock(file, 7));
}

TEST_CASE("a stopped process is alive") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    const pid_t child = child_that([&] { new AliveLock(file, 7); });
    ::kill(child, SIGSTOP);
    CHECK(AliveLock::held(file, 7));
    kill_and_wait(child);
}

TEST_CASE("a child that was forked does not keep the lock") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    std::optional<AliveLock> lock(std::in_place, file, 1);
    const pid_t child = child_that([] {});
    CHECK(AliveLock::held(file, 1));
    lock.reset();
    CHECK_FALSE(AliveLock::held(file, 1));
    kill_and_wait(child);
}

TEST_CASE("a child that gives the lock up leaves its parent's alone, and may have its own") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    std::optional<AliveLock> lock(std::in_place, file, 1);
    const pid_t child = child_that([&] {
        lock.reset();
        lock.emplace(file, 2);
    });
    CHECK(AliveLock::held(file, 1));
    CHECK(AliveLock::held(file, 2));
    kill_and_wait(child);
    CHECK(AliveLock::held(file, 1));
    CHECK_FALSE(AliveLock::held(file, 2));
}

TEST_CASE("a child that outlives its killed parent does not keep the lock") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    int grandchild[2];
    REQUIRE(::pipe(grandchild) == 0);
    const pid_t child = child_that([&] {
        new AliveLock(file, 7);
        const pid_t pid = ::fork();
        if (pid == 0) {
            while (true) {
                ::pause();
            }
        }
        if (::write(grandchild[1], &pid, sizeof pid) != sizeof pid) {
            ::_exit(1);
        }
    });
    pid_t left = 0;
    REQUIRE(::read(grandchild[0], &left, sizeof left) == sizeof left);
    CHECK(AliveLock::held(file, 7));
    kill_and_wait(child);
    CHECK(::kill(left, 0) == 0);
    // The grandchild gives up its copy as soon as it first runs.
    const Deadline deadline(20);
    while (AliveLock::held(file, 7) && !deadline.passed()) {
        ::usleep(1000);
    }
    CHECK_FALSE(AliveLock::held(file, 7));
    ::kill(left, SIGKILL);
    ::close(grandchild[0]);
    ::close(grandchild[1]);
}

TEST_CASE("a child asks about its parent through the description that they share") {
    const MemoryFile file = MemoryFile::create("alive", 4096);
    const AliveLock lock(file, 1);
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(AliveLock::held(file, 1) ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}
