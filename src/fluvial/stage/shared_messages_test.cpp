// SPDX-License-Identifier: Apache-2.0
/// Steps with long descriptions, and ranks of a reader that share what they read: such a
/// description crosses the network once.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/event.hpp"
#include "fluvial/host/file_place.hpp"
#include "fluvial/move/relay_fixture.hpp"
#include "fluvial/move/shared_claims.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/written_steps_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr Index few = 2, many = 2000;  // numbers of 8 bytes
constexpr int steps = 6;

std::vector<std::string> names(int count) {
    std::vector<std::string> all;
    for (int number = 0; number < count; ++number) {
        all.push_back(text("field", number));
    }
    return all;
}

/// A writer's host in the process of the test, and a reading job with `ranks` on another.
struct Serving {
    Serving(int ranks, bool share) : file(move::SharedClaims::create()) {
        contact.endpoints = {relay.endpoint()};
        for (int rank = 0; rank < ranks; ++rank) {
            ReaderOptions options;
            options.step_timeout_s = 20;
            const AttachRequest request{.role = Role::ReaderRank,
                                        .rank = rank,
                                        .size = ranks,
                                        .group = rank == 0 ? -1 : seats[0]->group()};
            seats.push_back(
                std::make_shared<RemoteSeat>("test", contact, request, options, Deadline(10)));
        }
        for (int rank = 0; share && rank < ranks; ++rank) {
            const auto claims =
                std::make_shared<move::SharedClaims>(host::open_at(host::place_of(file)), rank);
            seats[static_cast<std::size_t>(rank)]->share(claims, 0);
        }
        for (const auto& seat : seats) {
            seat->wait_for_others();
        }
    }
    void write(const std::vector<std::string>& datasets, Index count) {
        REQUIRE(stream.write(datasets, count));
        bell.ring();
    }
    /// The next step of a rank: what is wrong with it.
    std::string read_next(std::size_t rank, std::size_t datasets) const {
        HandleLock handle;
        HandleLock::Call call(handle, "a test");
        const auto step = seats[rank]->next(call, Deadline(10));
        if (!step || step->description.datasets.size() != datasets) {
            return "other datasets";
        }
        const auto& [name, dataset] = *step->description.datasets.begin();
        const Chunk& chunk = dataset.chunks.front();
        const auto bytes = step->access->load(chunk, dataset.dtype, name);
        const auto* const values =
            reinterpret_cast<const double*>(chunk.here() ? chunk.here() : bytes.get());
        const auto count = static_cast<std::size_t>(chunk.region.volume());
        const bool right = std::all_of(values, values + count, [&](double value) {
            return value == static_cast<double>(step->index);
        });
        step->access->finish();
        return right ? "" : "wrong numbers";
    }
    /// Writes a step, which all ranks read at the same time.
    void write_and_read(const std::vector<std::string>& datasets, Index count) {
        write(datasets, count);
        std::vector<std::string> said(seats.size());
        std::vector<std::thread> all;
        for (std::size_t rank = 0; rank < seats.size(); ++rank) {
            all.emplace_back([&, rank] { said[rank] = read_next(rank, datasets.size()); });
        }
        for (std::thread& one : all) {
            one.join();
        }
        for (const std::string& one : said) {
            CHECK(one.empty());
        }
    }
    std::uint64_t came() const {
        std::uint64_t all = 0;
        for (const auto& seat : seats) {
            for (const auto& [interface, bytes] : seat->bytes_by_interface()) {
                all += bytes;
            }
        }
        return all;
    }

    WrittenSteps stream{WriterOptions{.queue_steps = 8, .queue_bytes = 1 << 26}};
    host::Event bell;
    Contact contact = new_contact();
    RemoteService service{contact.key,
                          {&stream.stream.control, nullptr, mapped(stream.arena), false},
                          {{"127.0.0.1"}, {"127.0.0.1"}},
                          {},
                          bell};
    move::Relay relay{service.endpoints().front()};
    host::MemoryFile file;
    std::vector<std::shared_ptr<RemoteSeat>> seats;
};

/// Bytes that come for some steps.
std::uint64_t came_for(int ranks, bool share, int datasets, Index count) {
    Serving serving(ranks, share);
    for (int step = 0; step < steps; ++step) {
        // The layout repeats, and then it does not.
        serving.write_and_read(names(step < steps / 2 ? datasets : datasets - step), count);
    }
    return serving.came();
}

}  // namespace

TEST_CASE("a long description comes once for all ranks of a host, with all data of a small step") {
    constexpr int datasets = 3000, ranks = 3;
    const std::uint64_t once = came_for(1, false, datasets, few);
    CHECK(came_for(ranks, false, datasets, few) > 2.9 * static_cast<double>(once));
    CHECK(came_for(ranks, true, datasets, few) < 1.1 * static_cast<double>(once));
}

TEST_CASE("the description of a step whose data is read apart comes once, too") {
    constexpr int datasets = 2000, ranks = 3;
    const std::uint64_t once = came_for(1, false, datasets, many);
    CHECK(came_for(ranks, true, datasets, many) < 1.5 * static_cast<double>(once));
}

TEST_CASE("a short description comes to each rank with the message of the step") {
    constexpr int datasets = 20, ranks = 2;
    Serving serving(ranks, true);
    for (int step = 0; step < steps; ++step) {
        serving.write_and_read(names(datasets), few);
    }
    CHECK(serving.relay.came == ranks);  // no connection for data
}

TEST_CASE("a rank whose neighbour wants nothing gets the description by itself") {
    constexpr int datasets = 3000;
    Serving serving(2, true);
    for (int step = 0; step < 3; ++step) {
        serving.write(names(datasets), few);
        CHECK(serving.read_next(1, datasets).empty());
    }
    for (int step = 0; step < 3; ++step) {  // which it does later
        CHECK(serving.read_next(0, datasets).empty());
    }
}

TEST_CASE("a call that is interrupted while the description comes gets the same step again") {
    constexpr int datasets = 3000;
    Serving serving(1, true);
    serving.write_and_read(names(datasets), few);  // by a connection for data ...
    serving.relay.left = 0;                        // ... which brings nothing more
    serving.write(names(datasets), few);
    {
        const progress::Lookout interrupted([](double waited_s) {
            if (waited_s > 0.2) {
                throw TimedOut("interrupted");
            }
        });
        CHECK_THROWS_WITH_AS(serving.read_next(0, datasets), doctest::Contains("interrupted"),
                             TimedOut);
    }
    serving.relay.left = move::Relay::no_limit;
    CHECK(serving.read_next(0, datasets).empty());
}
