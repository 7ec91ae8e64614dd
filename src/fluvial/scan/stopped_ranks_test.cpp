// SPDX-License-Identifier: Apache-2.0
// A rank that is stopped before it comes to a reduction: the others are told which one it is.
#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/host/child_process_fixture.hpp"
#include "fluvial/host/process.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/scan/joined_fixture.hpp"
#include "fluvial/scan/variable.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

constexpr double stall_timeout_s = 2, stopped_s = 6;

/// Of this process, until another one lets it go on.
void stop_for_a_while() {
    const host::Process self = host::own_process();
    const pid_t child = host::spawn([&] {
        while (!host::is_stopped(self)) {
            ::usleep(1000);
        }
        ::usleep(static_cast<useconds_t>(1e6 * stopped_s));
        ::kill(static_cast<pid_t>(self.id), SIGCONT);
        ::_exit(0);
    });
    ::raise(SIGSTOP);
    REQUIRE(host::status_of(child) == 0);
}

}  // namespace

TEST_CASE("a reduction says which rank is stopped, and does not wait for it") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const OwnFolder folder;
    const Variable t = Variable::open(write({climate(3)}), "t");
    Options options;
    options.stall_timeout_s = stall_timeout_s;
    CHECK(t.reduce({"count"}, {}, comm, options).results.size() == 1);
    if (comm.rank() == comm.size() - 1) {
        stop_for_a_while();
        CHECK_THROWS_AS(t.reduce({"count"}, {}, comm, options), Error);
    } else {
        const std::string stopped = text("rank ", comm.size() - 1);
        const std::int64_t begin_ns = now_ns();
        CHECK_THROWS_WITH_AS(t.reduce({"count"}, {}, comm, options),
                             doctest::Contains(stopped.c_str()), PeerStalled);
        CHECK(1e-9 * static_cast<double>(now_ns() - begin_ns) < stopped_s);
    }
    comm.abandon();
}
