// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/write_rounds.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/progress/engine.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

/// Eight bytes of each of two ranks, of which the second one is late with its own.
class LateParts final : public RankParts {
  public:
    void add_bytes(const WriteWindow&, std::span<std::size_t> by_rank) const override {
        by_rank[0] += 8;
        by_rank[1] += 8;
    }
    Outgoing outgoing(const WriteWindow&, std::size_t size) const override {
        if (world_rank() == 1) {
            std::this_thread::sleep_for(std::chrono::seconds(2));
        }
        const auto bytes = std::make_shared<std::vector<std::byte>>(size);
        return {*bytes, bytes};
    }
    std::uint64_t write(const SharedFile&, const WriteWindow&,
                        std::span<const std::byte* const>) const override {
        return 16;
    }
};

}  // namespace

TEST_CASE("nothing follows a round that was broken off, on any rank") {
    mpi::Comm comm = mpi::Comm::duplicate(world().handle());
    const std::string path = std::filesystem::temp_directory_path() / "fluvial-write-rounds";
    const std::vector<int> writers = {0};
    const route::RankPlanOptions plan;
    {
        PlannedRounds rounds(comm, nullptr, plan, 60);
        const progress::Lookout late(progress::time_limit(0.5, "the other rank did not come"));
        CHECK_THROWS_AS(write_in_rounds(comm, path, SharedFile::Missing::Make, writers, {{{0, 16}}},
                                        LateParts(), rounds),
                        TimedOut);
    }
    CHECK_THROWS_WITH_AS(comm.sum(1), doctest::Contains("was broken off"), InvalidArgument);
    comm.close();
    world().barrier();
    if (world_rank() == 0) {
        std::filesystem::remove(path);
    }
}
