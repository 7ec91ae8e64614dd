// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/helper_ranks.hpp"

#include <numeric>
#include <optional>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

mpi::Comm own_comm() {
    return mpi::Comm::duplicate(MPI_COMM_WORLD);
}

/// From rank 0 to rank 1, on a torus of all ranks.
struct OneFlow {
    explicit OneFlow(std::size_t size)
        : topology(route::make_topology(text("torus:", world_size()))),
          flows{{0, 1, static_cast<double>(size)}},
          plan(route::make_plan(*topology, flows, {}, "disjoint")),
          data(std::make_shared<std::vector<std::byte>>(size)) {
        for (std::size_t i = 0; i < size; ++i) {
            (*data)[i] = static_cast<std::byte>(i * 7 + i / 251);
        }
    }
    Exchanged exchange(HelperRanks& helpers, const ExchangeOptions& how = {},
                       std::size_t window_bytes = 4096) const {
        std::vector<Outgoing> outgoing(1);
        if (world_rank() == 0) {
            outgoing[0] = {*data, data};
        }
        return helpers.exchange([&] {
            return PlannedCall{topology.get(),
                               flows,
                               &plan,
                               outgoing,
                               {.paths = 2, .window_bytes = window_bytes},
                               how};
        });
    }

    route::TopologyPtr topology;
    std::vector<route::Flow> flows;
    route::Plan plan;
    std::shared_ptr<std::vector<std::byte>> data;
};

}  // namespace

TEST_CASE("helpers pass on what the others exchange, as often as these like, until released") {
    HelperRanks helpers(own_comm(), world_rank() > 1);
    CHECK(helpers.helpers().size() == static_cast<std::size_t>(world_size() - 2));
    if (helpers.helps()) {
        CHECK(helpers.serve() == 3);
        CHECK_THROWS_WITH_AS(helpers.serve(), doctest::Contains("released"), InvalidArgument);
        return;
    }
    for (const std::size_t size : {100'000UL, 3UL, 250'001UL}) {
        const OneFlow flow(size);
        const Exchanged found = flow.exchange(helpers, {.checksum = true});
        REQUIRE(found.moved.used[0].size() == 2);
        if (size > 1000) {
            CHECK(found.moved.used[0][1].bytes > 0);  // by a helper
        }
        if (world_rank() == 1) {
            const Arrived& arrived = found.moved.arrived[0];
            REQUIRE(arrived.size == size);
            CHECK(std::equal(flow.data->begin(), flow.data->end(), arrived.bytes.get()));
        }
    }
    helpers.release();
    helpers.release();
}

TEST_CASE("what is wrong on one of the others is said on these, and helpers hear nothing of it") {
    HelperRanks helpers(own_comm(), world_rank() > 1);
    if (helpers.helps()) {
        CHECK_THROWS_WITH_AS(helpers.release(), doctest::Contains("not this rank's: release"),
                             InvalidArgument);
        CHECK(helpers.serve() == 1);
        return;
    }
    const OneFlow flow(50'000);
    CHECK_THROWS_WITH_AS(helpers.exchange([&] {
        return PlannedCall{flow.topology.get(), flow.flows, &flow.plan, std::vector<Outgoing>(1)};
    }),
                         doctest::Contains("data of flow 0 is missing"), InvalidArgument);
    CHECK_THROWS_WITH_AS(helpers.serve(), doctest::Contains("not this rank's: serve"),
                         InvalidArgument);
    flow.exchange(helpers);
    helpers.release();
}

TEST_CASE("one rank at least does not help") {
    CHECK_THROWS_WITH_AS(HelperRanks(own_comm(), true), doctest::Contains("none to exchange data"),
                         InvalidArgument);
}

TEST_CASE("a helper whose exchange does not go on is told so in time") {
    HelperRanks helpers(own_comm(), world_rank() > 1);
    if (helpers.helps()) {
        CHECK_THROWS_AS(helpers.serve(), TimedOut);
    } else {
        // The source stays away as soon as it has to wait: MPI keeps no copy of windows so large,
        // so it waits for those that take them.
        const OneFlow flow(50'000'000);
        ExchangeOptions how{.stall_timeout_s = 0.5};
        if (world_rank() == 0) {
            how.rest = [](std::span<const mpi::Pending>) {
                throw TimedOut(Problem{"this rank stays away", "", "", ""});
            };
        }
        CHECK_THROWS_AS(flow.exchange(helpers, how, std::size_t{1} << 20), TimedOut);
        CHECK_THROWS_WITH_AS(flow.exchange(helpers),
                             doctest::Contains("an earlier exchange failed"), InvalidArgument);
    }
    world().barrier();
}

TEST_CASE("a helper that left without a word is an error on those that exchange") {
    std::optional<HelperRanks> helpers(std::in_place, own_comm(), world_rank() > 1);
    if (helpers->helps()) {
        helpers.reset();
    } else {
        CHECK_THROWS_WITH_AS(OneFlow(50'000).exchange(*helpers),
                             doctest::Contains("another rank of the exchange has given up"),
                             TimedOut);
        CHECK_THROWS_WITH_AS(OneFlow(50'000).exchange(*helpers),
                             doctest::Contains("an earlier exchange failed"), InvalidArgument);
    }
    world().barrier();
}

TEST_CASE("those that exchange and leave without a release are an error on helpers") {
    std::optional<HelperRanks> helpers(std::in_place, own_comm(), world_rank() > 1);
    if (helpers->helps()) {
        CHECK_THROWS_WITH_AS(helpers->serve(),
                             doctest::Contains("another rank of the exchange has given up"),
                             TimedOut);
    } else {
        OneFlow(50'000).exchange(*helpers);
        helpers.reset();
    }
    world().barrier();
}

TEST_CASE("a helper that does not serve is an error in time") {
    HelperRanks helpers(own_comm(), world_rank() > 1);
    if (!helpers.helps()) {
        CHECK_THROWS_AS(OneFlow(50'000).exchange(helpers, {.stall_timeout_s = 0.3}), TimedOut);
    }
    world().barrier();
    if (helpers.helps()) {
        CHECK_THROWS_AS(helpers.serve(), TimedOut);
    }
}
