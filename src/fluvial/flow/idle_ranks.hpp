// SPDX-License-Identifier: Apache-2.0
/// The ranks that have nothing to do, and which of them make a good team: pure.
#pragma once

#include <optional>
#include <vector>

#include "fluvial/flow/request.hpp"

namespace fluvial::flow {

/// A team is, in this order: an aligned block of a power of two ranks, or the beginning of one, on
/// one host (there are few such blocks, so that their communicators can be kept); ranks of the host
/// that has just enough of them; a block across hosts; whatever is idle. Choosing costs O(log
/// ranks) a rank of the team, and O(hosts) where there are several.
class IdleRanks {
  public:
    /// All ranks are idle at first. `hosts` has a number for the host of each rank.
    explicit IdleRanks(const std::vector<int>& hosts);

    int count() const { return count_; }
    /// The number of idle ranks on the host of this rank.
    int count_on_host_of(int rank) const { return span_of(rank).idle; }
    bool idle(int rank) const { return tree_[leaf(rank)].largest > 0; }
    /// The ranks of a team of `width`, in ascending order; nothing when there are too few, or when
    /// a strict wish cannot be met. They stay idle.
    std::optional<std::vector<int>> choose(int width, const std::optional<Near>& near,
                                           int avoid) const;
    void take(const std::vector<int>& ranks);
    void give_back(int rank);
    /// The rank is never idle again.
    void retire(int rank);
    bool retired(int rank) const { return retired_[static_cast<std::size_t>(rank)]; }
    /// A strict wish may be met some time: its rank, or enough of its host, have not retired.
    bool may_meet(const std::optional<Near>& near, int width) const;
    /// Throws PeerLost otherwise, and InvalidArgument where none has retired at all.
    void check_may_meet(const std::optional<Near>& near, int width) const;

  private:
    struct Node {
        int largest = 0;  ///< ranks in the largest aligned block below that is wholly idle
        int idle = 0;     ///< ranks
    };
    struct Span {
        int begin = 0, end = 0;  ///< positions
        int idle = 0;
    };

    std::size_t leaf(int rank) const { return leaves_ + place_of(rank); }
    std::size_t place_of(int rank) const {
        return static_cast<std::size_t>(places_[static_cast<std::size_t>(rank)]);
    }
    Span& span_of(int rank) { return spans_[span_numbers_[place_of(rank)]]; }
    const Span& span_of(int rank) const { return spans_[span_numbers_[place_of(rank)]]; }
    void set(int rank, bool is_idle);
    void update(std::size_t node, int half);
    int block(int size) const;
    void collect(std::size_t node, int begin, int size, const Span& within, int wanted,
                 std::vector<int>& ranks) const;
    std::vector<int> from(const Span& span, int width, int first, int avoid) const;
    std::vector<int> anywhere(int width, int avoid) const;

    std::size_t leaves_ = 1;                 ///< a power of two
    std::vector<Node> tree_;                 ///< 1 is the root, 2i and 2i+1 are below i
    std::vector<int> places_;                ///< of each rank: those of a host stand together
    std::vector<int> ranks_;                 ///< at each place
    std::vector<Span> spans_;                ///< one a host
    std::vector<std::size_t> span_numbers_;  ///< of each place
    std::vector<bool> retired_;
    int count_ = 0;
};

}  // namespace fluvial::flow
