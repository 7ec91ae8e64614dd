// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/planned_exchange.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/move/sparse_write.hpp"
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
    bool arrives_over(const mpi::Comm& comm, double stall_timeout_s = long_s) const {
        const PlannedCall all = call();
        const ExchangeOptions how{.stall_timeout_s = stall_timeout_s, .checksum = true};
        const Exchanged found = exchange(comm, *topology, flows, plan, all.outgoing, {}, how);
        return (found.moved.arrived[0].bytes != nullptr) == (world_rank() == 1);
    }
};

/// For some seconds, from now on.
void stop_the_last() {
    if (world_rank() == world_size() - 1) {
        const std::string stop =
            text("(kill -STOP ", getpid(), "; sleep 5; kill -CONT ", getpid(), ") &");
        REQUIRE(std::system(stop.c_str()) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
}

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
    CHECK(ring.arrives_over(next));
    next.close();
    if (kept.rank() != 0) {
        kept.abandon();
    }
}

TEST_CASE("a rank that is stopped before anything moves is an error on all, of an exchange") {
    if (world_size() == 1) {
        return;
    }
    const Ring ring;
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    CHECK(ring.arrives_over(comm));
    stop_the_last();
    CHECK_THROWS_AS(ring.arrives_over(comm, 2), PeerStalled);
    comm.abandon();
}

TEST_CASE("and of a sparse write") {
    if (world_size() == 1) {
        return;
    }
    const std::string path = text("/tmp/fluvial_sparse_write_", getppid(), ".bin");
    const std::vector<std::byte> bytes(10, std::byte{3});
    const std::vector<FilePart> parts{{static_cast<std::uint64_t>(10 * world_rank()), bytes}};
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    CHECK(sparse_write(comm, path, parts).bytes == bytes.size() * comm.size());
    stop_the_last();
    CHECK_THROWS_AS(sparse_write(comm, path, parts, {.stall_timeout_s = 2}), PeerStalled);
    comm.abandon();
    std::remove(path.c_str());
}
