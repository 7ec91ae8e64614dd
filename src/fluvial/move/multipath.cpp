// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/multipath.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <string>

#include "fluvial/base/counted.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/arrival_memory.hpp"
#include "fluvial/move/flow_sums.hpp"
#include "fluvial/move/path_roles.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

using route::RankFlow;

/// Tags of a flow: the messages that arrive at one rank have different ones.
struct FlowTags {
    std::vector<std::vector<int>> hops;  ///< by path and hop
    int detour = 0;                      ///< of windows that go direct instead
};

class Tags {
  public:
    explicit Tags(int ranks) : used_(static_cast<std::size_t>(ranks), 0) {}

    FlowTags of(const RankFlow& flow) {
        FlowTags tags;
        for (const std::vector<int>& stops : flow.paths) {
            auto& hops = tags.hops.emplace_back();
            for (std::size_t hop = 1; hop < stops.size(); ++hop) {
                hops.push_back(next(stops[hop]));
            }
        }
        tags.detour = flow.direct() ? 0 : next(flow.to);
        return tags;
    }
    void check() const {
        const int most = *std::max_element(used_.begin(), used_.end());
        if (most > Controls::tag) {
            throw InvalidArgument(Problem{"too many paths meet at one rank", text(most),
                                          text("up to ", Controls::tag),
                                          "Plan with fewer paths for a flow or a proxy"});
        }
    }

  private:
    int next(int rank) { return used_[static_cast<std::size_t>(rank)]++; }

    std::vector<int> used_;
};

/// Different for each exchange, as far as chance can make it; the same on all ranks. Collective.
std::uint64_t number_of_exchange(const mpi::Comm& comm) {
    std::random_device random;
    const std::uint64_t own = (std::uint64_t{random()} << 31) ^ random();
    return static_cast<std::uint64_t>(comm.min(static_cast<Index>(own >> 1)));
}

double reroute_after_s(const ExchangeOptions& options) {
    constexpr double most_s = 10;
    return options.reroute_after_s > 0 ? options.reroute_after_s
                                       : std::min(most_s, options.stall_timeout_s / 4);
}

}  // namespace

/// In no unnamed namespace, as State has one, which is in none either.
class Exchange {
  public:
    Exchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
             std::span<const Outgoing> outgoing, const ExchangeOptions& options)
        : comm_(comm), flows_(flows), outgoing_(outgoing), options_(options) {
        moved_.arrived.resize(flows.size());
        moved_.used.resize(flows.size());
        const bool windows = std::any_of(flows.begin(), flows.end(), [](const RankFlow& flow) {
            return flow.from != flow.to && !flow.direct();
        });
        if (!comm.serial() && (windows || options.checksum)) {
            number_ = number_of_exchange(comm);
            controls_.emplace(comm, number_);
        }
        Tags tags(comm.size());
        for (std::size_t i = 0; i < flows.size(); ++i) {
            add(i, tags);
        }
        // In front: what is sent is on its way before MPI copies what has come, which may take
        // long.
        roles_.insert(roles_.begin(), std::make_move_iterator(sources_.begin()),
                      std::make_move_iterator(sources_.end()));
        sources_.clear();
        if (options.checksum && controls_) {
            sums_.emplace(comm, flows, outgoing, *controls_);
        }
    }
    Moved run();

    /// Each role once.
    progress::Waiting::Seen look() {
        if (controls_) {
            clock_.look();
        }
        while (const auto control = controls_ ? controls_->hear() : std::nullopt) {
            if (control->kind == Control::Sum && sums_) {
                sums_->hear(*control);
            }
            for (const auto& role : roles_) {
                role->hear(*control);
            }
        }
        bool moved = false, done = true;
        for (const auto& role : roles_) {
            if (!role->done()) {
                moved = role->step() || moved;
                done = done && role->done();
            }
        }
        done = done && (!sums_ || sums_->complete()) && (!controls_ || controls_->told());
        if (done) {
            return progress::Waiting::Seen::End;
        }
        if (!controls_ && !moved) {
            clock_.look();  // only then: a small message takes hardly longer than this
        }
        return moved ? progress::Waiting::Seen::Movement : progress::Waiting::Seen::Nothing;
    }
    double seconds() const { return clock_.seconds(); }
    /// False where the options leave it to the back-off.
    bool rest() {
        if (!options_.rest) {
            return false;
        }
        pending_.clear();
        for (const auto& role : roles_) {
            if (!role->done()) {
                role->add_pending(pending_);
            }
        }
        if (controls_) {
            controls_->add_pending(pending_);
        }
        options_.rest(pending_);
        return true;
    }

  private:
    void add(std::size_t number, Tags& tags) {
        const RankFlow& flow = flows_[number];
        Arrived& arrived = moved_.arrived[number];
        const int me = comm_.rank();
        if (flow.to == me) {
            arrived = {arrival_memory(flow.bytes), flow.bytes};
        }
        if (flow.from == flow.to) {
            if (flow.to == me) {
                const std::span<const std::byte> bytes = outgoing_[number].bytes;
                std::copy(bytes.begin(), bytes.end(), arrived.bytes.get());
                moved_.used[number] = {{{me}, 1, flow.bytes}};
            }
            return;
        }
        if (flow.to == me || flow.from == me) {
            for (const std::vector<int>& stops : flow.paths) {
                moved_.used[number].push_back({stops});
            }
        }
        const FlowPart part{comm_,
                            flow,
                            number,
                            static_cast<std::uint32_t>(number_),
                            controls_ ? &*controls_ : nullptr,
                            &clock_,
                            reroute_after_s(options_),
                            &moved_.used[number]};
        const FlowTags of = tags.of(flow);
        std::vector<int> first, last;
        for (std::size_t path = 0; path < flow.paths.size(); ++path) {
            const std::vector<int>&stops = flow.paths[path], &hops = of.hops[path];
            first.push_back(hops.front());
            last.push_back(hops.back());
            for (std::size_t hop = 1; hop < hops.size(); ++hop) {
                if (stops[hop] == me) {
                    roles_.push_back(proxy_of(part, path, hops[hop - 1], stops[hop + 1], hops[hop],
                                              options_.at_proxy));
                }
            }
        }
        if (flow.to == me) {
            roles_.push_back(destination_of(part, last, of.detour, arrived));
        }
        if (flow.from == me) {
            sources_.push_back(source_of(part, first, of.detour, outgoing_[number]));
        }
    }

    const mpi::Comm& comm_;
    std::span<const RankFlow> flows_;
    std::span<const Outgoing> outgoing_;
    const ExchangeOptions& options_;
    LookedTime clock_;
    std::uint64_t number_ = 0;  ///< of the exchange, where there are controls
    std::optional<Controls> controls_;
    std::optional<FlowSums> sums_;
    Moved moved_;
    std::vector<std::unique_ptr<Role>> roles_, sources_;
    std::vector<mpi::Pending> pending_;
};

namespace {

/// Until all roles are done.
class Moving final : public progress::Waiting {
  public:
    Moving(Exchange& exchange, double stall_timeout_s)
        : exchange_(exchange), stall_timeout_s_(stall_timeout_s) {}

    Seen look() override {
        const Seen seen = exchange_.look();
        if (seen == Seen::Movement) {
            moved_s_ = exchange_.seconds();
        }
        return seen;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        if (!exchange_.rest()) {
            back_off.rest(serving);
        }
    }
    void look_around(double waited_s) override {
        Waiting::look_around(waited_s);
        if (exchange_.seconds() - moved_s_ > stall_timeout_s_) {
            throw TimedOut(Problem{
                "an exchange of data has not moved on", text("for ", stall_timeout_s_, " s"), "",
                "A rank may have died, or may not have called exchange; or give it more time"});
        }
    }

  private:
    Exchange& exchange_;
    double stall_timeout_s_, moved_s_ = 0;
};

}  // namespace

Moved Exchange::run() {
    Moving moving(*this, options_.stall_timeout_s);
    progress::BackOff back_off;
    progress::wait(moving, back_off);
    moved_.leaves_messages = std::any_of(roles_.begin(), roles_.end(),
                                         [](const auto& role) { return role->leaves_messages(); });
    if (sums_) {
        const double patience_s =
            moved_.leaves_messages ? reroute_after_s(options_) : options_.stall_timeout_s;
        sums_->compare(moved_.arrived, patience_s, moved_.leaves_messages);
    }
    return std::move(moved_);
}

namespace {

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
        if (flow.from == comm.rank() && flow.bytes > 0 && !outgoing[i].owner) {
            throw InvalidArgument(Problem{text("no owner keeps the bytes of flow ", i), "no owner",
                                          "a shared_ptr that keeps them until the call returns",
                                          ""});
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
                                              counted(stops.size(), "stop"),
                                              text("from ", flow.from, " to ", flow.to), ""});
            }
        }
        if (moves) {
            tags.of(flow);
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

/// The exchange refers to the other two.
struct PreparedExchange::State {
    std::vector<Outgoing> outgoing;
    ExchangeOptions options;
    std::optional<Exchange> exchange;
};

PreparedExchange::PreparedExchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
                                   std::vector<Outgoing> outgoing, ExchangeOptions options,
                                   Agreed agreed)
    : state_(new State{std::move(outgoing), std::move(options), std::nullopt}) {
    // All ranks are here before anything is sent, so what an exchange before this one has left in
    // its slots is gone on all of them.
    if (agreed == Agreed::Already) {
        check(comm, flows, state_->outgoing);
    } else {
        mpi::agree_on(
            comm, [&] { check(comm, flows, state_->outgoing); },
            [&](Terms& terms) {
                terms.add("the flows of an exchange", words_of(flows));
                terms.add("the checksum", state_->options.checksum ? "yes" : "no");
            });
    }
    state_->exchange.emplace(comm, flows, state_->outgoing, state_->options);
}

PreparedExchange::~PreparedExchange() = default;

Moved PreparedExchange::run() {
    return state_->exchange->run();
}

Moved exchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
               std::span<const Outgoing> outgoing, const ExchangeOptions& options) {
    return PreparedExchange(comm, flows, {outgoing.begin(), outgoing.end()}, options).run();
}

}  // namespace fluvial::move
