// SPDX-License-Identifier: Apache-2.0
// Both ends of message links. Rank 0 consumes what the other ranks produce, unless said otherwise.
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/link.hpp"
#include "fluvial/move/message_flow.hpp"
#include "fluvial/move/message_link_fixture.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

void nap(double s) {
    std::this_thread::sleep_for(std::chrono::duration<double>(s));
}

LinkPlan plan_of(std::size_t unit, std::size_t buffer) {
    return {.unit_bytes = unit, .piece_bytes_max = unit, .buffer_bytes = buffer};
}

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

TEST_CASE("every unit arrives once and in order, whatever the sizes") {
    for (const bool same_host : {false, true}) {
        for (const std::size_t unit : {8, 24, 512, 4000, 40000}) {
            for (const std::size_t buffer : {std::size_t{1}, std::size_t{1} << 12,
                                             std::size_t{1} << 16, std::size_t{1} << 20}) {
                CAPTURE(unit);
                CAPTURE(buffer);
                LinkPlan plan = plan_of(unit, buffer);
                plan.same_host = same_host;
                Ends ends(plan, ranks(1, world_size()), {0});
                const std::uint64_t units = buffer == 1 ? 100 : 300 + 200'000 / unit;
                if (ends.inlet) {
                    CHECK(ends.inlet->memory() <=
                          static_cast<std::size_t>(world_size() - 1) *
                              std::max((unit + 63) / 64 * 64, std::max(buffer, buffer / 64 * 64)));
                } else {
                    for (std::uint64_t n = 0; n < units; ++n) {
                        wait([&] { return ends.produce(0) || (ends.progress(), false); });
                    }
                }
                ends.close();
                ends.finish();
                for (int p = 1; p < world_size() && ends.inlet; ++p) {
                    CHECK(ends.next[static_cast<std::size_t>(p)] == units * unit / 8);
                }
            }
        }
    }
}

TEST_CASE("all ranks are producers and consumers at once, at random") {
    LinkPlan plan = plan_of(24, 1 << 14);
    plan.stream = 5;
    Ends ends(plan, ranks(0, world_size()), ranks(0, world_size()));
    const unsigned seed = 4711u + static_cast<unsigned>(ends.comm.rank());
    std::mt19937 random(seed);
    for (int n = 0; n < 60'000; ++n) {
        const std::size_t to = random() % ends.outlets.size();
        wait([&] { return ends.produce(to) || (ends.progress(), false); });
        if (random() % 1000 == 0) {
            ends.outlets[to]->flush();
        }
        if (random() % 100 == 0) {
            ends.outlets[to]->progress();
        }
        if (random() % 300 == 0) {
            ends.consume(random() % 2000);
        }
    }
    ends.close();
    ends.finish();
    std::uint64_t items = 0;
    for (const std::uint64_t of_producer : ends.next) {
        items += of_producer;
    }
    CHECK(ends.comm.sum(static_cast<Index>(items)) == Index{60'000} * 3 * world_size());
}

TEST_CASE("units go directly from where they lie, between others and in order") {
    for (const bool same_host : {true, false}) {
        for (const std::size_t unit_bytes : {std::size_t{32768}, std::size_t{300'000}}) {
            // Inside a host large buffers have room for copies of all but the largest.
            LinkPlan plan =
                plan_of(unit_bytes, (same_host && unit_bytes < 65536 ? 4 : 16) * unit_bytes);
            plan.same_host = same_host;
            Ends ends(plan, ranks(1, world_size()), {0});
            if (!ends.inlet) {
                CHECK(ends.outlets[0]->direct_from() <= unit_bytes);
                std::mt19937 random(17);
                for (int n = 0; n < 500; ++n) {
                    if (random() % 2 == 0) {
                        wait([&] { return ends.produce(0) || (ends.progress(), false); });
                        continue;
                    }
                    auto unit = std::make_shared<std::vector<std::byte>>(unit_bytes);
                    ends.fill(unit->data(), 0);
                    const std::weak_ptr<std::vector<std::byte>> alive = unit;
                    std::optional<mpi::Request> request;
                    wait([&] {
                        request = ends.outlets[0]->try_direct(*unit, n % 3 == 0 ? nullptr : unit);
                        return request.has_value() || (ends.progress(), false);
                    });
                    if (n % 3 != 0) {
                        unit.reset();
                    }
                    wait([&] { return request->test(); });
                    CHECK((alive.expired() || n % 3 == 0));
                }
            }
            ends.close();
            ends.finish();
            for (int p = 1; p < world_size() && ends.inlet; ++p) {
                CHECK(ends.next[static_cast<std::size_t>(p)] == 500 * unit_bytes / 8);
            }
        }
    }
}

TEST_CASE("large messages inside a host are made of small units and of large ones") {
    for (const std::size_t unit : {24, 4096, 65536, 262'144}) {
        for (const std::size_t buffer : {std::size_t{1} << 20, std::size_t{5} << 20}) {
            CAPTURE(unit);
            CAPTURE(buffer);
            LinkPlan plan = plan_of(unit, buffer);
            plan.same_host = true;
            Ends ends(plan, ranks(1, world_size()), {0});
            const std::uint64_t units = (std::uint64_t{12} << 20) / unit;
            if (ends.inlet) {
                CHECK(ends.inlet->memory() <= static_cast<std::size_t>(world_size() - 1) * buffer);
            } else {
                CHECK(ends.outlets[0]->direct_from() > unit);
                std::mt19937 random(3);
                for (std::uint64_t n = 0; n < units; ++n) {
                    wait([&] { return ends.produce(0) || (ends.progress(), false); });
                    if (random() % 5000 == 0) {
                        ends.outlets[0]->flush();
                    }
                }
            }
            ends.close();
            ends.finish();
            for (int p = 1; p < world_size() && ends.inlet; ++p) {
                CHECK(ends.next[static_cast<std::size_t>(p)] == units * unit / 8);
            }
        }
    }
}

void check_held_up(bool same_host, std::size_t buffer) {
    LinkPlan plan = plan_of(8, buffer);
    plan.same_host = same_host;
    Ends ends(plan, ranks(1, world_size()), {0});
    if (!ends.inlet) {
        std::uint64_t most = 0;
        const Deadline until(0.3);
        while (!until.passed()) {
            if (ends.produce(0)) {
                ++most;
            } else {
                ends.outlets[0]->progress();
            }
        }
        // What the receives and the batches hold, and not a unit more.
        CHECK(most * 8 <= 2 * buffer);
        CHECK(most * 8 >= buffer);
    }
    ends.comm.barrier();
    ends.close();
    ends.finish();
}

TEST_CASE("a consumer that takes nothing holds up its producers, within the buffers") {
    check_held_up(false, 1 << 16);
    check_held_up(true, 1 << 16);
    check_held_up(true, 1 << 21);
}

TEST_CASE("the end never overtakes the data") {
    Ends ends(plan_of(8, 1 << 16), ranks(1, world_size()), {0});
    if (ends.inlet) {
        ends.comm.barrier();
        for (int closed = 1; closed < world_size();) {
            if (const auto message = ends.control.poll()) {
                ends.inlet->take(*message);
                ++closed;
            }
        }
        CHECK_FALSE(ends.inlet->ended());
        std::uint64_t items = 0;
        while (!ends.inlet->ended()) {
            const std::size_t bytes = ends.inlet->ready().bytes.size();
            items += bytes / 8;
            ends.inlet->release(bytes);
        }
        CHECK(items == 1000u * static_cast<unsigned>(world_size() - 1));
    } else {
        for (int n = 0; n < 1000; ++n) {
            CHECK(ends.produce(0));
        }
        ends.close();
        ends.comm.barrier();
    }
    ends.finish();
}

TEST_CASE("a producer that sent nothing ends too") {
    Ends ends(plan_of(8, 1 << 16), ranks(1, world_size()), {0});
    ends.close();
    ends.finish();
    CHECK((!ends.inlet || ends.inlet->ready().bytes.empty()));
}

TEST_CASE("elements of a producer that does something else arrive within the latency bound") {
    LinkPlan plan = plan_of(8, 1 << 16);
    plan.latency_s = 2e-3;
    Ends ends(plan, {1}, {0});
    // More pauses than there are credits: the credits must come back without the producer too.
    constexpr int pauses = 40;
    constexpr double pause_s = 0.04;
    std::vector<std::int64_t> times(2 * pauses);
    ends.comm.barrier();
    if (ends.comm.rank() == 1) {
        for (int n = 0; n < pauses; ++n) {
            times[static_cast<std::size_t>(n)] = now_ns();
            REQUIRE(ends.produce(0));
            if (n % 3 == 0) {
                REQUIRE(ends.produce(0));
            }
            nap(pause_s);
        }
    } else if (ends.comm.rank() == 0) {
        std::uint64_t seen = 0;
        int n = 0;
        wait([&] {
            ends.consume(std::size_t{1} << 30);
            if (ends.next[1] > seen && n < pauses) {
                times[static_cast<std::size_t>(pauses + n)] = now_ns();
                seen += n % 3 == 0 ? 2 : 1;
                ++n;
            }
            return n == pauses;
        });
    }
    const auto all = ends.comm.allgather(std::as_bytes(std::span(times)));
    std::memcpy(times.data(), all[1].data(), pauses * sizeof(std::int64_t));
    std::memcpy(times.data() + pauses, all[0].data() + pauses * 8, pauses * sizeof(std::int64_t));
    int late = 0;
    double worst = 0;
    for (std::size_t n = 0; n < pauses; ++n) {
        const double took = static_cast<double>(times[n + pauses] - times[n]) * 1e-9;
        worst = std::max(worst, took);
        late += took > pause_s / 2;
    }
    MESSAGE("worst ", worst * 1e3, " ms");
    CHECK(late <= pauses / 2);  // a busy machine holds up some; all, if they wait for the producer
    ends.close();
    ends.finish();
}

TEST_CASE("what was reserved before a pause and committed after it leaves too") {
    LinkPlan plan = plan_of(8, 1 << 16);
    for (const double pause_s : {0.05, 1.5}) {  // the flusher looks now and then, and not any more
        Ends ends(plan, {1}, {0});
        if (ends.comm.rank() == 1) {
            Outlet& outlet = *ends.outlets[0];
            REQUIRE(ends.produce(0));
            std::byte* const room = outlet.try_reserve(8);
            REQUIRE(room != nullptr);
            nap(pause_s);
            CHECK(outlet.room() == 0);
            CHECK(outlet.try_reserve(8) == room);
            nap(pause_s);
            ends.fill(room, 0);
            outlet.commit(8);
            if (pause_s > 1) {
                outlet.progress();
            }
        } else if (ends.comm.rank() == 0) {
            wait([&] {
                ends.consume(std::size_t{1} << 30);
                return ends.next[1] == 2;
            });
        }
        ends.comm.barrier();
        ends.close();
        ends.finish();
    }
}

TEST_CASE("the flusher sleeps while there is nothing to do") {
    Ends ends(plan_of(8, 1 << 16), ranks(1, world_size()), {0});
    if (!ends.inlet) {
        CHECK(ends.produce(0));
    }
    const auto cpu_ns = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return t.tv_sec * 1'000'000'000 + t.tv_nsec;
    };
    nap(0.1);
    constexpr std::int64_t little_ns = 25'000'000;
    auto least = std::numeric_limits<std::int64_t>::max();
    for (int window = 0; window < 5 && least >= little_ns; ++window) {  // others slow some of them
        const auto before = cpu_ns();
        nap(0.5);
        least = std::min<std::int64_t>(least, cpu_ns() - before);
    }
    CHECK(least < little_ns);
    ends.close();
    ends.finish();
}

TEST_CASE("links given up in the middle let go at once, and many leave nothing behind") {
    std::uint64_t before = 0;
    for (int n = 0; n < 600; ++n) {
        if (n == 100) {
            before = resident_kib();
        }
        Ends ends(plan_of(8, 1 << 19), ranks(1, world_size()), {0});
        if (!ends.inlet && n % 2 == 0) {
            CHECK(ends.produce(0));
        }
        ends.close();
        ends.finish();
    }
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
    CHECK(resident_kib() < before + 4096);
#endif
    {
        Ends ends(plan_of(8, 1 << 16), ranks(1, world_size()), {0});
        if (!ends.inlet) {
            for (int n = 0; n < 1000; ++n) {
                CHECK(ends.produce(0));
            }
        }
        const std::int64_t start = now_ns();
        ends.outlets.clear();
        ends.inlet.reset();
        CHECK(now_ns() - start < 5'000'000'000);
    }
}
