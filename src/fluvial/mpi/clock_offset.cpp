// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/clock_offset.hpp"

#include <limits>
#include <vector>

#include "fluvial/base/bytes.hpp"

namespace fluvial::mpi {

namespace {

constexpr int clock_tag = 0;
constexpr int exchanges = 10;

}  // namespace

std::int64_t clock_offset(const Comm& comm, std::int64_t (*clock_ns)()) {
    if (comm.rank() > 0) {
        std::int64_t fastest = std::numeric_limits<std::int64_t>::max();
        std::int64_t offset = 0;
        static_cast<void>(comm.recv(0, clock_tag));  // one rank after the other
        for (int i = 0; i < exchanges; ++i) {
            const std::int64_t begin = clock_ns();
            comm.send({}, 0, clock_tag);
            const std::vector<std::byte> reply = comm.recv(0, clock_tag);
            const std::int64_t end = clock_ns();
            if (end - begin >= fastest) {
                continue;
            }
            fastest = end - begin;
            offset = ByteReader(reply).get<std::int64_t>() - (begin + (end - begin) / 2);
        }
        return offset;
    }
    for (int rank = 1; rank < comm.size(); ++rank) {
        comm.send({}, rank, clock_tag);
        for (int i = 0; i < exchanges; ++i) {
            static_cast<void>(comm.recv(rank, clock_tag));
            ByteWriter now;
            now.put(clock_ns());
            comm.send(now.view(), rank, clock_tag);
        }
    }
    return 0;
}

}  // namespace fluvial::mpi
