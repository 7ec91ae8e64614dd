// SPDX-License-Identifier: Apache-2.0
/// Tasks that tests of a pool have in common, and where they are to run.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/flow/pool.hpp"

namespace fluvial::flow {

template <class T>
Bytes bytes_of(const T& value) {
    ByteWriter out;
    out.put(value);
    return out.take();
}
template <class T>
T value_of(std::span<const std::byte> bytes) {
    return ByteReader(bytes).get<T>();
}

inline Bytes add_up(const Call& call) {
    std::int64_t sum = 0;
    for (const auto input : call.inputs) {
        sum += value_of<std::int64_t>(input);
    }
    return bytes_of(sum);
}

/// The sum over the team of what each rank has, times the width.
inline Bytes over_team(const Call& call) {
    const auto mine = value_of<std::int64_t>(call.inputs.front()) + call.team.rank();
    return bytes_of<std::int64_t>(call.team.sum(mine) * call.team.size());
}

inline Bytes fail_on(const Call& call) {
    const auto rank = value_of<std::int64_t>(call.inputs.front());
    if (call.team.rank() == rank) {
        throw OutOfRange("this rank of the team was told to fail");
    }
    return {};
}

inline Bytes sleep_ms(const Call& call) {
    const auto ms = value_of<std::int64_t>(call.inputs.front());
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    return call.inputs.size() > 1 ? Bytes(call.inputs[1].begin(), call.inputs[1].end()) : Bytes();
}

/// Both would go on for longer than a test may take.
inline Bytes until_cancelled(const Call&) {
    while (!task_cancelled()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
}

inline Bytes wait_in_vain(const Call&) {
    wait_until([] { return false; }, "nothing came");
    return {};
}

/// On this rank of the team; the others wait for it in their communicator.
inline Bytes fail_or_wait(const Call& call) {
    fail_on(call);
    return bytes_of<std::int64_t>(call.team.sum(std::int64_t{1}));
}

inline Functions common_functions() {
    Functions all;
    all.add("add up", add_up);
    all.add("over team", over_team, Runs::Parallel);
    all.add("fail on", fail_on, Runs::Parallel);
    all.add("sleep", sleep_ms);
    all.add("fail or wait", fail_or_wait, Runs::Parallel);
    all.add("asks", until_cancelled);
    all.add("waits", wait_in_vain);
    return all;
}

/// On a team of so many ranks.
inline TaskOptions on(int ranks) {
    TaskOptions options;
    options.ranks = {ranks, ranks, {}};
    return options;
}

/// On this rank alone.
inline TaskOptions at(int rank) {
    TaskOptions options;
    options.near = Near{rank, false, true};
    return options;
}

/// Cancels tasks that run, on a rank of these options, in what computes and in what waits.
inline void cancel_what_runs(Pool& pool, const TaskOptions& where) {
    for (const char* const function : {"asks", "waits"}) {
        const Future future = pool.submit(function, {bytes_of<std::int64_t>(0)}, where);
        while (future.state()->phase.load() != Phase::Running) {
            pool.wait_for_some(0.001);
        }
        CHECK_FALSE(future.cancel());
        CHECK(future.cancel(true));
        CHECK(future.cancel(true));  // again
        CHECK_THROWS_AS(future.get(), TaskCancelled);
        const Future next = pool.submit("sleep", {bytes_of<std::int64_t>(0)}, where);
        CHECK_NOTHROW(next.get());
    }
}

/// The number that the task returned.
inline std::int64_t got(const Future& future) {
    return value_of<std::int64_t>(future.get());
}

}  // namespace fluvial::flow
