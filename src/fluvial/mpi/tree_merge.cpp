// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/tree_merge.hpp"

#include <utility>

#include "fluvial/mpi/failure.hpp"

namespace fluvial::mpi {

namespace {

// The last byte of each message says what the rest is: behind the data, so that taking it off moves
// nothing.
constexpr std::byte is_partial{0};
constexpr std::byte is_failure{1};

bool failed(const std::vector<std::byte>& message) {
    return message.back() == is_failure;
}

std::vector<std::byte> marked(std::vector<std::byte> bytes, std::byte mark) {
    bytes.push_back(mark);
    return bytes;
}

std::vector<std::byte> unmarked(std::vector<std::byte> message) {
    message.pop_back();
    return message;
}

/// The merged partial of two messages, or the first failure.
std::vector<std::byte> combined(int rank, std::vector<std::byte> a, std::vector<std::byte> b,
                                const Merge& merge) {
    if (failed(a)) {
        return a;
    }
    if (failed(b)) {
        return b;
    }
    std::vector<std::byte> result;
    const auto failure = failure_of(
        rank, [&] { result = merge(unmarked(std::move(a)), std::span(b).first(b.size() - 1)); });
    return failure ? marked(failure->to_bytes(), is_failure)
                   : marked(std::move(result), is_partial);
}

}  // namespace

std::vector<std::byte> tree_merge(const Comm& comm, std::vector<std::byte> mine, const Merge& merge,
                                  bool result_on_all) {
    const int rank = comm.rank();
    const int size = comm.size();
    if (size == 1) {
        return mine;
    }
    mine = marked(std::move(mine), is_partial);
    for (int distance = 1; distance < size; distance *= 2) {
        if (rank % (2 * distance) != 0) {
            comm.send(mine, rank - distance, tag_tree_merge);
            mine = {};
            break;
        }
        if (rank + distance < size) {
            mine =
                combined(rank, std::move(mine), comm.recv(rank + distance, tag_tree_merge), merge);
        }
    }
    // Without the result on all, the mark alone goes down: a failure must reach all ranks either
    // way.
    const bool whole = result_on_all || (rank == 0 && failed(mine));
    std::span<const std::byte> down = mine;
    if (rank == 0 && !whole) {
        down = down.last(1);
    }
    std::vector<std::byte> result = comm.bcast(down, 0);
    if (failed(result)) {
        Failure::from_bytes(std::span(result).first(result.size() - 1)).raise(size);
    }
    if (!result_on_all) {
        return rank == 0 ? unmarked(std::move(mine)) : std::vector<std::byte>();
    }
    return unmarked(std::move(result));
}

}  // namespace fluvial::mpi
