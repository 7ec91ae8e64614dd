// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/arena.hpp"

#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using stage::Arena;

namespace {

const TestSeed seed(7331);
constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::uint64_t resident_bytes(const Arena& arena) {
    struct stat status{};
    REQUIRE(::fstat(arena.file().descriptor(), &status) == 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

}  // namespace

TEST_CASE(
    "blocks are aligned, disjoint, inside, keep their content, and all memory comes together "
    "again") {
    std::mt19937 random(seed);
    Arena arena("test", 8 * mib, 2 * mib);
    struct Block {
        std::uint64_t bytes;
        std::byte mark;
    };
    std::map<std::uint64_t, Block> model;
    std::uint64_t asked = 0;
    int exhausted = 0;
    for (int round = 0; round < 20000; ++round) {
        if (model.empty() || random() % 100 < 55) {
            const std::uint64_t bytes = random() % 10 == 0 ? random() % (2 * mib) : random() % 5000;
            std::uint64_t offset = 0;
            try {
                offset = arena.allocate(bytes);
            } catch (const SystemError&) {
                ++exhausted;
                continue;
            }
            REQUIRE(offset > 0);
            REQUIRE(offset % Arena::alignment == 0);
            REQUIRE(offset + bytes <= arena.file().size());
            const auto after = model.lower_bound(offset);
            REQUIRE((after == model.end() || offset + bytes <= after->first));
            REQUIRE((after == model.begin() ||
                     std::prev(after)->first + std::prev(after)->second.bytes <= offset));
            const auto mark = static_cast<std::byte>(random());
            std::memset(arena.at(offset), static_cast<int>(mark), bytes);
            model[offset] = {bytes, mark};
            asked += bytes;
        } else {
            auto victim = std::next(model.begin(), static_cast<long>(random() % model.size()));
            const auto [offset, block] = *victim;
            if (block.bytes > 0) {
                REQUIRE(arena.at(offset)[0] == block.mark);
                REQUIRE(arena.at(offset)[block.bytes - 1] == block.mark);
            }
            arena.free(offset);
            asked -= block.bytes;
            model.erase(victim);
        }
        REQUIRE(arena.used_bytes() >= asked);
        REQUIRE(arena.touched_bytes() <= arena.file().size());
    }
    CHECK(exhausted > 0);  // the test has seen the full arena, too
    for (const auto& [offset, block] : model) {
        arena.free(offset);
    }
    CHECK(arena.used_bytes() == 0);
    // Only the page before the first block is kept back: everything else is one free block.
    CHECK_NOTHROW(arena.allocate(arena.file().size() - 4096));
}

TEST_CASE("a freed block is used again for the same size") {
    Arena arena("test", 64 * mib, 64 * mib);
    const auto first = arena.allocate(3 * mib);
    arena.allocate(64);
    arena.free(first);
    CHECK(arena.allocate(3 * mib) == first);
}

TEST_CASE("an exhausted arena says what is in use, what there is and what to do") {
    Arena arena("test", 2 * mib, 2 * mib);
    arena.allocate(mib);
    CHECK_THROWS_WITH_AS(arena.allocate(2 * mib),
                         doctest::Contains("1048576 bytes are in use; allowed: 2097152 bytes"),
                         SystemError);
    CHECK_THROWS_WITH_AS(arena.allocate(2 * mib), doctest::Contains("raise queue_bytes"),
                         SystemError);
    CHECK_NOTHROW(arena.allocate(mib / 2));  // and it is still usable
}

TEST_CASE("memory is taken as it is needed") {
    Arena arena("test", 1024 * mib, 1024 * mib);
    CHECK(resident_bytes(arena) == 0);
    arena.allocate(1000);
    CHECK(resident_bytes(arena) <= 2 * mib);
}

TEST_CASE("free memory beyond the warm limit goes back to the system when the arena grows") {
    Arena arena("test", 128 * mib, 4 * mib);
    const auto large = arena.allocate(16 * mib);
    const auto kept = arena.allocate(mib);
    std::memset(arena.at(large), 1, 16 * mib);
    std::memset(arena.at(kept), 2, mib);
    arena.free(large);
    CHECK(resident_bytes(arena) >= 17 * mib);  // still warm: the next step finds it
    const auto larger = arena.allocate(20 * mib);
    CHECK(larger > kept);
    CHECK(resident_bytes(arena) <= 26 * mib);  // not 37: those of `large` are gone
    CHECK(arena.at(kept)[mib - 1] == std::byte{2});
    CHECK(arena.allocate(16 * mib) == large);  // and may be used again
}

TEST_CASE("steps of one size settle in the same memory") {
    Arena arena("test", 256 * mib, 16 * mib);
    std::vector<std::uint64_t> queue;
    for (int step = 0; step < 200; ++step) {
        queue.push_back(arena.allocate(mib));
        queue.push_back(arena.allocate(200));
        if (queue.size() > 8) {
            arena.free(queue[0]);
            arena.free(queue[1]);
            queue.erase(queue.begin(), queue.begin() + 2);
        }
    }
    CHECK(arena.touched_bytes() <= 8 * mib);
}

TEST_CASE("where blocks do not rotate, the one that was freed last is written into again") {
    Arena arena("test", 256 * mib, 16 * mib);
    const auto step = [&] {
        const auto block = arena.allocate(mib);
        arena.free(block);
        return block;
    };
    CHECK(step() != step());
    arena.rotate(false);
    CHECK(step() == step());
}
