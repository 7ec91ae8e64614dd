// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/multipath.hpp"

#include <algorithm>
#include <string>

#include "fluvial/base/error.hpp"
#include "fluvial/move/path_roles.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

using route::RankFlow;

/// A tag for each hop of each path: the messages that arrive at one rank have different ones.
class Tags {
  public:
    explicit Tags(int ranks) : used_(static_cast<std::size_t>(ranks), 0) {}

    /// By hop.
    std::vector<int> of(const std::vector<int>& stops) {
        std::vector<int> tags;
        for (std::size_t hop = 1; hop < stops.size(); ++hop) {
            tags.push_back(used_[static_cast<std::size_t>(stops[hop])]++);
        }
        return tags;
    }
    void check() const {
        const int most = *std::max_element(used_.begin(), used_.end());
        if (most > mpi::tag_max + 1) {
            throw InvalidArgument(Problem{"too many paths meet at one rank", text(most),
                                          text("up to ", mpi::tag_max + 1),
                                          "Plan with fewer paths for a flow or a proxy"});
        }
    }

  private:
    std::vector<int> used_;
};

class Exchange {
  public:
    Exchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
             std::span<const Outgoing> outgoing)
        : comm_(comm), arrived_(flows.size()) {
        Tags tags(comm.size());
        for (std::size_t i = 0; i < flows.size(); ++i) {
            add(flows[i], outgoing[i], tags, arrived_[i]);
        }
    }
    void run(double stall_timeout_s);
    std::vector<Arrived> take() { return std::move(arrived_); }

    /// Each role once.
    progress::Waiting::Seen look() {
        bool moved = false, done = true;
        for (const auto& role : roles_) {
            if (!role->done()) {
                moved = role->step() || moved;
                done = done && role->done();
            }
        }
        return done    ? progress::Waiting::Seen::End
               : moved ? progress::Waiting::Seen::Movement
                       : progress::Waiting::Seen::Nothing;
    }

  private:
    void add(const RankFlow& flow, const Outgoing& outgoing, Tags& tags, Arrived& arrived) {
        const int me = comm_.rank();
        if (flow.to == me) {
            arrived = {std::make_shared_for_overwrite<std::byte[]>(flow.bytes), flow.bytes};
        }
        if (flow.from == flow.to) {
            if (flow.to == me) {
                std::copy(outgoing.bytes.begin(), outgoing.bytes.end(), arrived.bytes.get());
            }
            return;
        }
        std::vector<int> first, last;
        for (const std::vector<int>& stops : flow.paths) {
            const std::vector<int> hops = tags.of(stops);
            first.push_back(hops.front());
            last.push_back(hops.back());
            for (std::size_t hop = 1; hop < hops.size(); ++hop) {
                if (stops[hop] == me) {
                    roles_.push_back(
                        proxy_of(comm_, flow, hops[hop - 1], stops[hop + 1], hops[hop]));
                }
            }
        }
        if (flow.to == me) {
            roles_.push_back(destination_of(comm_, flow, last, arrived));
        }
        if (flow.from == me) {
            roles_.push_back(source_of(comm_, flow, first, outgoing));
        }
    }

    const mpi::Comm& comm_;
    std::vector<Arrived> arrived_;
    std::vector<std::unique_ptr<Role>> roles_;
};

/// Until all roles are done.
class Moving final : public progress::Waiting {
  public:
    Moving(Exchange& exchange, double stall_timeout_s)
        : exchange_(exchange), stall_timeout_s_(stall_timeout_s), deadline_(stall_timeout_s) {}

    Seen look() override {
        const Seen seen = exchange_.look();
        if (seen == Seen::Movement) {
            deadline_ = Deadline(stall_timeout_s_);
        }
        return seen;
    }
    void look_around(double waited_s) override {
        Waiting::look_around(waited_s);
        if (deadline_.passed()) {
            throw TimedOut(Problem{
                "an exchange of data has not moved on", text("for ", stall_timeout_s_, " s"), "",
                "A rank may have died, or may not have called exchange; or give it more time"});
        }
    }

  private:
    Exchange& exchange_;
    double stall_timeout_s_;
    Deadline deadline_;
};

void Exchange::run(double stall_timeout_s) {
    Moving moving(*this, stall_timeout_s);
    progress::BackOff back_off;
    progress::wait(moving, back_off);
}

void check(const mpi::Comm& comm, std::span<const RankFlow> flows,
           std::span<const Outgoing> outgoing) {
    if (outgoing.size() != flows.size()) {
        throw InvalidArgument(Problem{"not every flow has an entry for its bytes",
                                      text(outgoing.size()), text(flows.size()), ""});
    }
    Tags tags(comm.size());
    const auto check_rank = [&](int rank) {
        if (rank < 0 || rank >= comm.size()) {
            throw InvalidArgument(Problem{"a path stops at a rank that does not exist", text(rank),
                                          text("0 to ", comm.size() - 1), ""});
        }
    };
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const RankFlow& flow = flows[i];
        check_rank(flow.from);
        check_rank(flow.to);
        if (flow.from == comm.rank() && outgoing[i].bytes.size() != flow.bytes) {
            throw InvalidArgument(Problem{text("flow ", i, " has other bytes than it says"),
                                          text(outgoing[i].bytes.size()), text(flow.bytes), ""});
        }
        const bool moves = flow.from != flow.to;
        if (moves && (flow.paths.empty() || (flow.direct() && flow.paths.size() != 1))) {
            throw InvalidArgument(Problem{text("flow ", i, " has another number of paths"),
                                          text(flow.paths.size()),
                                          "one if it goes direct, else one or more", ""});
        }
        for (const std::vector<int>& stops : flow.paths) {
            std::for_each(stops.begin(), stops.end(), check_rank);
            if (moves && (stops.size() < 2 || stops.front() != flow.from ||
                          stops.back() != flow.to || (flow.direct() && stops.size() != 2))) {
                throw InvalidArgument(Problem{text("a path of flow ", i, " is not one of it"),
                                              text(stops.size(), " stops"),
                                              text("from ", flow.from, " to ", flow.to), ""});
            }
            if (moves) {
                tags.of(stops);
            }
        }
    }
    tags.check();
}

std::string words_of(std::span<const RankFlow> flows) {
    std::string words;
    for (const RankFlow& flow : flows) {
        words += text(flow.from, ">", flow.to, ":", flow.bytes, "/", flow.window_bytes);
        for (const std::vector<int>& stops : flow.paths) {
            words += " by";
            for (const int stop : stops) {
                words += text(" ", stop);
            }
        }
        words += "; ";
    }
    return words;
}

}  // namespace

std::vector<Arrived> exchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
                              std::span<const Outgoing> outgoing, double stall_timeout_s) {
    // All ranks are here before anything is sent, so what an exchange before this one has left in
    // its slots is gone on all of them.
    mpi::agree_on(
        comm, [&] { check(comm, flows, outgoing); },
        [&](Terms& terms) { terms.add("the flows of an exchange", words_of(flows)); });
    Exchange moving(comm, flows, outgoing);
    moving.run(stall_timeout_s);
    return moving.take();
}

}  // namespace fluvial::move
