// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/exchange.hpp"

#include "fluvial/compute/merge_states.hpp"
#include "fluvial/mpi/request.hpp"
#include "fluvial/mpi/tree_merge.hpp"

namespace fluvial::scan {
namespace {

constexpr int tag_result = 1;

}  // namespace

PartialResult merge_to_one(const Work& work, std::optional<PartialResult> mine,
                           const mpi::Comm& comm, Stats& stats) {
    PartialResult partial_result = mine ? std::move(*mine) : work.new_partial_result(work.own);
    Bytes state = partial_result.encode();
    if (comm.rank() != 0) {
        stats.bytes_sent += static_cast<Index>(state.size());
    }
    const auto fresh = [&] { return work.new_partial_result(work.own); };
    const auto merge = [&](const Bytes& a, std::span<const std::byte> b) {
        return compute::merge_states(fresh, a, b);
    };
    const Bytes all = mpi::tree_merge(comm, std::move(state), merge);
    PartialResult sum = fresh();
    sum.merge_encoded(all);
    return sum;
}

PartialResult merge_to_all(const Work& work, std::vector<std::optional<PartialResult>> mine,
                           const Routes& routes, const mpi::Comm& comm, Stats& stats) {
    std::vector<mpi::Request> sends;
    std::optional<PartialResult>* here = nullptr;  // what this rank found for itself
    for (std::size_t i = 0; i < routes.askers.size(); ++i) {
        if (routes.askers[i] == comm.rank()) {
            here = &mine[i];
            continue;
        }
        Bytes state = mine[i] ? mine[i]->encode() : Bytes();
        mine[i].reset();
        stats.bytes_sent += static_cast<Index>(state.size());
        sends.push_back(comm.isend(std::move(state), routes.askers[i], tag_result));
    }
    PartialResult sum = work.new_partial_result(work.own);
    for (const int reader : routes.readers) {
        if (reader != comm.rank()) {
            const Bytes state = comm.recv(reader, tag_result);
            if (!state.empty()) {
                sum.merge_encoded(state);
            }
        } else if (here != nullptr && *here) {
            sum.merge(**here);
        }
    }
    for (mpi::Request& send : sends) {
        send.wait();
    }
    return sum;
}

}  // namespace fluvial::scan
