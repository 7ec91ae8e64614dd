// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/doorbell.hpp"

#include <csignal>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/host/child_process_fixture.hpp"
#include "fluvial/host/shared_memory_fixture.hpp"

using namespace fluvial;
using host::Bell;
using host::spawn;
using host::status_of;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

using SharedBell = host::SharedMemory<host::Doorbell>;

}  // namespace

TEST_CASE("a ring wakes sleepers in other processes at once") {
    const SharedBell shared;
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        children.push_back(spawn([&] {
            const auto ticket = shared->ticket();
            ++shared.phase();
            const std::int64_t begin_ns = now_ns();
            while (shared->ticket() == ticket && now_ns() - begin_ns < 20'000'000'000) {
                shared->wait(ticket, 20'000'000'000, 0);
            }
            ::_exit(now_ns() - begin_ns < 10'000'000'000 ? 0 : 1);
        }));
    }
    shared.wait_for_phase(3);
    ::usleep(20'000);
    shared->ring();
    for (const pid_t child : children) {
        CHECK(status_of(child) == 0);
    }
}

TEST_CASE("a ring between ticket and wait is not missed") {
    const SharedBell shared;
    for (const std::int64_t spin_ns : {0, 50'000}) {
        const auto ticket = shared->ticket();
        shared->ring();
        const std::int64_t begin_ns = now_ns();
        shared->wait(ticket, 10'000'000'000, spin_ns);
        CHECK(now_ns() - begin_ns < 9'000'000'000);
    }
}

TEST_CASE("a wait without a ring ends at its time") {
    const SharedBell shared;
    const Deadline enough(0.05);
    const std::int64_t begin_ns = now_ns();
    while (!enough.passed()) {
        shared->wait(shared->ticket(), enough.left_ns(), 1'000'000);
    }
    const double waited_s = static_cast<double>(now_ns() - begin_ns) * 1e-9;
    CHECK(waited_s >= 0.05);
    CHECK(waited_s < 10);
    shared->wait(shared->ticket(), 0, 0);  // no time: returns
}

TEST_CASE("a sleeper that is killed does no harm to the bell") {
    const SharedBell shared;
    const pid_t child = spawn([&] {
        ++shared.phase();
        while (true) {
            shared->wait(shared->ticket(), 10'000'000'000, 0);
        }
    });
    shared.wait_for_phase(1);
    ::usleep(20'000);
    ::kill(child, SIGKILL);
    CHECK(WTERMSIG(status_of(child)) == SIGKILL);
    const auto ticket = shared->ticket();
    shared->ring();
    CHECK(shared->ticket() != ticket);
    shared->wait(ticket, 10'000'000'000, 0);
}

TEST_CASE("a sleep ends after the time that was asked for") {
    Bell bell;
    bell.arm();
    const std::int64_t begin = now_ns();
    bell.sleep(20'000'000);
    CHECK(now_ns() - begin >= 19'000'000);
}

TEST_CASE("a ring between arming and sleeping wakes, one before it does not") {
    Bell bell;
    bell.arm();
    bell.ring();
    const std::int64_t begin = now_ns();
    bell.sleep(60 * second_ns);
    CHECK(now_ns() - begin < 30 * second_ns);
    bell.ring();
    bell.arm();
    const std::int64_t again = now_ns();
    bell.sleep(20'000'000);
    CHECK(now_ns() - again >= 19'000'000);
}
