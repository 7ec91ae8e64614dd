// SPDX-License-Identifier: Apache-2.0
// A child by fork() of a program that has a pool.
#include <cstring>
#include <functional>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

TEST_CASE("a child neither asks for tasks nor waits for them, and ends no pool") {
    Pool pool(mpi::Comm::duplicate(world().handle()), common_functions(), {});
    if (pool.leads()) {
        const Future waits = pool.submit("sleep", {bytes_of<std::int64_t>(100)});
        const pid_t child = ::fork();
        if (child == 0) {
            int refused = 0;
            const std::function<void()> calls[] = {[&] { pool.submit("add up", {}); },
                                                   [&] { pool.submit_together({}); },
                                                   [&] { waits.get(); },
                                                   [&] { waits.cancel(); },
                                                   [&] { pool.cancel(waits.state()); },
                                                   [&] { pool.wait_for_some(1); }};
            for (const auto& call : calls) {
                try {
                    call();
                } catch (const InvalidArgument& error) {
                    refused += std::strstr(error.what(), "belongs to another process") != nullptr;
                }
            }
            pool.cancel_and_close();
            ::_exit(refused);
        }
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 6);
        CHECK_NOTHROW(waits.get());
    }
    pool.close();
}
