// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/exchange.hpp"

#include "fluvial/mpi/request.hpp"
#include "fluvial/mpi/tree_merge.hpp"

namespace fluvial::scan {
namespace {

constexpr int tag_answer = 1;

}  // namespace

Answer merge_to_one(const Work& work, std::optional<Answer> mine, const mpi::Comm& comm,
                    Stats& stats) {
    Answer answer = mine ? std::move(*mine) : work.new_answer(0);
    Bytes state = answer.encode();
    if (comm.rank() != 0) {
        stats.bytes_sent += static_cast<Index>(state.size());
    }
    const Bytes all =
        mpi::tree_merge(comm, std::move(state), [&](Bytes a, std::span<const std::byte> b) {
            Answer sum = work.new_answer(0);
            sum.merge_encoded(a);
            sum.merge_encoded(b);
            return sum.encode();
        });
    Answer sum = work.new_answer(0);
    sum.merge_encoded(all);
    return sum;
}

Answer merge_to_all(const Work& work, std::vector<std::optional<Answer>> mine,
                    const mpi::Comm& comm, Stats& stats) {
    ByteWriter touched;
    for (int rank = 0; rank < comm.size(); ++rank) {
        if (mine[static_cast<std::size_t>(rank)]) {
            touched.put(rank);
        }
    }
    const auto everybody = comm.allgather(touched.view());
    std::vector<mpi::Request> sends;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const auto& answer = mine[static_cast<std::size_t>(rank)];
        if (answer && rank != comm.rank()) {
            Bytes state = answer->encode();
            stats.bytes_sent += static_cast<Index>(state.size());
            sends.push_back(comm.isend(std::move(state), rank, tag_answer));
        }
    }
    const auto me = static_cast<std::size_t>(comm.rank());
    Answer sum = work.new_answer(me);
    for (int source = 0; source < comm.size(); ++source) {
        if (source == comm.rank()) {
            if (mine[me]) {
                sum.merge(*mine[me]);
            }
            continue;
        }
        ByteReader asked(everybody[static_cast<std::size_t>(source)]);
        while (!asked.done()) {
            if (asked.get<int>() == comm.rank()) {
                sum.merge_encoded(comm.recv(source, tag_answer));
            }
        }
    }
    for (mpi::Request& send : sends) {
        send.wait();
    }
    return sum;
}

}  // namespace fluvial::scan
