// SPDX-License-Identifier: Apache-2.0
// SendQueue and ReceiveRing, the two ends of messages that flow. Every rank sends to rank 0.
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/receive_ring.hpp"
#include "fluvial/mpi/send_queue.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

struct World {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    ~World() { comm.close(); }
};

std::uint64_t resident_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) {
            return std::stoull(line.substr(6));
        }
    }
    return 0;
}

}  // namespace

TEST_CASE("messages of all ranks come through a few receives, in order for each of them") {
    World world;
    const Comm& comm = world.comm;
    constexpr int messages = 300;
    constexpr std::size_t longest = 20000;
    const auto length = [](int number) {
        return number % 50 == 7 ? longest : static_cast<std::size_t>(number) * 8;
    };
    auto memory = std::make_shared<std::vector<int>>(longest * messages / sizeof(int));
    SendQueue queue(comm, 0, 4);
    const auto send = [&](int number) {
        int* first = memory->data() + static_cast<std::size_t>(number) * longest / sizeof(int);
        std::iota(first, first + length(number) / sizeof(int), number);
        queue.post(std::as_bytes(std::span(first, length(number) / sizeof(int))), memory);
    };
    std::optional<ReceiveRing> ring;
    if (comm.rank() == 0) {
        ring.emplace(comm, 4, 5, longest);
    }
    comm.barrier();
    std::vector<int> arrived(static_cast<std::size_t>(comm.size()));
    int sent = 0;
    int taken = 0;
    const int expected = comm.rank() == 0 ? messages * comm.size() : 0;
    const auto done = [&] {
        if (sent < messages && queue.posted() < queue.completed() + 4) {
            send(sent++);
        }
        if (auto next = ring ? ring->try_next() : std::nullopt) {
            const int number = arrived[static_cast<std::size_t>(next->source)]++;
            CHECK(next->bytes.size() == length(number) / sizeof(int) * sizeof(int));
            for (std::size_t i = 0; i < next->bytes.size() / sizeof(int); ++i) {
                int value = 0;
                std::memcpy(&value, next->bytes.data() + i * sizeof(int), sizeof(int));
                if (value != number + static_cast<int>(i)) {
                    FAIL("message ", number, " item ", i);
                }
            }
            ++taken;
            ring->give_back();
        }
        return sent == messages && queue.completed() == messages && taken == expected;
    };
    wait_until(done, Deadline(30), "exchange messages");
    CHECK(queue.posted() == messages);
    if (ring) {
        CHECK(ring->received() == static_cast<std::uint64_t>(expected));
        CHECK_FALSE(ring->try_next().has_value());
    }
}

TEST_CASE("what was not given back is not overwritten, and nothing more is taken meanwhile") {
    World world;
    const Comm& comm = world.comm;
    if (comm.rank() != 0) {
        return;
    }
    ReceiveRing ring(comm, 4, 2, 8);
    CHECK(ring.memory() == 128);
    SendQueue queue(comm, 0, 4);
    auto numbers = std::make_shared<std::vector<std::uint64_t>>(3);
    std::iota(numbers->begin(), numbers->end(), 0);
    for (auto& number : *numbers) {
        queue.post(std::as_bytes(std::span(&number, 1)), numbers);
    }
    std::vector<ReceiveRing::Received> held;
    const auto two = [&] {
        if (auto next = ring.try_next()) {
            held.push_back(*next);
        }
        queue.completed();
        return held.size() == 2;
    };
    wait_until(two, Deadline(30), "receive");
    for (int i = 0; i < 100; ++i) {
        CHECK_FALSE(ring.try_next().has_value());
    }
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(reinterpret_cast<std::uintptr_t>(held[i].bytes.data()) % 64 == 0);
        CHECK(std::memcmp(held[i].bytes.data(), &numbers->at(i), 8) == 0);
    }
    ring.give_back();
    const auto third = [&] {
        const auto next = ring.try_next();
        return next && std::memcmp(next->bytes.data(), &numbers->at(2), 8) == 0;
    };
    wait_until(third, Deadline(30), "receive");
    wait_until([&] { return queue.completed() == 3; }, Deadline(30), "send");
}

TEST_CASE("receives that were not needed leave nothing behind") {
    World world;
    const auto cycle = [&] { const ReceiveRing ring(world.comm, 4, 16, 65536); };
    for (int i = 0; i < 200; ++i) {
        cycle();
    }
    const auto before = resident_kib();
    for (int i = 0; i < 2000; ++i) {
        cycle();
    }
    CHECK(resident_kib() < before + 4096);
    world.comm.barrier();  // a receive that was left would take the message
    // A message after them meets none of them.
    const int next = (world.comm.rank() + 1) % world.comm.size();
    const int previous = (world.comm.rank() + world.comm.size() - 1) % world.comm.size();
    Request sent = world.comm.isend(std::vector<std::byte>(10), next, 4);
    CHECK(world.comm.recv(previous, 4, Deadline(30)).size() == 10);
    sent.wait(Deadline(30));
}

TEST_CASE("a rank or tag out of range is refused") {
    World world;
    CHECK_THROWS_AS(SendQueue(world.comm, world.comm.size(), 0), InvalidArgument);
    CHECK_THROWS_AS(SendQueue(world.comm, 0, -1), InvalidArgument);
    CHECK_THROWS_AS(ReceiveRing(world.comm, -1, 1, 8), InvalidArgument);
    CHECK_THROWS_AS(SendQueue(Comm(), 0, 0), InvalidArgument);
    CHECK_THROWS_AS(ReceiveRing(Comm(), 0, 1, 8), InvalidArgument);
}
