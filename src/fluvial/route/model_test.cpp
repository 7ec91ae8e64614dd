// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/model.hpp"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/route/registry.hpp"
#include "fluvial/route/sinks.hpp"

using namespace fluvial;
using namespace fluvial::route;

namespace {

constexpr double KiB = 1024, MiB = 1024 * KiB;

struct Case {
    TopologyPtr topology;
    std::vector<Flow> flows;
    Plan plan;

    Case(const char* text, std::vector<Flow> of)
        : topology(make_topology(text)), flows(std::move(of)), plan(make_plan(*topology, flows)) {}
    Model model(const Costs& costs) const { return Model(*topology, flows, plan, costs); }
};

}  // namespace

TEST_CASE("nine paths on the torus gain what was measured in simulation") {
    const Case torus("bgq:4x4x4x4x2", {{0, 426, 1}});
    REQUIRE(torus.plan.paths[0].size() == 9);
    const double sizes[] = {128 * KiB, 512 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 128 * MiB};
    const double mpi[] = {1.4, 2.6, 3.9, 5.9, 7.0, 8.4, 8.7};
    const double pami[] = {3.1, 5.4, 6.7, 8.3, 8.8, 8.9, 9.0};
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
        CAPTURE(sizes[i]);
        CHECK(torus.model(mpi_like).with_paths(0, sizes[i], 9).speed_up() ==
              doctest::Approx(mpi[i]).epsilon(0.15));
        CHECK(torus.model(pami_like).with_paths(0, sizes[i], 9).speed_up() ==
              doctest::Approx(pami[i]).epsilon(0.03));
    }
}

TEST_CASE("small messages go direct, larger ones by ever more paths, none slower than direct") {
    const Case torus("bgq:4x4x4x4x2", {{0, 426, 1}});
    for (const Costs& costs : {mpi_like, pami_like}) {
        const Model model = torus.model(costs);
        CHECK(model.best(0, 8 * KiB).direct);
        CHECK(model.best(0, 0).direct);
        std::size_t paths = 1;
        for (double bytes = 1; bytes < 1e10; bytes *= 2) {
            const Prediction found = model.best(0, bytes);
            CAPTURE(bytes);
            CHECK(found.speed_up() >= 1);
            CHECK(found.paths >= paths);
            paths = found.paths;
        }
        CHECK(paths == 9);
    }
    CHECK(torus.model(mpi_like).with_paths(0, KiB, 9).speed_up() < 0.3);
}

TEST_CASE("paths that share a link share its bandwidth") {
    std::vector<Flow> flows;
    for (Node i = 0; i < 16; ++i) {
        flows.push_back({i, 256 + i, 1e8});
    }
    const Case fly("dragonfly:9x8x4", flows);
    REQUIRE(fly.plan.planner == "min-max");
    const Model model = fly.model(mpi_like);
    double slowest = 0, direct = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        slowest = std::max(slowest, model.best(i, 1e8).seconds);
        direct = std::max(direct, model.direct(i, 1e8));
    }
    CHECK(direct == doctest::Approx(fly.plan.direct_load_s).epsilon(0.01));
    CHECK(slowest == doctest::Approx(fly.plan.load_s).epsilon(0.1));
    CHECK(direct / slowest >= 2.8);
}

TEST_CASE("a flow that gains nothing for itself takes its paths where others gain") {
    const TopologyPtr bgq = make_topology("bgq:4x4x4x4x2,io=64,io-bandwidth=4e9");
    std::vector<HostBytes> sources;
    for (Node host = 0; host < 51; ++host) {
        sources.push_back({host, 4'000'000});
    }
    std::vector<Node> sinks(8);
    std::iota(sinks.begin(), sinks.end(), 512);
    const std::vector<Flow> flows = balance_sinks(*bgq, sources, sinks);
    const Plan plan = make_plan(*bgq, flows);
    REQUIRE(plan.speed_up() > 1.1);
    const Model model(*bgq, flows, plan, pami_like);
    std::size_t relied_on = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        CAPTURE(i);
        const Prediction found = model.best(i, flows[i].bytes);
        const bool one_way = plan.paths[i].size() == 1 && plan.paths[i][0].proxies() == 0;
        CHECK(found.direct == (one_way || flows[i].bytes <= direct_bytes));
        CHECK(found.seconds < plan.direct_load_s);
        relied_on += !found.direct && found.speed_up() < Model::gain_min ? 1 : 0;
        CHECK(model.best(i, KiB).direct);
    }
    CHECK(relied_on > 0);
}

TEST_CASE("nothing to move, and names of costs") {
    const Case torus("torus:4x4", {{3, 3, 5}, {0, 5, 0}});
    CHECK(torus.model(mpi_like).best(0, MiB).direct);
    CHECK(torus.model(mpi_like).with_paths(0, MiB, 3).direct);
    CHECK(torus.model(mpi_like).best(1, MiB).speed_up() >= 1);
    CHECK(costs_named("pami").path_s == pami_like.path_s);
    CHECK_THROWS_AS(costs_named("token ring"), UnknownName);
}
