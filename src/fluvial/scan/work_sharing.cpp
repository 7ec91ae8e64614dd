// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/work_sharing.hpp"

#include <algorithm>
#include <new>

#include "fluvial/base/error.hpp"

namespace fluvial::scan {
namespace {

std::uint64_t packed(Index begin, Index end) {
    return static_cast<std::uint64_t>(begin) << 32 | static_cast<std::uint64_t>(end);
}

UnitRange unpacked(std::uint64_t left) {
    return {static_cast<Index>(left >> 32), static_cast<Index>(left & 0xffffffffU)};
}

Index units_in(const UnitRange& range) {
    return range.second - range.first;
}

/// Fewer and fewer towards the end, so that all lanes end together.
Index batch_of(Index left, Index most) {
    return std::min(most, std::max<Index>(left / 4, 1));
}

enum class Side : std::uint8_t { Front, Back };

std::optional<UnitRange> take_from(Side side, Share& share, Index most) {
    std::uint64_t left = share.left.load();
    for (;;) {
        const auto [begin, end] = unpacked(left);
        if (begin >= end) {
            return std::nullopt;
        }
        const Index count = batch_of(end - begin, most);
        const bool front = side == Side::Front;
        const std::uint64_t rest = front ? packed(begin + count, end) : packed(begin, end - count);
        if (share.left.compare_exchange_weak(left, rest)) {
            return front ? UnitRange{begin, begin + count} : UnitRange{end - count, end};
        }
    }
}

}  // namespace

void WorkSharing::put_shares(std::span<Share> to) {
    for (std::size_t lane = 0; lane < to.size(); ++lane) {
        new (&to[lane]) Share;
        to[lane].left = packed(own_[lane].first, own_[lane].second);
    }
    mine_ = to;
}

void WorkSharing::help_here() {
    here_ = std::make_unique<Share[]>(own_.size());
    put_shares({here_.get(), own_.size()});
    ranks_ = {mine_};
}

void WorkSharing::help_on_host(const mpi::Comm& comm) {
    mpi::Comm host = comm.split_by_host();
    try {
        memory_ = host::HostMemory::allocate(host, own_.size() * sizeof(Share));
    } catch (const SystemError&) {  // on all ranks of this host: each does its own
        host.close();
        return;
    }
    for (int rank = 0; rank < host.size(); ++rank) {
        const auto bytes = memory_.memory(rank);
        ranks_.emplace_back(reinterpret_cast<Share*>(bytes.data()), bytes.size() / sizeof(Share));
    }
    put_shares(ranks_[static_cast<std::size_t>(host.rank())]);
    host.barrier();  // a share that is not there yet looks used up
    host.close();
}

std::optional<UnitRange> WorkSharing::take(std::size_t lane, Index most) {
    if (mine_.empty()) {
        auto& [begin, end] = own_[lane];
        const Index first = begin;
        begin = std::min(begin + most, end);
        return first < begin ? std::optional(UnitRange{first, begin}) : std::nullopt;
    }
    if (auto units = take_from(Side::Front, mine_[lane], most)) {
        return units;
    }
    for (;;) {
        Share* fullest = nullptr;
        Index left = 0;
        for (const std::span<Share> rank : ranks_) {
            for (Share& share : rank) {
                const Index here = units_in(unpacked(share.left.load()));
                if (here > left) {
                    fullest = &share;
                    left = here;
                }
            }
        }
        if (fullest == nullptr) {
            return std::nullopt;
        }
        if (auto units = take_from(Side::Back, *fullest, most)) {
            return units;
        }
    }
}

void WorkSharing::give_up() {
    for (Share& share : mine_) {
        share.left = 0;
    }
}

void WorkSharing::close() {
    mine_ = {};
    ranks_.clear();
    memory_.close();
}

}  // namespace fluvial::scan
