// SPDX-License-Identifier: Apache-2.0
/// What tests of results that stay on their ranks have in common.
#pragma once

#include <cstdint>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

namespace fluvial::flow {

inline constexpr std::size_t large = 3'000'000;

/// As many bytes as it is told, all of which say where it ran.
inline Bytes make(const Call& call) {
    const auto size = ByteReader(call.inputs.front()).get<std::uint64_t>();
    return Bytes(size, static_cast<std::byte>(world_rank()));
}

/// Where it runs, and for each input its size and where that was made.
inline Bytes look(const Call& call) {
    ByteWriter out;
    out.put(world_rank());
    for (const auto input : call.inputs) {
        out.put<std::uint64_t>(input.size());
        out.put(static_cast<int>(input.front()));
        if (input.front() != input.back()) {
            throw Error("an input is not what was made");
        }
    }
    return out.take();
}

/// Bytes that are allocated on the rank that runs it.
inline Bytes allocated(const Call&) {
#ifdef __GLIBC__
    const struct mallinfo2 now = mallinfo2();
    return bytes_of<std::uint64_t>(now.uordblks + now.hblkhd);
#else
    return bytes_of<std::uint64_t>(0);
#endif
}

struct Seen {
    std::uint64_t size = 0;
    int made_on = -1;
};

/// What look() says: where it ran, and what it saw.
inline int ran_on(const Future& future, std::vector<Seen>& seen) {
    ByteReader in(future.get());
    const int rank = in.get<int>();
    for (seen.clear(); !in.done();) {
        const auto size = in.get<std::uint64_t>();
        seen.push_back({size, in.get<int>()});
    }
    return rank;
}

}  // namespace fluvial::flow
