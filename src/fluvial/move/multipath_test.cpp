// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/multipath.hpp"

#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::move;
using route::RankFlow;

namespace {

std::byte byte_of(std::size_t flow, std::size_t place) {
    return static_cast<std::byte>(flow * 101 + place * 7 + place / 251);
}

std::vector<Outgoing> data_for(const std::vector<RankFlow>& flows) {
    std::vector<Outgoing> outgoing;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        auto data = std::make_shared<std::vector<std::byte>>();
        if (flows[i].from == world_rank()) {
            for (std::size_t k = 0; k < flows[i].bytes; ++k) {
                data->push_back(byte_of(i, k));
            }
        }
        outgoing.push_back({*data, data});
    }
    return outgoing;
}

/// Every byte of what has come, and what is said of the paths.
void check_moved(const std::vector<RankFlow>& flows, const Moved& moved) {
    REQUIRE(moved.arrived.size() == flows.size());
    REQUIRE(moved.used.size() == flows.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const bool mine = flows[i].to == world_rank();
        const Arrived& arrived = moved.arrived[i];
        REQUIRE(arrived.size == (mine ? flows[i].bytes : 0));
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < arrived.size; ++k) {
            wrong += arrived.bytes[static_cast<std::ptrdiff_t>(k)] == byte_of(i, k) ? 0 : 1;
        }
        REQUIRE(wrong == 0);
        std::size_t carried = 0;
        for (const PathUse& use : moved.used[i]) {
            carried += use.bytes;
        }
        REQUIRE(carried == (mine || flows[i].from == world_rank() ? flows[i].bytes : 0));
    }
}

Moved check_exchange(const std::vector<RankFlow>& flows, const ExchangeOptions& options = {}) {
    Moved moved = exchange(world(), flows, data_for(flows), options);
    check_moved(flows, moved);
    return moved;
}

/// Direct, and by way of each other rank.
std::vector<std::vector<int>> by_each_other(int from, int to) {
    std::vector<std::vector<int>> paths{{from, to}};
    for (int proxy = 0; proxy < world_size(); ++proxy) {
        if (proxy != from && proxy != to) {
            paths.push_back({from, proxy, to});
        }
    }
    return paths;
}

}  // namespace

TEST_CASE("flows cross through each other's proxies, all of which send and receive themselves") {
    std::vector<RankFlow> flows;
    for (int from = 0; from < world_size(); ++from) {
        for (const int ahead : {1, world_size() - 1}) {
            const int to = (from + ahead) % world_size();
            flows.push_back({from, to, 300001, 4096, by_each_other(from, to)});
        }
    }
    check_exchange(flows);
}

TEST_CASE("one flow alone: every size around those of windows, also none") {
    const int last = world_size() - 1;
    for (const std::size_t window : {std::size_t{1}, std::size_t{64}, std::size_t{1000}}) {
        for (const std::size_t bytes :
             std::initializer_list<std::size_t>{0, 1, 63, 64, 65, 127, 128, 129, 1000, 2001}) {
            check_exchange({{0, last, bytes, window, by_each_other(0, last)}});
        }
    }
}

TEST_CASE("flows without windows are one message, and those to oneself are copied") {
    const int last = world_size() - 1;
    check_exchange({{0, last, 100000, 0, {{0, last}}},
                    {0, last, 0, 0, {{0, last}}},
                    {last, 0, 77, 0, {{last, 0}}},
                    {0, 0, 12345, 0, {}},
                    {last, last, 12345, 512, {{last, last}}}});
    check_exchange({});
}

TEST_CASE("two proxies on a path, one rank on many paths") {
    if (world_size() < 4) {
        return;
    }
    const std::vector<std::vector<int>> paths{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3}, {0, 1, 3}};
    check_exchange({{0, 3, 200000, 3000, paths}, {3, 0, 100, 10, {{3, 2, 1, 0}, {3, 0}}}});
}

TEST_CASE("exchanges one after the other do not take each other's windows") {
    const int last = world_size() - 1;
    for (std::size_t i = 0; i < 50; ++i) {
        check_exchange({{0, last, i * 97, 16 + i, by_each_other(0, last)}});
    }
}

TEST_CASE("any flows by any paths") {
    std::mt19937 random(test_seed(1405));
    const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    const auto ranks = static_cast<std::size_t>(world_size());
    for (int trial = 0; trial < 20; ++trial) {
        std::vector<RankFlow> flows;
        for (std::size_t i = any(3 * ranks); i-- > 0;) {
            const int from = static_cast<int>(any(ranks)), to = static_cast<int>(any(ranks));
            RankFlow flow{from, to, any(50000), 1 + any(9000), {}};
            std::vector<int> others(ranks);
            std::iota(others.begin(), others.end(), 0);
            std::erase_if(others, [&](int rank) { return rank == from || rank == to; });
            for (std::size_t k = 1 + any(4); k-- > 0 && from != to;) {
                std::shuffle(others.begin(), others.end(), random);
                std::vector<int> stops{from};
                stops.insert(stops.end(), others.begin(),
                             others.begin() + static_cast<long>(any(others.size() + 1)));
                stops.push_back(to);
                flow.paths.push_back(stops);
            }
            flows.push_back(flow);
        }
        const Moved moved = check_exchange(flows, {.checksum = any(2) == 0});
        CHECK(!moved.leaves_messages);
    }
}

TEST_CASE("a byte that a proxy changes is found by the checksum, and without one it is not found") {
    const int last = world_size() - 1;
    if (world_size() < 3) {
        return;
    }
    // The first rank that is neither end, in the path of the second flow alone.
    const std::vector<RankFlow> flows{{0, last, 5000, 0, {{0, last}}},
                                      {last, 0, 50000, 1000, {{last, 1, 0}}},
                                      {0, last, 3000, 100, {{0, last}}}};
    int windows = 0;
    ExchangeOptions options{.at_proxy = [&](std::span<std::byte> window) {
        if (++windows == 20) {
            window[window.size() / 2] ^= std::byte{4};
        }
    }};
    const std::vector<Outgoing> outgoing = data_for(flows);
    const Moved moved = exchange(world(), flows, outgoing, options);
    if (world_rank() == 0) {
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < flows[1].bytes; ++k) {
            wrong += moved.arrived[1].bytes[static_cast<std::ptrdiff_t>(k)] != byte_of(1, k);
        }
        CHECK(wrong == 1);
    }
    options.checksum = true;
    windows = 0;
    CHECK_THROWS_WITH_AS(exchange(world(), flows, outgoing, options),
                         doctest::Contains("flow 1 has come with other bytes than were sent"),
                         DamagedMessage);
    options.at_proxy = {};
    check_exchange(flows, options);
    // Ranks that mean different things do not wait for each other.
    options.checksum = world_rank() == 0;
    CHECK_THROWS_WITH_AS(exchange(world(), flows, outgoing, options),
                         doctest::Contains("the checksum"), InvalidArgument);
}

TEST_CASE("what each path has carried is known at both ends") {
    const int last = world_size() - 1;
    const std::vector<RankFlow> flows{{0, last, 100000, 1000, by_each_other(0, last)},
                                      {0, last, 10, 0, {{0, last}}}};
    const Moved moved = check_exchange(flows);
    if (last > 0 && (world_rank() == 0 || world_rank() == last)) {
        std::uint64_t bytes = 0;
        REQUIRE(moved.used[0].size() == flows[0].paths.size());
        for (std::size_t i = 0; i < flows[0].paths.size(); ++i) {
            CHECK(moved.used[0][i].stops == flows[0].paths[i]);
            CHECK(!moved.used[0][i].given_up);
            CHECK(moved.used[0][i].windows >= moved.used[0][i].bytes / 1000);
            bytes += moved.used[0][i].bytes;
        }
        CHECK(bytes == flows[0].bytes);
        CHECK(moved.used[1][0].windows == 1);
    } else if (last > 0) {
        CHECK(moved.used[0].empty());
    }
}

TEST_CASE("a proxy that stands still costs its path, and its windows come once") {
    if (world_size() < 3) {
        return;
    }
    const int last = world_size() - 1;
    for (const int lost_at : {1, 4, 30}) {
        for (const bool alone : {true, false}) {
            mpi::Comm own = mpi::Comm::duplicate(MPI_COMM_WORLD);
            std::vector<std::vector<int>> paths{{0, 1, last}};
            if (!alone) {
                paths = by_each_other(0, last);
            }
            const std::vector<RankFlow> flows{{0, last, 100000, 500, paths}};
            int windows = 0;
            ExchangeOptions options{.reroute_after_s = 0.3, .checksum = true};
            options.at_proxy = [&](std::span<std::byte>) {
                if (world_rank() == 1 && ++windows == lost_at) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(900));
                }
            };
            const Moved moved = exchange(own, flows, data_for(flows), options);
            check_moved(flows, moved);
            const bool concerned = world_rank() <= 1 || world_rank() == last;
            if (windows < lost_at && world_rank() == 1) {
                own.abandon();  // the other paths were faster
                continue;
            }
            if (alone && concerned) {
                CHECK(moved.leaves_messages);
            }
            if (alone && (world_rank() == 0 || world_rank() == last)) {
                REQUIRE(moved.used[0].size() == 2);
                CHECK(moved.used[0][0].given_up);
                CHECK(moved.used[0][0].windows < static_cast<std::uint64_t>(lost_at));
                CHECK(moved.used[0][1].instead);
                CHECK(moved.used[0][1].stops == std::vector<int>{0, last});
            }
            own.abandon();
        }
    }
}

TEST_CASE("a plan for another machine is slow at worst: the data is right") {
    // The ranks of this host, as if they were the first ones of a torus.
    const route::TopologyPtr torus = route::make_topology("torus:4x4");
    std::vector<route::Flow> flows;
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < world_size(); ++rank) {
        flows.push_back({rank, world_size() - 1 - rank, 1e5});
        bytes.push_back(100000);
    }
    const route::Plan plan = route::make_plan(*torus, flows);
    for (const std::size_t paths : {std::size_t{0}, std::size_t{4}}) {
        const auto moved =
            route::rank_flows(*torus, flows, plan, bytes, world_size(), {paths, 1000});
        check_exchange(moved);
    }
    const std::vector<route::Flow> far{{0, 15, 1}};
    const std::vector<std::size_t> one{1};
    CHECK_THROWS_WITH_AS(
        route::rank_flows(*torus, far, route::make_plan(*torus, far), one, world_size()),
        doctest::Contains("a host without ranks"), InvalidArgument);
}

TEST_CASE("what cannot be moved is the same error on all ranks") {
    const int last = world_size() - 1, beyond = world_size();
    const std::vector<Outgoing> none{Outgoing{}};
    const auto refuses = [&](const RankFlow& flow) {
        const std::vector<RankFlow> flows{flow};
        CHECK_THROWS_AS(exchange(world(), flows, none), InvalidArgument);
    };
    refuses({0, last, 5, 0, {{0, last}}});  // the source has none
    refuses({0, beyond, 0, 0, {{0, beyond}}});
    refuses({-1, 0, 0, 0, {{-1, 0}}});
    if (world_size() > 1) {
        refuses({0, last, 0, 0, {}});
        refuses({0, last, 0, 0, {{0, last}, {0, last}}});
        refuses({0, last, 0, 8, {{0, beyond, last}}});
        refuses({0, last, 0, 8, {{last, 0}}});
        refuses({0, last, 0, 8, {{0}}});
        // Each rank means another size.
        const std::vector<RankFlow> differing{
            {last, last, 0, static_cast<std::size_t>(1 + world_rank()), {}}};
        CHECK_THROWS_WITH_AS(exchange(world(), differing, none),
                             doctest::Contains("the flows of an exchange"), InvalidArgument);
    }
    CHECK_THROWS_AS(exchange(world(), {}, none), InvalidArgument);
    const std::vector<std::byte> bytes(world_rank() == 0 ? 5 : 0);
    const std::vector<RankFlow> kept_by_nobody{{0, last, 5, 0, {{0, last}}}};
    const std::vector<Outgoing> ownerless{{bytes, nullptr}};
    CHECK_THROWS_WITH_AS(exchange(world(), kept_by_nobody, ownerless),
                         doctest::Contains("no owner keeps the bytes of flow 0"), InvalidArgument);
    check_exchange({{0, last, 10, 0, {{0, last}}}});
}

TEST_CASE("a rank that does nothing for too long is an error on those that wait for it") {
    if (world_size() != 3) {
        return;
    }
    mpi::Comm own = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const std::vector<RankFlow> flows{{0, 2, 100000, 1000, by_each_other(0, 2)}};
    const auto data = std::make_shared<std::vector<std::byte>>(100000);
    const std::vector<Outgoing> outgoing{{*data, data}};
    // The last rank is busy with something else, which its waits serve, also that of the agreement.
    int busy = world_rank() == 2 ? 3 : 0;
    const progress::Served other(
        [&busy] {
            if (busy > 0) {
                --busy;
                std::this_thread::sleep_for(std::chrono::milliseconds(900));
            }
            return false;
        },
        false);
    CHECK_THROWS_WITH_AS(exchange(own, flows, outgoing, {.stall_timeout_s = 0.5}),
                         doctest::Contains("for 0.5 s"), TimedOut);
    own.abandon();
}
