// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/redistribution.hpp"

#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/route/registry.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

mpi::Comm own_comm() {
    return mpi::Comm::duplicate(MPI_COMM_WORLD);
}

/// An array for a box, every second element of memory along the last axis where it is `strided`.
struct BoxArray {
    BoxArray(const Region& box, bool strided)
        : region(box), memory(std::make_shared<std::vector<double>>()) {
        const Index step = strided ? 2 : 1;
        Coordinates wide = box.extent;
        if (!wide.empty()) {
            wide[wide.size() - 1] *= step;
        }
        memory->assign(static_cast<std::size_t>(std::max<Index>(volume_of(wide), 1)), -1);
        strides = contiguous_strides(wide, sizeof(double));
        if (!wide.empty()) {
            strides[wide.size() - 1] *= step;
        }
    }
    MutableArrayView view() const {
        return {reinterpret_cast<std::byte*>(memory->data()), DType::Float64, region.extent,
                strides};
    }
    /// visit(element, its place in the global array)
    template <class Visit>
    void each(const Coordinates& shape, Visit&& visit) const {
        for_each_index(region.extent, [&](const Coordinates& index) {
            Coordinates point = index;
            for (int axis = 0; axis < point.size(); ++axis) {
                point[axis] += region.offset[axis];
            }
            const Index at = offset_of(index, strides) / static_cast<Index>(sizeof(double));
            visit((*memory)[static_cast<std::size_t>(at)], linear_index(point, shape));
        });
    }

    Region region;
    std::shared_ptr<std::vector<double>> memory;
    Coordinates strides;
};

/// Moves `steps` steps, of which each has other values, and looks at each element.
void check_steps(Redistribution& made, bool strided, int steps = 3) {
    std::vector<BoxArray> mine, wanted;
    for (const Region& box : made.has()) {
        mine.emplace_back(box, strided);
    }
    for (const Region& box : made.wants()) {
        wanted.emplace_back(box, strided);
    }
    std::vector<HeldArray> from;
    std::vector<WantedArray> to;
    for (const BoxArray& array : mine) {
        from.push_back({array.view(), array.memory});
    }
    for (const BoxArray& array : wanted) {
        to.push_back({array.view(), array.memory});
    }
    for (int step = 0; step < steps; ++step) {
        for (const BoxArray& array : mine) {
            array.each(made.shape(), [&](double& value, Index place) {
                value = static_cast<double>(place * 10 + step);
            });
        }
        made.move(from, to);
        std::size_t wrong = 0;
        for (const BoxArray& array : wanted) {
            array.each(made.shape(), [&](double value, Index place) {
                wrong += value == static_cast<double>(place * 10 + step) ? 0 : 1;
            });
        }
        REQUIRE(wrong == 0);
    }
}

/// A box cut at random, each part on one rank; the same on all ranks.
std::vector<std::pair<int, Region>> cut(std::mt19937& random, const Region& all) {
    const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    std::vector<Region> boxes{all};
    for (std::size_t cuts = any(9); cuts-- > 0;) {
        const std::size_t at = any(boxes.size());
        const int axis = static_cast<int>(any(static_cast<std::size_t>(all.ndim())));
        const auto parts = split(boxes[at], 2, axis);
        boxes[at] = parts[0];
        boxes.push_back(parts[1]);
    }
    std::vector<std::pair<int, Region>> owned;
    for (const Region& box : boxes) {
        owned.emplace_back(any(static_cast<std::size_t>(world_size())), box);
    }
    return owned;
}

std::vector<Region> of_this_rank(const std::vector<std::pair<int, Region>>& owned) {
    std::vector<Region> mine;
    for (const auto& [rank, box] : owned) {
        if (rank == world_rank()) {
            mine.push_back(box);
        }
    }
    return mine;
}

}  // namespace

TEST_CASE("any two ways to cut an array, any strides: each step arrives whole") {
    std::mt19937 random(test_seed(2612));
    for (int trial = 0; trial < 30; ++trial) {
        const int ndim = 1 + static_cast<int>(random() % 3);
        Region all{Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            all.extent[axis] = 1 + static_cast<Index>(random() % 15);
        }
        const auto has = of_this_rank(cut(random, all));
        const auto wants = of_this_rank(cut(random, all));
        Redistribution made(own_comm(), all.extent, DType::Float64, has, wants);
        check_steps(made, trial % 2 == 1);
        made.close();
    }
}

TEST_CASE("by several paths through ranks that have nothing themselves") {
    const int ranks = world_size();
    if (ranks < 3) {
        return;
    }
    const Index rows = 300, columns = 200;
    const auto mine = [&](int rank) {
        return world_rank() == rank ? std::vector<Region>{{{0, 0}, {rows, columns}}}
                                    : std::vector<Region>{};
    };
    RedistributionOptions options;
    options.topology = route::make_topology(text("torus:", ranks));
    options.plan.flow = {2, 4096};
    options.how.checksum = true;
    Redistribution made(own_comm(), {rows, columns}, DType::Float64, mine(0), mine(1), options);
    REQUIRE(made.flows().size() == 1);
    CHECK(made.flows()[0].paths.size() == 2);
    CHECK(made.speed_up() > 1.5);
    check_steps(made, false);
    check_steps(made, true);
    made.close();
}

TEST_CASE("wrong arrays on one rank are said on all, and the next step works") {
    const Region all{{0}, {60}};
    const auto mine = split(all, world_size())[static_cast<std::size_t>(world_rank())];
    const auto other =
        split(all, world_size())[static_cast<std::size_t>(world_size() - 1 - world_rank())];
    Redistribution made(own_comm(), {60}, DType::Float64, std::vector{mine}, std::vector{other});
    const BoxArray from(mine, false), to(other, false), wrong({{0}, {59}}, false);
    const int last = world_size() - 1;
    const std::vector<HeldArray> given{
        {world_rank() == last ? wrong.view() : from.view(), from.memory}};
    const std::vector<WantedArray> wanted{{to.view(), to.memory}};
    CHECK_THROWS_WITH_AS(made.move(given, wanted), doctest::Contains("float64 of (59,)"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(made.move(given, {}), doctest::Contains("not one array for each box"),
                         InvalidArgument);
    check_steps(made, false);
    made.close();
}

TEST_CASE("what ranks declare wrongly is said on all") {
    const int ranks = world_size(), me = world_rank();
    const auto refused = [&](const Coordinates& shape, DType dtype, std::vector<Region> has,
                             std::vector<Region> wants) {
        try {
            Redistribution made(own_comm(), shape, dtype, has, wants);
            made.close();
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const auto says = [](const std::string& message, const std::string& words) {
        return message.find(words) != std::string::npos;
    };
    const std::vector<Region> part{{{10 * me}, {10}}}, longer{{{10 * me}, {11}}};
    CHECK(says(refused({10 * ranks}, DType::Float64, longer, {}), "box that this rank has"));
    CHECK(says(refused({10 * ranks}, DType::Float64, {}, part), "wants elements that no rank has"));
    CHECK(refused({10 * ranks}, DType::Float64, part, part).empty());
    if (ranks > 1) {
        CHECK(says(refused({11 * ranks}, DType::Float64, longer, {}),
                   "ranks 0 and 1 have the same elements"));
        CHECK(says(refused({10 * ranks + me}, DType::Float64, part, {}), "the shape of the array"));
        CHECK(says(refused({10 * ranks}, me == 0 ? DType::Float32 : DType::Float64, part, {}),
                   "the dtype of the array"));
    }
}

TEST_CASE("a rank that does not come is an error within the time that was given") {
    if (world_size() < 2) {
        return;
    }
    mpi::Comm comm = own_comm();
    if (world_rank() > 0) {
        RedistributionOptions options;
        options.how.stall_timeout_s = 0.3;
        CHECK_THROWS_WITH_AS(Redistribution(std::move(comm), {4}, DType::Int8, {}, {}, options),
                             doctest::Contains("not all ranks have declared"), TimedOut);
    }
    world().barrier();
    comm.abandon();
}

namespace {

/// 8 MB from rank 0 to rank 1, along two paths of a torus or direct; how this rank's part of a step
/// ended.
struct FromZeroToOne {
    FromZeroToOne(bool by_paths, ExchangeOptions how)
        : box(Region{{0}, {1'000'000}}, false), coupling(made(by_paths, std::move(how))) {}

    std::string step() {
        std::vector<HeldArray> from;
        std::vector<WantedArray> to;
        if (world_rank() == 0) {
            from.push_back({box.view(), box.memory});
        } else if (world_rank() == 1) {
            to.push_back({box.view(), box.memory});
        }
        try {
            coupling.move(from, to);
        } catch (const TimedOut& error) {
            return error.what();
        }
        return "";
    }

    BoxArray box;
    Redistribution coupling;

  private:
    Redistribution made(bool by_paths, ExchangeOptions how) const {
        RedistributionOptions options;
        options.how = std::move(how);
        if (by_paths) {
            options.topology = route::make_topology(text("torus:", world_size()));
            options.plan.flow = {2, 1 << 20};
        }
        const std::vector all{box.region};
        const std::vector<Region> none;
        return {own_comm(),
                {1'000'000},
                DType::Float64,
                world_rank() == 0 ? all : none,
                world_rank() == 1 ? all : none,
                std::move(options)};
    }
};

}  // namespace

TEST_CASE("a rank that does not come to a step is an error on the others in time") {
    if (world_size() < 3) {
        return;
    }
    for (const bool by_paths : {false, true}) {
        CAPTURE(by_paths);
        FromZeroToOne moving(by_paths, {.stall_timeout_s = 0.3});
        CHECK((moving.coupling.flows()[0].paths.size() > 1) == by_paths);
        CHECK(moving.step() == "");
        if (world_rank() != world_size() - 1) {
            CHECK(moving.step() != "");
        }
        world().barrier();
        moving.coupling.abandon();
    }
}

TEST_CASE("a rank that gives a step up is an error on all, also where all its data had come") {
    if (world_size() < 3) {
        return;
    }
    ExchangeOptions how{.stall_timeout_s = 0.2};
    if (world_rank() == 0) {
        how.rest = [](std::span<const mpi::Pending>) {
            throw TimedOut(Problem{"this rank stays away", "", "", ""});
        };
    }
    FromZeroToOne moving(true, how);
    bool failed = false;
    for (int step = 0; step < 200 && !failed; ++step) {  // it may not rest, if the others are fast
        failed = moving.step() != "";
    }
    CHECK(failed);
    moving.coupling.abandon();
}

TEST_CASE("a redistribution that has been moved from is refused") {
    const Region all = whole({4});
    const std::span<const Region> has(&all, world_rank() == 0 ? 1 : 0);
    Redistribution redistribution(own_comm(), {4}, DType::Float64, has, {});
    Redistribution same = std::move(redistribution);
    const auto refused = [&](const std::function<void()>& call) {
        CHECK_THROWS_WITH_AS(call(), doctest::Contains("moved from"), InvalidArgument);
    };
    refused([&] { redistribution.shape(); });
    refused([&] { redistribution.dtype(); });
    refused([&] { redistribution.has(); });
    refused([&] { redistribution.wants(); });
    refused([&] { redistribution.flows(); });
    refused([&] { redistribution.speed_up(); });
    refused([&] { redistribution.warning(); });
    refused([&] { redistribution.move([] { return StepArrays(); }); });
    refused([&] { redistribution.close(); });
    redistribution.abandon();
    CHECK(same.shape() == Coordinates{4});
    same.close();
}
