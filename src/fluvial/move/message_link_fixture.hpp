// SPDX-License-Identifier: Apache-2.0
/// What tests of message links have in common.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/link.hpp"
#include "fluvial/mpi/world_fixture.hpp"

namespace fluvial::move {

/// Without the naps of mpi::wait_for: each call does a part of the work.
inline void wait(const std::function<bool()>& done) {
    const Deadline deadline(15);
    while (!done()) {
        if (deadline.passed()) {
            throw TimedOut("a rank did not do its part in time");
        }
        std::this_thread::yield();
    }
}

/// Item number n of what producer p sends to consumer c.
inline std::uint64_t item(int p, int c, std::uint64_t n) {
    return (static_cast<std::uint64_t>(p) << 56) + (static_cast<std::uint64_t>(c) << 48) + n;
}

/// What one rank has of a stream: outlets to all consumers, an inlet from all producers.
struct Ends {
    Ends(const LinkPlan& plan, std::vector<int> producers, std::vector<int> consumers)
        : plan(plan), consumers(std::move(consumers)) {
        const auto among = [&](const std::vector<int>& ranks) {
            return std::count(ranks.begin(), ranks.end(), comm.rank()) > 0;
        };
        next.resize(static_cast<std::size_t>(comm.size()));
        if (among(this->consumers)) {
            inlet = make_message_inlet(plan, comm, producers);
        }
        if (!among(producers)) {
            return;
        }
        for (const int peer : this->consumers) {
            outlets.push_back(make_message_outlet(plan, comm, control, peer));
        }
    }
    ~Ends() {
        wait([&] { return control.sent(); });
        comm.barrier();
        outlets.clear();
        inlet.reset();
        comm.close();
    }

    void take_control_messages() {
        while (const auto message = control.poll()) {
            CHECK(message->topic == topic_link_closed);
            inlet->take(*message);
        }
    }
    /// Checks what has arrived, `bytes_max` at most.
    void consume(std::size_t bytes_max) {
        if (!inlet) {
            return;
        }
        take_control_messages();
        inlet->progress();
        const Arrival arrival = inlet->ready();
        if (arrival.bytes.empty()) {
            return;
        }
        const std::size_t bytes =
            std::min(bytes_max, arrival.bytes.size()) / plan.unit_bytes * plan.unit_bytes;
        std::uint64_t& expected = next[static_cast<std::size_t>(arrival.producer)];
        CHECK(arrival.first == expected * 8);
        CHECK(arrival.bytes.size() % plan.unit_bytes == 0);
        bool right = true;
        for (std::size_t i = 0; i < bytes; i += 8) {
            std::uint64_t value = 0;
            std::memcpy(&value, arrival.bytes.data() + i, 8);
            right &= value == item(arrival.producer, comm.rank(), expected++);
        }
        CHECK(right);
        inlet->release(bytes);
    }
    void progress() {
        for (auto& outlet : outlets) {
            outlet->progress();
        }
        consume(std::size_t{1} << 30);
    }
    /// Appends one unit to outlet number `to`; false when there is no room.
    bool produce(std::size_t to) {
        Outlet& outlet = *outlets[to];
        std::byte* room = outlet.try_reserve(plan.unit_bytes);
        if (room == nullptr) {
            return false;
        }
        fill(room, to);
        outlet.commit(plan.unit_bytes);
        return true;
    }
    void fill(std::byte* unit, std::size_t to) {
        const std::uint64_t first = outlets[to]->committed() / 8;
        for (std::size_t i = 0; i < plan.unit_bytes; i += 8) {
            const std::uint64_t value = item(comm.rank(), consumers[to], first + i / 8);
            std::memcpy(unit + i, &value, 8);
        }
    }
    void close() {
        for (auto& outlet : outlets) {
            wait([&] {
                outlet->flush();
                progress();
                return outlet->flushed();
            });
            outlet->close();
        }
    }
    /// After close(), until everything is over.
    void finish() {
        wait([&] {
            progress();
            bool over = !inlet || inlet->ended();
            for (auto& outlet : outlets) {
                over = outlet->finished() && outlet->drained() && over;
            }
            return over;
        });
    }

    LinkPlan plan;
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    progress::ControlMessages control{comm};
    std::vector<int> consumers;
    std::unique_ptr<MessageInlet> inlet;
    std::vector<std::unique_ptr<Outlet>> outlets;
    std::vector<std::uint64_t> next;  ///< of each producer
};

inline std::vector<int> ranks(int first, int end) {
    std::vector<int> all;
    for (int r = first; r < end; ++r) {
        all.push_back(r);
    }
    return all;
}

}  // namespace fluvial::move
