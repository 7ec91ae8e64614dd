// SPDX-License-Identifier: Apache-2.0
/// A link for the conformance suite, and what its checks do with either end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/link.hpp"

namespace fluvial::move {

/// A link from one producer to one consumer. Each process that takes part has one, with the ends
/// that are its own: both, one, or none.
class LinkUnderTest {
  public:
    LinkUnderTest() = default;
    LinkUnderTest(const LinkUnderTest&) = delete;
    LinkUnderTest& operator=(const LinkUnderTest&) = delete;
    virtual ~LinkUnderTest() = default;

    /// Takes what has come for these ends.
    virtual void serve() = 0;
    /// Returns when all processes that take part are here.
    virtual void meet() = 0;

    std::unique_ptr<Outlet> outlet;
    std::unique_ptr<Inlet> inlet;
};

using MakeLink = std::function<std::unique_ptr<LinkUnderTest>(const LinkPlan&)>;

namespace conformance {

constexpr double patience_s = 8;

/// Byte number `at` of what a producer sends.
inline std::byte pattern(std::uint64_t at) {
    return static_cast<std::byte>((at * 0x9E3779B97F4A7C15u) >> 56);
}

/// Serves the link until `done` holds.
inline void serve_until(LinkUnderTest& link, const std::function<bool()>& done, const char* what) {
    const Deadline deadline(patience_s);
    while (!done()) {
        if (deadline.passed()) {
            throw TimedOut(what);
        }
        link.serve();
        std::this_thread::yield();
    }
}

/// One unit behind what was committed, by one of the ways that producers have; false where there is
/// no room.
inline bool produce(Outlet& outlet, std::size_t unit, unsigned way) {
    std::vector<std::byte> bytes(unit);
    for (std::size_t i = 0; i < unit; ++i) {
        bytes[i] = pattern(outlet.committed() + i);
    }
    if (way % 3 == 0) {
        std::byte* const lent = outlet.try_lend(unit);
        if (lent != nullptr) {
            std::copy(bytes.begin(), bytes.end(), lent);
            outlet.give_back(unit);
        }
        return lent != nullptr;
    }
    std::byte* const room = outlet.try_reserve(unit);
    if (room == nullptr) {
        return false;
    }
    CHECK(outlet.try_reserve(unit) == room);
    if (way % 3 == 1) {
        outlet.fill(room, bytes.data(), unit);
    } else {
        std::copy(bytes.begin(), bytes.end(), room);
    }
    outlet.commit(unit);
    outlet.hurry();
    return true;
}

/// Checks and releases what has arrived, whole units and `bytes_max` at most; the number of bytes.
inline std::size_t consume(Inlet& inlet, std::size_t unit, std::uint64_t taken,
                           std::size_t bytes_max) {
    const Arrival arrival = inlet.ready();
    if (arrival.bytes.empty()) {
        return 0;
    }
    CHECK(arrival.first == taken);
    CHECK(arrival.bytes.size() % unit == 0);
    const std::size_t bytes =
        std::min(arrival.bytes.size(), std::max(unit, bytes_max / unit * unit));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        wrong += arrival.bytes[i] != pattern(taken + i) ? 1 : 0;
    }
    CHECK(wrong == 0);
    inlet.release(bytes);
    return bytes;
}

/// Commits what there is room for while the inlet takes nothing.
inline void fill_up(LinkUnderTest& link, std::size_t unit, std::uint64_t limit) {
    const std::int64_t calm_ns = 50'000'000;  // so long without room, it is full
    std::int64_t since = now_ns();
    while (now_ns() - since < calm_ns && link.outlet->committed() <= limit) {
        if (produce(*link.outlet, unit, 1)) {
            since = now_ns();
        } else {
            link.outlet->flush();
            link.outlet->progress();
        }
    }
}

inline void close(LinkUnderTest& link) {
    if (link.outlet) {
        serve_until(
            link,
            [&] {
                link.outlet->flush();
                return link.outlet->flushed();
            },
            "a link is never flushed");
        link.outlet->close();
    }
}

inline void finish(LinkUnderTest& link) {
    serve_until(
        link,
        [&] {
            return (!link.inlet || link.inlet->ended()) &&
                   (!link.outlet || (link.outlet->finished() && link.outlet->drained()));
        },
        "a link does not end");
    if (link.inlet) {
        CHECK(link.inlet->depth() == 0);
        CHECK(link.inlet->ready().bytes.empty());
    }
    link.meet();
}

}  // namespace conformance

}  // namespace fluvial::move
