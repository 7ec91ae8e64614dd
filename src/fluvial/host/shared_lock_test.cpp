// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/shared_lock.hpp"

#include <csignal>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/host/child_process_fixture.hpp"
#include "fluvial/host/shared_memory_fixture.hpp"

using namespace fluvial;
using host::spawn;
using host::status_of;

namespace {

struct Counter {
    Counter() { mutex.initialise(); }
    host::SharedMutex mutex;
    long counter = 0;
};
using SharedCounter = host::SharedMemory<Counter>;

}  // namespace

TEST_CASE("processes that increment under the mutex lose nothing") {
    const SharedCounter shared;
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(spawn([&] {
            for (int n = 0; n < 20000; ++n) {
                shared->mutex.lock();
                shared->counter = shared->counter + 1;
                shared->mutex.unlock();
            }
        }));
    }
    for (const pid_t child : children) {
        CHECK(status_of(child) == 0);
    }
    CHECK(shared->counter == 60000);
}

TEST_CASE("a process killed inside its critical section does not keep the others out") {
    const SharedCounter shared;
    for (int round = 0; round < 3; ++round) {
        const pid_t child = spawn([&] {
            shared->mutex.lock();
            ++shared->counter;
            ::raise(SIGKILL);
        });
        CHECK(WTERMSIG(status_of(child)) == SIGKILL);
        const std::int64_t begin_ns = now_ns();
        shared->mutex.lock();
        CHECK(now_ns() - begin_ns < 5'000'000'000);
        CHECK(shared->counter == round + 1);
        shared->mutex.unlock();
    }
    shared->mutex.lock();  // and it goes on being a mutex
    const pid_t other = spawn([&] {
        shared->mutex.lock();
        shared->counter = -1;
        shared->mutex.unlock();
    });
    ::usleep(30'000);
    CHECK(shared->counter == 3);
    shared->mutex.unlock();
    CHECK(status_of(other) == 0);
    CHECK(shared->counter == -1);
}

TEST_CASE("a waiting owner's death wakes the one that waits already") {
    const SharedCounter shared;
    const pid_t child = spawn([&] {
        shared->mutex.lock();
        shared.phase() = 1;
        while (true) {
            ::pause();
        }
    });
    shared.wait_for_phase(1);
    const pid_t killer = spawn([&] {
        ::usleep(50'000);
        ::kill(child, SIGKILL);
    });
    shared->mutex.lock();
    shared->mutex.unlock();
    status_of(killer);
    CHECK(WTERMSIG(status_of(child)) == SIGKILL);
}

TEST_CASE("an owner that is stopped inside its critical section is an error in time, not a hang") {
    const SharedCounter shared;
    const pid_t child = spawn([&] {
        shared->mutex.lock();
        shared.phase() = 1;
        ::raise(SIGSTOP);
        shared->mutex.unlock();
    });
    shared.wait_for_phase(1);
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_WITH_AS(shared->mutex.lock(0.2), doctest::Contains(text("thread ", child).c_str()),
                         PeerStalled);
    const double waited_s = static_cast<double>(now_ns() - begin_ns) * 1e-9;
    CHECK(waited_s >= 0.2);
    CHECK(waited_s < 10);
    int status = 0;
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    REQUIRE(WIFSTOPPED(status));
    ::kill(child, SIGCONT);
    CHECK_NOTHROW(shared->mutex.lock(10));
    shared->mutex.unlock();
    CHECK(status_of(child) == 0);
}
