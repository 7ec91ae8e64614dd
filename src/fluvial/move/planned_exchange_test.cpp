// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/planned_exchange.hpp"

#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

constexpr double long_s = 60;

/// A flow from the first rank to the second, along all paths of a ring, with a checksum.
struct Ring {
    route::TopologyPtr topology =
        route::make_topology(text("torus:", world_size(), ",routing=shortest"));
    std::vector<route::Flow> flows{{0, 1, 1e6}};
    route::Plan plan = route::make_plan(*topology, flows);

    PlannedCall call() const {
        PlannedCall call{topology.get(), flows, &plan, std::vector<Outgoing>(1)};
        if (world_rank() == 0) {
            const auto data = std::make_shared<std::vector<std::byte>>(1'000'000, std::byte{7});
            call.outgoing[0] = {*data, data};
        }
        call.how.stall_timeout_s = long_s;
        call.how.checksum = true;
        return call;
    }
};

}  // namespace

TEST_CASE("a rank that agrees when the others have given up hears of it") {
    if (world_size() == 1) {
        return;
    }
    const Ring ring;
    mpi::Comm kept = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const WatchedTask task(RankWatch::of(kept), long_s, "the test");
    const auto prepare = [&] { return ring.call(); };
    CHECK_THROWS_AS(task.telling([&] {
        if (world_rank() == 0) {
            exchange_over_kept(kept, prepare, task);
        } else {
            agree_on_flows({kept, kept.rank(), kept.size()}, prepare);
            throw TimedOut(Problem{"the test gives up", "nothing", "", ""});
        }
    }),
                    TimedOut);
    // What they have given up keeps nobody from making other communicators.
    mpi::Comm next = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const Exchanged found = exchange(next, prepare);
    CHECK((found.moved.arrived[0].bytes != nullptr) == (world_rank() == 1));
    next.close();
    if (kept.rank() != 0) {
        kept.abandon();
    }
}
