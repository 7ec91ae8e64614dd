// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/idle_ranks.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "fluvial/base/error.hpp"

namespace fluvial::flow {

IdleRanks::IdleRanks(const std::vector<int>& hosts)
    : leaves_(std::bit_ceil(std::max<std::size_t>(1, hosts.size()))),
      tree_(2 * leaves_),
      places_(hosts.size()),
      ranks_(hosts.size()),
      span_numbers_(hosts.size()),
      retired_(hosts.size()) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
    const auto host = [&](int rank) { return hosts[static_cast<std::size_t>(rank)]; };
    std::ranges::stable_sort(ranks_, {}, host);
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
        if (place == 0 || host(ranks_[place]) != host(ranks_[place - 1])) {
            spans_.push_back({static_cast<int>(place), static_cast<int>(place), 0});
        }
        ++spans_.back().end;
        span_numbers_[place] = spans_.size() - 1;
        places_[static_cast<std::size_t>(ranks_[place])] = static_cast<int>(place);
    }
    for (const int rank : ranks_) {
        set(rank, true);
    }
}

void IdleRanks::update(std::size_t node, int half) {
    const Node& left = tree_[2 * node];
    const Node& right = tree_[2 * node + 1];
    const bool whole = left.idle == half && right.idle == half;
    tree_[node] = {whole ? 2 * half : std::max(left.largest, right.largest),
                   left.idle + right.idle};
}

void IdleRanks::set(int rank, bool is_idle) {
    const int change = is_idle ? 1 : -1;
    std::size_t node = leaf(rank);
    tree_[node] = is_idle ? Node{1, 1} : Node{};
    int half = 1;
    for (node /= 2; node > 0; node /= 2, half *= 2) {
        update(node, half);
    }
    span_of(rank).idle += change;
    count_ += change;
}

void IdleRanks::take(const std::vector<int>& ranks) {
    for (const int rank : ranks) {
        set(rank, false);
    }
}

void IdleRanks::give_back(int rank) {
    if (!retired_[static_cast<std::size_t>(rank)]) {
        set(rank, true);
    }
}

bool IdleRanks::may_meet(const std::optional<Near>& near, int width) const {
    if (!near || !near->strict) {
        return true;
    }
    if (!near->anywhere_on_host) {
        return !retired(near->rank);
    }
    const Span& host = span_of(near->rank);
    const auto begin = ranks_.begin();
    return width <= std::count_if(begin + host.begin, begin + host.end,
                                  [this](int rank) { return !retired(rank); });
}

void IdleRanks::check_may_meet(const std::optional<Near>& near, int width) const {
    if (may_meet(near, width)) {
        return;
    }
    const Problem problem{"a task is to run strictly where there are not enough ranks",
                          text(width, " wanted beside rank ", near->rank), "",
                          "Leave strict out, and it runs elsewhere"};
    if (std::ranges::find(retired_, true) == retired_.end()) {
        throw InvalidArgument(problem);
    }
    throw PeerLost(problem);
}

void IdleRanks::retire(int rank) {
    if (idle(rank)) {
        set(rank, false);
    }
    retired_[static_cast<std::size_t>(rank)] = true;
}

/// The first place of an aligned block of `size`, a power of two, out of the smallest larger one.
int IdleRanks::block(int size) const {
    std::size_t node = 1;
    auto span = static_cast<int>(leaves_);
    int begin = 0;
    while (tree_[node].largest > size || span > size) {
        span /= 2;
        const Node& left = tree_[2 * node];
        const Node& right = tree_[2 * node + 1];
        const bool go_left =
            left.largest >= size && (right.largest < size || left.largest <= right.largest);
        begin += go_left ? 0 : span;
        node = 2 * node + (go_left ? 0 : 1);
    }
    return begin;
}

/// Appends idle ranks of `within` until there are `wanted`.
void IdleRanks::collect(std::size_t node, int begin, int size, const Span& within, int wanted,
                        std::vector<int>& ranks) const {
    if (tree_[node].idle == 0 || begin >= within.end || begin + size <= within.begin ||
        static_cast<int>(ranks.size()) >= wanted) {
        return;
    }
    if (size == 1) {
        ranks.push_back(ranks_[static_cast<std::size_t>(begin)]);
        return;
    }
    collect(2 * node, begin, size / 2, within, wanted, ranks);
    collect(2 * node + 1, begin + size / 2, size / 2, within, wanted, ranks);
}

/// From a span that has enough, with `first` in it unless that is negative.
std::vector<int> IdleRanks::from(const Span& span, int width, int first, int avoid) const {
    std::vector<int> ranks;
    const int spare = (first >= 0 ? 1 : 0) + (avoid >= 0 ? 1 : 0);
    collect(1, 0, static_cast<int>(leaves_), span, width + spare, ranks);
    std::stable_partition(ranks.begin(), ranks.end(), [&](int rank) { return rank != avoid; });
    if (first >= 0) {
        std::erase(ranks, first);
        ranks.insert(ranks.begin(), first);
    }
    ranks.resize(static_cast<std::size_t>(width));
    std::ranges::sort(ranks);
    return ranks;
}

std::vector<int> IdleRanks::anywhere(int width, int avoid) const {
    const Span all{0, static_cast<int>(ranks_.size()), count_};
    if (avoid >= 0) {
        return from(all, width, -1, avoid);
    }
    std::optional<Span> whole;
    const auto size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(width)));
    if (tree_[1].largest >= size) {
        const int begin = block(size);
        whole = Span{begin, begin + size, size};
        const Span& host = spans_[span_numbers_[static_cast<std::size_t>(begin)]];
        if (begin + width <= host.end) {
            return from(*whole, width, -1, -1);
        }
    }
    const Span* best = nullptr;
    for (const Span& span : spans_) {
        if (span.idle >= width && (best == nullptr || span.idle < best->idle)) {
            best = &span;
        }
    }
    return from(best != nullptr ? *best : whole.value_or(all), width, -1, -1);
}

std::optional<std::vector<int>> IdleRanks::choose(int width, const std::optional<Near>& near,
                                                  int avoid) const {
    if (width > count_ || width < 1) {
        return std::nullopt;
    }
    if (near) {
        const Span& host = span_of(near->rank);
        const bool enough = host.idle >= width;
        if (near->anywhere_on_host && enough) {
            return from(host, width, -1, avoid);
        }
        if (!near->anywhere_on_host && idle(near->rank)) {
            const Span all{0, static_cast<int>(ranks_.size()), count_};
            return from(enough ? host : all, width, near->rank, avoid);
        }
        if (near->strict) {
            return std::nullopt;
        }
        if (enough) {
            return from(host, width, -1, avoid);
        }
    }
    return anywhere(width, avoid);
}

}  // namespace fluvial::flow
