// SPDX-License-Identifier: Apache-2.0
/// Tasks that tests of a pool have in common, and where they are to run.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

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

inline Functions common_functions() {
    Functions all;
    all.add("add up", add_up);
    all.add("over team", over_team, Runs::Parallel);
    all.add("fail on", fail_on, Runs::Parallel);
    all.add("sleep", sleep_ms);
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

/// The number that the task returned.
inline std::int64_t got(const Future& future) {
    return value_of<std::int64_t>(future.get());
}

}  // namespace fluvial::flow
