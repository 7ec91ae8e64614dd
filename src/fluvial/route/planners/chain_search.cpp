// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/planners/chain_search.hpp"

#include <algorithm>
#include <limits>

namespace fluvial::route {

void Occupancy::give(const Path& path, int owner) {
    for (const LinkId id : path.links) {
        owner_[static_cast<std::size_t>(id)] = owner;
    }
    for (std::size_t i = 1; i + 1 < path.stops.size(); ++i) {
        ++forwarded_[static_cast<std::size_t>(path.stops[i])];
    }
}

void Occupancy::take_back(const Path& path) {
    for (const LinkId id : path.links) {
        owner_[static_cast<std::size_t>(id)] = nobody;
    }
    for (std::size_t i = 1; i + 1 < path.stops.size(); ++i) {
        --forwarded_[static_cast<std::size_t>(path.stops[i])];
    }
}

bool ChainSearch::one_owner(std::span<const LinkId> links, int& owner) const {
    for (const LinkId id : links) {
        const int has = occupancy_.owner(id);
        if (has == Occupancy::nobody || has == owner) {
            continue;
        }
        if (owner != Occupancy::nobody || may_take_ == nullptr || !(*may_take_)(has)) {
            return false;
        }
        owner = has;
    }
    return true;
}

void ChainSearch::collect_parts(Node from, Node to) {
    links_.clear();
    first_.clear();
    last_.clear();
    for (Node proxy = 0; proxy < topology_.hosts(); ++proxy) {
        interrupt_.pass();
        if (proxy == from || proxy == to || !forwards(proxy) || !topology_.passes_on(proxy)) {
            continue;
        }
        for (const bool is_first : {true, false}) {
            const std::size_t begin = links_.size();
            int owner = Occupancy::nobody;
            if (topology_.append_route(is_first ? from : proxy, is_first ? proxy : to, links_) &&
                one_owner(std::span(links_).subspan(begin), owner)) {
                (is_first ? first_ : last_).push_back({proxy, begin, links_.size() - begin, owner});
            } else {
                links_.resize(begin);
            }
        }
    }
    const auto shorter = [](const Part& a, const Part& b) { return a.length < b.length; };
    std::stable_sort(first_.begin(), first_.end(), shorter);
    std::stable_sort(last_.begin(), last_.end(), shorter);
}

/// Calls visit(stops, number of proxies, links, owner) for chains with at most one owner, and no
/// link twice. It returns what a chain may cost at most from then on.
template <class Visit>
void ChainSearch::each_chain(Node from, Node to, Visit visit) {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    const auto offer = [&](std::initializer_list<Node> stops) {
        int owner = Occupancy::nobody;
        if (!one_owner(way_, owner)) {
            return;
        }
        for (std::size_t i = 1; i < way_.size(); ++i) {
            if (std::find(way_.begin(), way_.begin() + static_cast<long>(i), way_[i]) !=
                way_.begin() + static_cast<long>(i)) {
                return;
            }
        }
        const std::size_t cost = way_.size() + proxy_links * (stops.size() - 2);
        if (cost <= most) {
            most = visit(stops, cost, owner);
        }
    };
    const auto append = [&](const Part& part) {
        const auto begin = links_.begin() + static_cast<long>(part.begin);
        way_.insert(way_.end(), begin, begin + static_cast<long>(part.length));
    };
    way_.clear();
    if (topology_.append_route(from, to, way_)) {
        offer({from, to});
    }
    if (limits_.proxies_per_path < 1) {
        return;
    }
    collect_parts(from, to);
    std::vector<const Part*> last_of(static_cast<std::size_t>(topology_.hosts()), nullptr);
    for (const Part& part : last_) {
        last_of[static_cast<std::size_t>(part.proxy)] = &part;
    }
    for (const Part& first : first_) {
        const Part* const last = last_of[static_cast<std::size_t>(first.proxy)];
        if (last != nullptr && first.length + last->length + proxy_links <= most) {
            way_.clear();
            append(first);
            append(*last);
            offer({from, first.proxy, to});
        }
    }
    for (const Part& first : first_) {
        if (limits_.proxies_per_path < 2) {
            break;
        }
        for (const Part& last : last_) {
            interrupt_.pass();
            if (first.length + last.length + 1 + 2 * proxy_links > most) {
                break;
            }
            const bool one = first.owner == Occupancy::nobody || last.owner == Occupancy::nobody ||
                             first.owner == last.owner;
            if (first.proxy == last.proxy || !one) {
                continue;
            }
            way_.clear();
            append(first);
            if (topology_.append_route(first.proxy, last.proxy, way_)) {
                append(last);
                offer({from, first.proxy, last.proxy, to});
            }
        }
    }
}

std::optional<Path> ChainSearch::shortest(Node from, Node to) {
    std::optional<Path> found;
    each_chain(from, to, [&](std::initializer_list<Node> stops, std::size_t cost, int) {
        found = Path{stops, way_};
        return cost - 1;
    });
    return found;
}

std::vector<Candidate> ChainSearch::taking_from_one(Node from, Node to, std::size_t count,
                                                    const std::function<bool(int)>& may_take) {
    std::vector<std::pair<std::size_t, Candidate>> found;
    const auto cheaper = [](const auto& a, const auto& b) { return a.first < b.first; };
    may_take_ = &may_take;
    each_chain(from, to, [&](std::initializer_list<Node> stops, std::size_t cost, int owner) {
        const auto place =
            std::upper_bound(found.begin(), found.end(), std::pair{cost, Candidate{}}, cheaper);
        found.insert(place, {cost, Candidate{Path{stops, way_}, owner}});
        if (found.size() > count) {
            found.pop_back();
        }
        return found.size() < count ? std::numeric_limits<std::size_t>::max()
                                    : found.back().first - 1;
    });
    may_take_ = nullptr;
    std::vector<Candidate> candidates;
    for (auto& [cost, candidate] : found) {
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

}  // namespace fluvial::route
