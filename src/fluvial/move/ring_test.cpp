// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/link.hpp"
#include "fluvial/move/record.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

/// Memory that a forked process shares.
class SharedMemory {
  public:
    explicit SharedMemory(std::size_t bytes)
        : memory_(static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
                  bytes) {
        REQUIRE(static_cast<void*>(memory_.data()) != MAP_FAILED);
    }
    ~SharedMemory() { ::munmap(memory_.data(), memory_.size()); }
    std::span<std::byte> get() const { return memory_; }

  private:
    std::span<std::byte> memory_;
};

struct Ring {
    explicit Ring(const LinkPlan& plan) : memory(ring_memory(plan)) {
        lay_ring(plan, memory.get());
        outlet = make_ring_outlet(plan, memory.get());
        inlet = make_ring_inlet(plan, memory.get(), 3);
    }
    SharedMemory memory;
    std::unique_ptr<Outlet> outlet;
    std::unique_ptr<Inlet> inlet;
};

/// What byte number `at` of a stream holds.
std::byte pattern(std::uint64_t at) {
    return static_cast<std::byte>((at * 0x9E3779B97F4A7C15u) >> 56);
}

std::byte* reserve(Outlet& outlet, std::size_t bytes) {
    std::byte* room = outlet.try_reserve(bytes);
    while (room == nullptr) {
        std::this_thread::yield();
        outlet.progress();
        room = outlet.try_reserve(bytes);
    }
    return room;
}

/// Sends `total` bytes in reservations of random numbers of units: a third of them through fill(),
/// a third where a user writes directly.
void produce(Outlet& outlet, const LinkPlan& plan, std::uint64_t total, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> scratch;
    const std::size_t most = plan.buffer_bytes / plan.unit_bytes;
    while (outlet.committed() < total) {
        const std::uint64_t at = outlet.committed();
        const std::size_t left = (total - at) / plan.unit_bytes;
        const std::size_t units =
            std::min<std::size_t>(left, 1 + random() % std::min(most, std::size_t{9}));
        scratch.resize(units * plan.unit_bytes);
        for (std::size_t i = 0; i < scratch.size(); ++i) {
            scratch[i] = pattern(at + i);
        }
        std::byte* room = reserve(outlet, scratch.size());
        const auto way = random() % 3;
        if (way == 0) {
            std::byte* const lent = outlet.try_lend(scratch.size());
            std::copy(scratch.begin(), scratch.end(), lent);
            outlet.give_back(random() % 10 == 0 ? 0 : scratch.size());
            continue;
        }
        if (way == 1) {
            outlet.fill(room, scratch.data(), scratch.size());
        } else {
            std::copy(scratch.begin(), scratch.end(), room);
        }
        for (std::size_t unit = 0; unit < units; ++unit) {
            outlet.commit(plan.unit_bytes);
        }
    }
    outlet.close();
}

/// Reads until the end; each arrival is checked and released in random parts. Number of wrong
/// bytes and gaps.
int consume(Inlet& inlet, const LinkPlan& plan, std::uint64_t total, unsigned seed) {
    std::mt19937 random(seed);
    std::uint64_t at = 0;
    int wrong = 0;
    while (!inlet.ended()) {
        const Arrival arrival = inlet.ready();
        if (arrival.bytes.empty()) {
            std::this_thread::yield();
            continue;
        }
        wrong += arrival.first != at || arrival.producer != 3;
        wrong += arrival.bytes.size() % plan.unit_bytes != 0;
        const std::size_t units = arrival.bytes.size() / plan.unit_bytes;
        const std::size_t taken = (1 + random() % units) * plan.unit_bytes;
        for (std::size_t i = 0; i < taken; ++i) {
            wrong += arrival.bytes[i] != pattern(at + i);
        }
        inlet.release(taken);
        at += taken;
        if (random() % 1000 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    }
    return wrong + (at != total ? 1 : 0);
}

std::vector<LinkPlan> plans() {
    std::vector<LinkPlan> all;
    for (const std::size_t unit : {std::size_t{1}, std::size_t{8}, std::size_t{24}, std::size_t{56},
                                   std::size_t{4096}, std::size_t{100'000}}) {
        for (const std::size_t units : {1, 2, 3, 7, 1000}) {
            if (unit * units > (std::size_t{4} << 20)) {
                continue;
            }
            all.push_back(
                {.unit_bytes = unit, .buffer_bytes = unit * units + (unit > 1 ? unit / 2 : 0)});
        }
    }
    return all;
}

std::uint64_t total_of(const LinkPlan& plan) {
    return std::clamp<std::uint64_t>(30 * plan.buffer_bytes, 500 * plan.unit_bytes, 3'000'000) /
           plan.unit_bytes * plan.unit_bytes;
}

}  // namespace

TEST_CASE(
    "a consumer that has looked in vain for long sees what comes, by either way, and the end") {
    LinkPlan plan;
    plan.unit_bytes = 8;
    plan.buffer_bytes = 1 << 20;
    Ring ring(plan);
    const auto look_for = [&](std::chrono::milliseconds time) {
        const auto until = std::chrono::steady_clock::now() + time;
        std::size_t found = 0;
        while (found == 0 && std::chrono::steady_clock::now() < until) {
            found = ring.inlet->ready().bytes.size();
        }
        ring.inlet->release(found);
        return found;
    };
    const std::vector<std::byte> many(8192);
    for (int round = 0; round < 3; ++round) {
        CHECK(look_for(std::chrono::milliseconds(5)) == 0);
        std::byte* room = reserve(*ring.outlet, 8);
        ring.outlet->fill(room, many.data(), 8);
        ring.outlet->commit(8);  // lies in the staging buffer
        CHECK(look_for(std::chrono::seconds(10)) == 8);
        CHECK(look_for(std::chrono::milliseconds(5)) == 0);
        room = reserve(*ring.outlet, many.size());
        ring.outlet->fill(room, many.data(), many.size());
        ring.outlet->commit(many.size());
        CHECK(look_for(std::chrono::seconds(10)) == many.size());
    }
    CHECK(look_for(std::chrono::milliseconds(5)) == 0);
    CHECK_FALSE(ring.inlet->ended());
    ring.outlet->close();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!ring.inlet->ended() && std::chrono::steady_clock::now() < until) {
    }
    CHECK(ring.inlet->ended());
}

TEST_CASE("every byte arrives once and in order between two threads") {
    unsigned seed = 1;
    for (const LinkPlan& plan : plans()) {
        CAPTURE(plan.unit_bytes);
        CAPTURE(plan.buffer_bytes);
        CAPTURE(++seed);
        Ring ring(plan);
        const std::uint64_t total = total_of(plan);
        std::thread producer([&] { produce(*ring.outlet, plan, total, seed); });
        CHECK(consume(*ring.inlet, plan, total, seed + 1000) == 0);
        producer.join();
        CHECK(ring.inlet->depth() == 0);
        CHECK(ring.outlet->finished());
    }
}

TEST_CASE("every byte arrives once and in order between two processes") {
    for (const LinkPlan& plan : plans()) {
        if (plan.unit_bytes != 8 && plan.unit_bytes != 4096) {
            continue;
        }
        CAPTURE(plan.unit_bytes);
        CAPTURE(plan.buffer_bytes);
        const SharedMemory memory(ring_memory(plan));
        lay_ring(plan, memory.get());
        const std::uint64_t total = total_of(plan);
        const pid_t child = ::fork();
        if (child == 0) {
            produce(*make_ring_outlet(plan, memory.get()), plan, total, 7);
            ::_exit(0);
        }
        CHECK(consume(*make_ring_inlet(plan, memory.get(), 3), plan, total, 8) == 0);
        int status = -1;
        CHECK(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
}

TEST_CASE("records of any length stay whole") {
    const std::size_t longest = 1000;
    for (const std::size_t buffer : {record_bytes(longest), 2 * record_bytes(longest),
                                     std::size_t{5000}, std::size_t{3} << 20}) {
        const LinkPlan plan{
            .varies = true, .piece_bytes_max = record_bytes(longest), .buffer_bytes = buffer};
        CAPTURE(buffer);
        Ring ring(plan);
        constexpr int records = 50'000;
        const auto length = [](std::uint64_t number) { return number * number % (longest + 1); };
        std::thread producer([&] {
            for (std::uint64_t number = 0; number < records; ++number) {
                const std::uint64_t bytes = length(number);
                std::byte* room = reserve(*ring.outlet, record_bytes(bytes));
                std::memcpy(room, &bytes, 8);
                std::fill_n(room + 8, bytes, pattern(number));
                ring.outlet->commit(record_bytes(bytes));
            }
            ring.outlet->close();
        });
        std::uint64_t number = 0;
        int wrong = 0;
        while (!ring.inlet->ended()) {
            const auto bytes = ring.inlet->ready().bytes;
            std::size_t at = 0;
            while (at < bytes.size() && wrong == 0) {
                std::uint64_t seen = 0;
                std::memcpy(&seen, bytes.data() + at, 8);
                if (seen != length(number)) {
                    ++wrong;
                    break;
                }
                const auto* first = bytes.data() + at + 8;
                wrong += std::any_of(first, first + seen,
                                     [&](std::byte b) { return b != pattern(number); });
                at += record_bytes(seen);
                ++number;
            }
            wrong += at > bytes.size();
            ring.inlet->release(bytes.size());
            if (bytes.empty()) {
                std::this_thread::yield();
            }
        }
        producer.join();
        CHECK(wrong == 0);
        CHECK(number == records);
    }
}

TEST_CASE("a full ring has no room until memory is released") {
    const LinkPlan plan{.unit_bytes = 16, .buffer_bytes = 70};
    Ring ring(plan);
    CHECK(ring.inlet->memory() == 64);
    for (int i = 0; i < 4; ++i) {
        std::byte* room = ring.outlet->try_reserve(16);
        REQUIRE(room != nullptr);
        CHECK(ring.outlet->try_reserve(16) == room);
        ring.outlet->commit(16);
    }
    CHECK(ring.outlet->try_reserve(16) == nullptr);
    CHECK(ring.inlet->depth() == 64);
    CHECK(ring.inlet->ready().bytes.size() == 64);
    CHECK(ring.outlet->try_reserve(16) == nullptr);
    ring.inlet->release(16);
    CHECK(ring.inlet->depth() == 48);
    CHECK(ring.outlet->try_reserve(16) != nullptr);
    CHECK(ring.outlet->try_reserve(32) == nullptr);
}

TEST_CASE("a ring ends when it is closed and everything was released") {
    const LinkPlan plan{.unit_bytes = 8, .buffer_bytes = 1024};
    Ring ring(plan);
    const auto soon = [&](auto&& holds) {
        for (int i = 0; i < 1000 && !holds(); ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(10));
        }
        return holds();
    };
    CHECK(!ring.inlet->ended());
    REQUIRE(ring.outlet->try_reserve(8) != nullptr);
    ring.outlet->commit(8);
    ring.outlet->close();
    CHECK(soon([&] { return !ring.inlet->ready().bytes.empty(); }));
    CHECK(!ring.inlet->ended());
    ring.inlet->release(8);
    CHECK(soon([&] { return ring.inlet->ended(); }));
    CHECK(ring.inlet->ready().bytes.empty());
}

TEST_CASE("an empty ring ends too") {
    Ring ring({.buffer_bytes = 64});
    ring.outlet->close();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(ring.inlet->ended());
}

TEST_CASE("elements of an idle producer arrive without a flush") {
    Ring ring({.buffer_bytes = 1 << 20});
    for (int i = 0; i < 20; ++i) {
        REQUIRE(ring.outlet->try_reserve(8) != nullptr);
        ring.outlet->commit(8);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        CHECK(ring.inlet->ready().bytes.size() == 8);
        ring.inlet->release(8);
    }
}

TEST_CASE("a consumer that keeps up leaves most of a large ring untouched") {
    const LinkPlan plan{.buffer_bytes = std::size_t{64} << 20};
    Ring ring(plan);
    const auto* start = ring.memory.get().data();
    std::ptrdiff_t farthest = 0;
    for (int i = 0; i < 10'000; ++i) {
        std::byte* room = ring.outlet->try_reserve(4096);
        REQUIRE(room != nullptr);
        farthest = std::max(farthest, room - start);
        ring.outlet->commit(4096);
        std::size_t taken = 0;
        while (taken < 4096) {
            const std::size_t bytes = ring.inlet->ready().bytes.size();
            ring.inlet->release(bytes);
            taken += bytes;
        }
    }
    CHECK(farthest < (5 << 20));
}

TEST_CASE("a batch is a part of the window, so that room comes back while it is worked on") {
    for (const auto& [writers, batch_bytes] :
         {std::pair{1, 256 << 10}, {2, 128 << 10}, {25, 65536}}) {
        LinkPlan plan;
        plan.buffer_bytes = 8 << 20;
        plan.writers = writers;
        Ring ring(plan);
        while (ring.outlet->try_reserve(8192) != nullptr) {
            ring.outlet->commit(8192);
        }
        CHECK(ring.inlet->ready().bytes.size() == static_cast<std::size_t>(batch_bytes));
    }
}

TEST_CASE("a burst may use the whole of a large ring") {
    const std::size_t buffer = std::size_t{8} << 20;
    Ring ring({.buffer_bytes = buffer});
    const auto begin = std::chrono::steady_clock::now();
    while (ring.outlet->committed() < buffer) {
        REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
        if (ring.outlet->try_reserve(1024) != nullptr) {
            ring.outlet->commit(1024);
        }
    }
    CHECK(ring.outlet->try_reserve(8) == nullptr);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    CHECK(ring.outlet->try_reserve(8) == nullptr);
}

TEST_CASE("a buffer that is too small for an element is refused with the size that is needed") {
    const auto message = [](const LinkPlan& plan) {
        try {
            ring_memory(plan);
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(message({.unit_bytes = 4096, .buffer_bytes = 4095}).find("4096 bytes or more") !=
          std::string::npos);
    CHECK(message({.varies = true, .piece_bytes_max = 112, .buffer_bytes = 111})
              .find("112 bytes or more") != std::string::npos);
    CHECK(message({.varies = true, .piece_bytes_max = 112, .buffer_bytes = 112}).empty());
}
