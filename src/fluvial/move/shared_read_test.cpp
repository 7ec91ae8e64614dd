// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_read.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/host/file_place.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

const TestSeed seed(2121);
const Coordinates shape = {1500, 1000};
const Region everything = whole(shape);

/// The memory of another host: an array of 12 MB a step, and how much of it was read.
struct Elsewhere {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<int> reads = 0;
    std::vector<std::int64_t> numbers = std::vector<std::int64_t>(1'500'000);

    Elsewhere() { std::iota(numbers.begin(), numbers.end(), 0); }
    void read(std::span<const RemoteBox> boxes, const std::function<void(double)>& moved) {
        ++reads;
        for (const RemoteBox& box : boxes) {
            moved(0);
            std::this_thread::sleep_for(std::chrono::microseconds(300));
            const ArrayView all(reinterpret_cast<const std::byte*>(numbers.data()), DType::Int64,
                                shape);
            copy(subview(all, box.box), MutableArrayView{box.to, DType::Int64, box.box.extent,
                                                         contiguous_strides(box.box.extent, 8)});
            bytes += box.bytes();
        }
    }
    OwnRead own() {
        return {[this](auto boxes, const auto& moved) { read(boxes, moved); }, [] {}};
    }
};

/// Ranks of a host.
struct Ranks {
    explicit Ranks(int count, const ClaimLimits& limits = {}) : file(SharedClaims::create(limits)) {
        for (int number = 0; number < count; ++number) {
            claims.push_back(
                std::make_unique<SharedClaims>(host::open_at(host::place_of(file)), number));
        }
    }
    host::MemoryFile file;
    std::vector<std::unique_ptr<SharedClaims>> claims;
};

/// Reads a box of the step; returns what neighbours brought.
std::uint64_t read_box(SharedClaims& claims, std::uint64_t step, const Region& box,
                       const OwnRead& own) {
    std::vector<std::int64_t> got(static_cast<std::size_t>(box.volume()), -1);
    const RemoteBox wanted{
        {0, 64, 12'000'000, 0}, 8, shape, box, reinterpret_cast<std::byte*>(got.data())};
    const std::uint64_t taken = read_shared(claims, {step, 0}, std::vector{wanted}, own);
    bool right = true;
    for (Index i = 0; i < box.volume(); ++i) {
        const Coordinates at = coordinates_of(i, box.extent);
        const Index number = (box.offset[0] + at[0]) * shape[1] + box.offset[1] + at[1];
        right = right && got[static_cast<std::size_t>(i)] == number;
    }
    CHECK(right);
    return taken;
}

std::uint64_t bytes_of(const Region& box) {
    return static_cast<std::uint64_t>(box.volume()) * 8;
}

/// All ranks at the same time.
std::uint64_t read_all(Ranks& ranks, std::uint64_t step, const std::vector<Region>& boxes,
                       Elsewhere& elsewhere) {
    std::atomic<std::uint64_t> taken = 0;
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < boxes.size(); ++rank) {
        threads.emplace_back([&, rank] {
            taken += read_box(*ranks.claims[rank], step, boxes[rank], elsewhere.own());
            ranks.claims[rank]->pass(step);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return taken;
}

}  // namespace

TEST_CASE("what ranks of a host want crosses the network once, and all ranks bring some of it") {
    Ranks ranks(3);
    Elsewhere elsewhere;
    for (std::uint64_t step = 0; step < 10; ++step) {
        elsewhere.bytes = 0;
        const auto taken = read_all(ranks, step, {3, everything}, elsewhere);
        CHECK(elsewhere.bytes == bytes_of(everything));
        CHECK(taken == 2 * bytes_of(everything));
        CHECK(ranks.claims[0]->bytes_in_use() == 0);
    }
}

TEST_CASE("with little room less is shared, and nothing is wrong") {
    Ranks ranks(3, {.blocks = 20, .block_bytes = 64 * 1024, .kept_blocks = 4});
    Elsewhere elsewhere;
    const auto taken = read_all(ranks, 0, {3, everything}, elsewhere);
    CHECK(elsewhere.bytes + taken == 3 * bytes_of(everything));
    CHECK(ranks.claims[0]->bytes_in_use() == 0);
}

TEST_CASE("ranks that want different parts share what they have in common") {
    Ranks ranks(3);
    Elsewhere elsewhere;
    const std::vector<Region> rows = {
        {{0, 0}, {1000, 1000}}, {{500, 0}, {1000, 1000}}, {{250, 0}, {1000, 1000}}};
    const auto taken = read_all(ranks, 0, rows, elsewhere);
    CHECK(elsewhere.bytes + taken == 3 * bytes_of(rows[0]));
    CHECK(elsewhere.bytes < bytes_of(everything) + 3 * shared_window_bytes);
    std::mt19937 random(seed);
    for (std::uint64_t step = 1; step < 12; ++step) {
        std::vector<Region> boxes;
        for (int rank = 0; rank < 3; ++rank) {
            Region box = everything;
            for (int axis = 0; axis < 2; ++axis) {
                box.offset[axis] = static_cast<Index>(random() % 800);
                box.extent[axis] = 1 + static_cast<Index>(random() % 700);
            }
            boxes.push_back(random() % 3 == 0 && rank > 0 ? boxes.back() : box);
        }
        elsewhere.bytes = 0;
        const auto shared = read_all(ranks, step, boxes, elsewhere);
        CHECK(elsewhere.bytes + shared ==
              bytes_of(boxes[0]) + bytes_of(boxes[1]) + bytes_of(boxes[2]));
    }
}

TEST_CASE("ranks that want nothing in common read in one go, until they do") {
    Ranks ranks(2);
    Elsewhere elsewhere;
    const std::vector<Region> halves = {{{0, 0}, {750, 1000}}, {{750, 0}, {750, 1000}}};
    for (std::uint64_t step = 0; step < 6; ++step) {
        elsewhere.reads = 0;
        // Halves meet in the middle of a window.
        CHECK(read_all(ranks, step, halves, elsewhere) == 0);
        CHECK((elsewhere.reads == 2) == (step >= 4));
    }
    for (std::uint64_t step = 6; step < 9; ++step) {
        elsewhere.bytes = 0;
        read_all(ranks, step, {2, halves[0]}, elsewhere);
        CHECK(elsewhere.bytes < (step == 6 ? 3 : 2) * bytes_of(halves[0]));
    }
    CHECK(elsewhere.bytes == bytes_of(halves[0]));
    for (std::uint64_t step = 20; step < 22; ++step) {
        note_had(*ranks.claims[0], {step, 0},
                 std::vector{RemoteBox{{0, 64, 12'000'000, 0}, 8, shape, everything, nullptr}});
        CHECK(ranks.claims[1]->overlapped(step) == (step == 21));
        read_box(*ranks.claims[1], step, everything, elsewhere.own());
    }
}

TEST_CASE("a rank that comes late copies, and one that never comes is not waited for") {
    Ranks ranks(3);
    Elsewhere elsewhere;
    CHECK(read_box(*ranks.claims[0], 0, everything, elsewhere.own()) == 0);
    CHECK(read_box(*ranks.claims[1], 0, everything, elsewhere.own()) == bytes_of(everything));
    CHECK(elsewhere.bytes == bytes_of(everything));
}

TEST_CASE("what one rank cannot read another reads") {
    Ranks ranks(2);
    Elsewhere elsewhere;
    OwnRead broken{[](auto, const auto&) { throw PeerLost("the cable is cut"); }, [] {}};
    CHECK_THROWS_AS(read_box(*ranks.claims[0], 0, everything, broken), PeerLost);
    CHECK(ranks.claims[0]->bytes_in_use() == 0);
    CHECK(read_box(*ranks.claims[1], 0, everything, elsewhere.own()) == 0);
}

TEST_CASE("a rank that waits for another looks around") {
    Ranks ranks(2, {.patience_s = 30});
    Elsewhere elsewhere;
    const Region small{{0, 0}, {100, 1000}};
    std::atomic<bool> over = false;
    OwnRead slow = elsewhere.own();
    slow.read = [&](auto boxes, const auto& moved) {
        while (!over) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        elsewhere.read(boxes, moved);
    };
    std::thread claimant([&] { read_box(*ranks.claims[0], 0, small, slow); });
    while (ranks.claims[0]->bytes_in_use() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    OwnRead waits = elsewhere.own();
    waits.look = [] { throw PeerLost("the writer is dead"); };
    CHECK_THROWS_AS(read_box(*ranks.claims[1], 0, small, waits), PeerLost);
    over = true;
    claimant.join();
    CHECK(read_box(*ranks.claims[1], 0, small, waits) == bytes_of(small));
}

TEST_CASE("a process that is killed or stopped while it brings something keeps no other waiting") {
    for (const int how : {SIGKILL, SIGSTOP}) {
        CAPTURE(how);
        Ranks ranks(1, {.patience_s = 0.5});
        Elsewhere elsewhere;
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            SharedClaims claims(host::open_at(host::place_of(ranks.file)), 1);
            OwnRead own{[&](auto boxes, const auto& moved) {
                            const char said = 'x';
                            static_cast<void>(!::write(ready[1], &said, 1));
                            ::raise(how);
                            elsewhere.read(boxes, moved);
                        },
                        [] {}};
            read_box(claims, 0, everything, own);
            ::_exit(0);
        }
        char said = 0;
        REQUIRE(::read(ready[0], &said, 1) == 1);
        CHECK(read_box(*ranks.claims[0], 0, everything, elsewhere.own()) == 0);
        CHECK(elsewhere.bytes == bytes_of(everything));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        ::close(ready[0]);
        ::close(ready[1]);
    }
}
