// SPDX-License-Identifier: Apache-2.0
/// The search for paths on free links: chains of whole routes with at most two proxies. Only the
/// topology's routes are asked for, so it works for any routing policy.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fluvial/base/interrupt.hpp"
#include "fluvial/route/plan.hpp"

namespace fluvial::route {

/// Which path has which link. One path at most has a link.
class Occupancy {
  public:
    static constexpr int nobody = -1;

    explicit Occupancy(const Topology& topology)
        : owner_(topology.graph().links().size(), nobody),
          forwarded_(static_cast<std::size_t>(topology.hosts()), 0) {}

    int owner(LinkId id) const { return owner_[static_cast<std::size_t>(id)]; }
    /// Paths that a host forwards.
    int forwarded(Node host) const { return forwarded_[static_cast<std::size_t>(host)]; }
    void give(const Path& path, int owner);
    void take_back(const Path& path);

  private:
    std::vector<int> owner_, forwarded_;
};

/// A path, and the owner of the links that it would take.
struct Candidate {
    Path path;
    int owner = Occupancy::nobody;
};

class ChainSearch {
  public:
    ChainSearch(const Topology& topology, const Limits& limits, const Occupancy& occupancy)
        : topology_(topology), limits_(limits), occupancy_(occupancy) {}

    /// The free path with the fewest links, a proxy counting as `proxy_links` more; none where no
    /// chain is free. Takes O(n²) routes for n hosts at most, and O(n) as a rule.
    /// Throws what check_interrupt() does, as all of this does.
    std::optional<Path> shortest(Node from, Node to);
    /// Paths that are free but for links of one owner each, at most `count`, the shortest first.
    /// `may_take` says which owners' links may be taken.
    std::vector<Candidate> taking_from_one(Node from, Node to, std::size_t count,
                                           const std::function<bool(int)>& may_take);

    static constexpr std::size_t proxy_links = 1;

  private:
    /// A route from the first host, or to the last one.
    struct Part {
        Node proxy;
        std::size_t begin, length;  ///< in links_
        int owner;
    };
    bool forwards(Node host) const { return occupancy_.forwarded(host) < limits_.paths_per_proxy; }
    /// The owner of links, `nobody` where all are free; false where there are two, or one that
    /// `may_take` refuses.
    bool one_owner(std::span<const LinkId> links, int& owner) const;
    void collect_parts(Node from, Node to);
    template <class Visit>
    void each_chain(Node from, Node to, Visit visit);

    const Topology& topology_;
    const Limits& limits_;
    const Occupancy& occupancy_;
    const std::function<bool(int)>* may_take_ = nullptr;
    Route links_, way_;
    std::vector<Part> first_, last_;
    InterruptPoints interrupt_;
};

}  // namespace fluvial::route
