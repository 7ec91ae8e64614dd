// SPDX-License-Identifier: Apache-2.0
/// What every link promises, whatever carries it: every byte once and in order, bounded memory, an
/// end that overtakes nothing, and ends that let go at once, also of a peer that is lost. The tests
/// of each kind of link call check_link() with a way to make one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/link_under_test.hpp"

namespace fluvial::move {

namespace conformance {

/// Every byte arrives once, in order, whatever the sizes; then the end, and not before.
inline void check_delivery(const MakeLink& make, const LinkPlan& plan, std::uint32_t seed) {
    CAPTURE(plan.unit_bytes);
    CAPTURE(plan.buffer_bytes);
    const auto link = make(plan);
    std::mt19937 random(seed);
    const std::size_t unit = plan.unit_bytes;
    const std::uint64_t total =
        std::clamp<std::uint64_t>(20 * plan.buffer_bytes, 300 * unit, 1'000'000) / unit * unit;
    std::uint64_t taken = 0;
    bool closed = !link->outlet;
    serve_until(
        *link,
        [&] {
            for (unsigned n = random() % 16; link->outlet && n > 0; --n) {
                if (link->outlet->committed() == total || !produce(*link->outlet, unit, random())) {
                    break;
                }
            }
            if (!closed && link->outlet->committed() == total) {
                link->outlet->flush();
                if (link->outlet->flushed()) {
                    link->outlet->close();
                    closed = true;
                }
            }
            if (link->inlet && taken < total) {
                CHECK_FALSE(link->inlet->ended());
                taken += consume(*link->inlet, unit, taken, 1 + random() % (8 * unit));
            }
            return closed && (!link->inlet || taken == total);
        },
        "not everything arrives");
    finish(*link);
}

/// A producer whose consumer takes nothing runs out of room within the plan's memory; room comes
/// back with what is released, and nothing was lost.
inline void check_back_pressure(const MakeLink& make, std::size_t unit, std::size_t buffer) {
    CAPTURE(unit);
    const LinkPlan plan{.unit_bytes = unit, .piece_bytes_max = unit, .buffer_bytes = buffer};
    const auto link = make(plan);
    const std::uint64_t both_ends = 2 * buffer;
    if (link->outlet) {
        fill_up(*link, unit, both_ends);
        CHECK(link->outlet->committed() >= unit);
        CHECK(link->outlet->committed() <= both_ends);
    }
    link->meet();
    std::uint64_t taken = 0;
    bool again = !link->outlet;
    if (link->inlet) {
        CHECK(link->inlet->memory() <= buffer);
    }
    serve_until(
        *link,
        [&] {
            if (link->inlet) {
                taken += consume(*link->inlet, unit, taken, buffer);
            }
            again = again || produce(*link->outlet, unit, 2);
            return again && (!link->inlet || taken > 0);
        },
        "room does not come back");
    bool closed = !link->outlet;
    serve_until(
        *link,
        [&] {
            if (!closed) {
                link->outlet->flush();
                if (link->outlet->flushed()) {
                    link->outlet->close();
                    closed = true;
                }
            }
            if (link->inlet) {
                taken += consume(*link->inlet, unit, taken, buffer);
            }
            return closed && (!link->inlet || link->inlet->ended());
        },
        "what was held back does not arrive");
    finish(*link);
}

/// What was sent off stays as it was after the producer's end is gone, whatever comes into the
/// memory that was its own.
inline void check_sent_off(const MakeLink& make) {
    constexpr std::size_t buffer = std::size_t{1} << 20;
    constexpr std::uint64_t sent = buffer / 4;  // without a reply of the consumer, which sleeps
    constexpr double never_s = 60;              // flushes alone send, so that the credits suffice
    const auto link =
        make({.unit_bytes = 8, .piece_bytes_max = 8, .buffer_bytes = buffer, .latency_s = never_s});
    link->meet();
    if (link->outlet) {
        while (link->outlet->committed() < sent) {
            REQUIRE(produce(*link->outlet, 8, 1));
            if (link->outlet->committed() % (sent / 2) == 0) {
                link->outlet->flush();
            }
        }
        REQUIRE(link->outlet->flushed());
        link->outlet->abandon();
        link->outlet.reset();
        std::vector<std::vector<std::byte>> others;
        for (std::size_t bytes = 4096; bytes <= 2 * buffer; bytes *= 2) {
            others.emplace_back(bytes, std::byte{0xA5});
        }
        CHECK(others.back().back() == std::byte{0xA5});
    } else if (link->inlet) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::uint64_t taken = 0;
    if (link->inlet) {
        serve_until(
            *link, [&] { return (taken += consume(*link->inlet, 8, taken, buffer)) == sent; },
            "what was sent off does not arrive");
        CHECK_FALSE(link->inlet->ended());
    }
    link->meet();
}

/// A link that is given up with units on their way leaves none of them to the next one.
inline void check_next_link(const MakeLink& make, std::uint32_t seed) {
    const LinkPlan plan{.unit_bytes = 8, .piece_bytes_max = 8, .buffer_bytes = 1 << 12};
    {
        const auto link = make(plan);
        for (int n = 0; link->outlet && n < 256; ++n) {
            std::byte* const room = link->outlet->try_reserve(8);
            REQUIRE(room != nullptr);
            std::fill_n(room, 8, std::byte{0xEE});
            link->outlet->commit(8);
        }
        if (link->outlet) {
            link->outlet->flush();
        }
        link->meet();
        link->outlet.reset();
        link->inlet.reset();
    }
    check_delivery(make, plan, seed);
}

/// An end that is given up in the middle of its work goes at once.
inline void check_cancel(const MakeLink& make) {
    const auto link = make({.unit_bytes = 8, .piece_bytes_max = 8, .buffer_bytes = 1 << 16});
    for (int n = 0; link->outlet && n < 1000; ++n) {
        CHECK(produce(*link->outlet, 8, static_cast<unsigned>(n)));
    }
    const std::int64_t begin = now_ns();
    if (link->outlet) {
        link->outlet->abandon();
    }
    link->outlet.reset();
    link->inlet.reset();
    CHECK(now_ns() - begin < 5'000'000'000);
    link->meet();
}

/// A producer that is lost has not closed: what has arrived stays readable, and that is no end.
inline void check_lost_producer(const MakeLink& make) {
    const auto link = make({.unit_bytes = 8, .piece_bytes_max = 8, .buffer_bytes = 1 << 16});
    constexpr std::uint64_t sent = 50 * 8;
    if (link->outlet) {
        while (link->outlet->committed() < sent) {
            REQUIRE(produce(*link->outlet, 8, 1));
        }
        serve_until(
            *link,
            [&] {
                link->outlet->flush();
                return link->outlet->flushed();
            },
            "a link is never flushed");
    }
    constexpr std::uint64_t kept = 8;  // the last of them; what is released makes room for more
    std::uint64_t taken = 0;
    if (link->inlet) {
        serve_until(
            *link,
            [&] {
                if (taken < sent - kept) {
                    taken += consume(*link->inlet, 8, taken, sent - kept - taken);
                }
                return taken == sent - kept && link->inlet->depth() == kept;
            },
            "not everything arrives");
    }
    link->meet();
    if (link->outlet) {
        link->outlet->abandon();
        link->outlet.reset();
    }
    link->meet();
    if (link->inlet) {
        serve_until(
            *link, [&] { return (taken += consume(*link->inlet, 8, taken, sent)) == sent; },
            "what has arrived is lost");
        for (int n = 0; n < 1000; ++n) {
            link->serve();
            CHECK(link->inlet->ready().bytes.empty());
            CHECK_FALSE(link->inlet->ended());
        }
    }
    link->meet();
}

/// A producer whose consumer is lost is never blocked: it finds no room, and can be given up.
inline void check_lost_consumer(const MakeLink& make) {
    const std::size_t buffer = 1 << 16;
    const auto link = make({.unit_bytes = 8, .piece_bytes_max = 8, .buffer_bytes = buffer});
    link->inlet.reset();
    link->meet();
    if (link->outlet) {
        const std::int64_t begin = now_ns();
        // On a busy machine MPI may take what was sent only after a while in which all seems full.
        for (int looks = 0; looks < 20; ++looks) {
            fill_up(*link, 8, 2 * buffer);
            if (link->outlet->try_reserve(8) == nullptr) {
                break;
            }
        }
        CHECK(link->outlet->committed() <= 2 * buffer);
        CHECK(link->outlet->try_reserve(8) == nullptr);
        link->outlet->abandon();
        link->outlet.reset();
        CHECK(now_ns() - begin < 20'000'000'000);
    }
    link->meet();
}

}  // namespace conformance

/// Delivery, order, back-pressure, and the end. Collective over the processes that take part.
inline void check_flow(const MakeLink& make) {
    const std::uint32_t seed = test_seed(4711);
    using namespace conformance;
    for (const std::size_t unit : {8, 24, 4096, 100'000}) {
        for (const std::size_t units : {1, 3, 200}) {
            if (unit * units <= (std::size_t{4} << 20)) {
                check_delivery(
                    make,
                    {.unit_bytes = unit, .piece_bytes_max = unit, .buffer_bytes = unit * units},
                    seed + static_cast<std::uint32_t>(unit + units));
            }
        }
    }
    check_back_pressure(make, 16, 1 << 16);
    check_back_pressure(make, 10'000, 1 << 17);
}

/// All of it, with ends that are given up or lost.
inline void check_link(const MakeLink& make) {
    using namespace conformance;
    check_flow(make);
    check_cancel(make);
    check_next_link(make, test_seed(4711));
    check_sent_off(make);
    check_lost_producer(make);
    check_lost_consumer(make);
}

}  // namespace fluvial::move
