// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/helper_ranks.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/counted.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/move/left_messages.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

using route::RankFlow;

constexpr int alarm_tag = 0;
constexpr double endless_s = std::numeric_limits<double>::infinity();

constexpr const char* not_all_come_to_exchange =
    "not all ranks have come to an exchange with helpers";
constexpr const char* exchange_failed = "an earlier exchange failed";

/// What helpers are told of an exchange. Nothing: they are released.
struct Command {
    std::vector<RankFlow> flows;
    ExchangeOptions how;
};

Bytes bytes_of(std::span<const RankFlow> flows, const ExchangeOptions& how) {
    ByteWriter out;
    out.put(how.stall_timeout_s);
    out.put(how.reroute_after_s);
    out.put<std::uint8_t>(how.checksum ? 1 : 0);
    for (const RankFlow& flow : flows) {
        out.put(flow.from);
        out.put(flow.to);
        out.put<std::uint64_t>(flow.bytes);
        out.put<std::uint64_t>(flow.window_bytes);
        out.put<std::uint64_t>(flow.paths.size());
        for (const std::vector<int>& stops : flow.paths) {
            out.put_vector(stops);
        }
    }
    return out.take();
}

Command command_from(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    Command command;
    command.how.stall_timeout_s = in.get<double>();
    command.how.reroute_after_s = in.get<double>();
    command.how.checksum = in.get<std::uint8_t>() != 0;
    while (!in.done()) {
        RankFlow& flow = command.flows.emplace_back();
        flow.from = in.get<int>();
        flow.to = in.get<int>();
        flow.bytes = in.get<std::uint64_t>();
        flow.window_bytes = in.get<std::uint64_t>();
        for (auto paths = in.get<std::uint64_t>(); paths-- > 0;) {
            flow.paths.push_back(in.get_vector<int>());
        }
    }
    return command;
}

}  // namespace

struct HelperRanks::State {
    mpi::Comm all, others;
    mpi::Comm alarm;  ///< by which a rank tells the others that it has given up
    bool helps = false;
    int lead = 0;  ///< the first rank that does not help
    std::vector<int> helpers;
    std::vector<std::string> machines;
    std::shared_ptr<RankWatch> watch;  ///< of `others`
    std::shared_ptr<RankWatch> watch_of_all;
    const char* ended = nullptr;
    MadeHere made;

    ~State() { abandon(); }
    void open();
    void check(bool of_helper, const char* call) const;
    AgreedFlows agree(const std::function<PlannedCall()>& prepare);
    Moved move(std::span<const RankFlow> flows, std::span<const Outgoing> outgoing,
               const ExchangeOptions& how);
    bool serve_once();
    void tell_helpers(const WatchedTask& task) const;
    int rank_of_other(int other) const;
    /// While one exists, a wait ends when another rank has given up: by TimedOut, unless the task
    /// knows a reason.
    progress::Lookout alarmed(const WatchedTask& task) const;
    /// What `work` returns, unless another rank gives up meanwhile, also after all that is this
    /// one's has moved; one that dies or is stopped, a helper or not, is named. All ranks begin it
    /// with each command to the helpers.
    template <class Work>
    auto watched(double stall_timeout_s, Work&& work) const {
        const WatchedTask task(watch_of_all, stall_timeout_s, "the exchange");
        const progress::Lookout until_alarm = alarmed(task);
        return task.during(work);
    }
    void close();
    void lose(const char* why);
    void abandon() noexcept;
};

void HelperRanks::State::open() {
    const std::vector<int> all_help = all.allgather_values<int>(helps ? 1 : 0);
    const auto first = std::find(all_help.begin(), all_help.end(), 0);
    if (first == all_help.end()) {
        throw InvalidArgument(Problem{"all ranks are to help, and none to exchange data",
                                      counted(all_help.size(), "helper"), "fewer than all ranks",
                                      "Say on one rank at least that it does not help"});
    }
    lead = static_cast<int>(first - all_help.begin());
    for (int rank = 0; rank < all.size(); ++rank) {
        if (all_help[static_cast<std::size_t>(rank)] != 0) {
            helpers.push_back(rank);
        }
    }
    machines = host_of_each_rank(all);
    if (!all.serial()) {
        others = all.split(helps ? 1 : 0, all.rank());
        alarm = all.split(0, all.rank());
        watch = helps ? nullptr : RankWatch::of(others);
        watch_of_all = RankWatch::of(alarm);  // which stays, while `all` may be another one later
    }
}

void HelperRanks::State::check(bool of_helper, const char* call) const {
    if (of_helper != helps) {
        throw InvalidArgument(
            Problem{text("a call that is not this rank's: ", call),
                    helps ? "a rank that helps" : "a rank that does not help",
                    of_helper ? "helpers alone" : "ranks that do not help",
                    helps ? "Let it serve, until the others release it" : "Let it exchange"});
    }
    if (ended != nullptr) {
        throw InvalidArgument(Problem{"helpers are not there any more", ended, "",
                                      "Make them anew, among ranks that live"});
    }
}

/// Of the ranks that do not help. What one of them has said wrongly is thrown on all of these, and
/// helpers hear nothing of it; after anything else there is no further exchange.
AgreedFlows HelperRanks::State::agree(const std::function<PlannedCall()>& prepare) {
    PlannedCall call;
    std::exception_ptr wrong;
    try {
        call = prepare();
    } catch (...) {
        wrong = std::current_exception();
    }
    const WatchedTask task(watch, RankWatch::kept_limit(call.how.stall_timeout_s), "the exchange");
    const auto said = [&] {
        if (wrong) {
            std::rethrow_exception(wrong);
        }
        return std::move(call);
    };
    try {
        const progress::Lookout until_alarm = alarmed(task);
        return task.during([&] {
            return agree_on_flows({others, all.rank(), all.size(), helpers, machines}, said);
        });
    } catch (const InvalidArgument&) {
        if (task.ended()) {
            tell_helpers(task);
            lose(exchange_failed);
        }
        throw;
    } catch (...) {
        if (others.size() > 1 && !mpi::was_agreed(std::current_exception(), others.size())) {
            tell_helpers(task);
            lose(exchange_failed);
        }
        throw;
    }
}

/// While an exception is handled, by which a task of the others has ended, or not: helpers learn
/// what it says, in the task in which they wait for a command that will not come.
void HelperRanks::State::tell_helpers(const WatchedTask& task) const {
    const WatchedTask of_all(watch_of_all, endless_s, "the exchange");
    if (std::optional<mpi::Failure> failure = task.failure()) {
        failure->rank = rank_of_other(failure->rank);
        of_all.tell(*failure);
        return;
    }
    try {
        of_all.look();  // what is seen says more than that another has given up
        of_all.telling([] { throw; });
    } catch (...) {  // itself
    }
}

/// The rank among all of one of the ranks that do not help, which keep their order.
int HelperRanks::State::rank_of_other(int other) const {
    int rank = other;
    for (const int helper : helpers) {  // in rising order
        rank += helper <= rank ? 1 : 0;
    }
    return rank;
}

/// The same on helpers and on others.
Moved HelperRanks::State::move(std::span<const RankFlow> flows, std::span<const Outgoing> outgoing,
                               const ExchangeOptions& how) {
    std::optional<PreparedExchange> prepared;
    {
        const progress::Lookout limited(
            progress::time_limit(how.stall_timeout_s, not_all_come_to_exchange));
        prepared.emplace(all, flows, std::vector(outgoing.begin(), outgoing.end()), how,
                         PreparedExchange::Agreed::Already);
    }
    Moved moved = prepared->run();
    prepared.reset();
    const bool windows = std::any_of(flows.begin(), flows.end(),
                                     [](const RankFlow& flow) { return !flow.direct(); });
    if (windows && leaves_messages(all, moved, how.stall_timeout_s)) {
        mpi::Comm fresh = all.split(0, all.rank());
        all.abandon();
        all = std::move(fresh);
    }
    return moved;
}

/// On helpers: false when they are released.
bool HelperRanks::State::serve_once() {
    const Bytes bytes = all.bcast({}, lead);
    if (bytes.empty()) {
        return false;
    }
    const Command command = command_from(bytes);
    move(command.flows, std::vector<Outgoing>(command.flows.size()), command.how);
    return true;
}

progress::Lookout HelperRanks::State::alarmed(const WatchedTask& task) const {
    return progress::Lookout([&](double) {
        if (auto word = alarm.try_recv(alarm_tag)) {
            word->message.abandon();  // it is empty; that it came says all
            task.look();
            throw TimedOut(Problem{"another rank of the exchange has given up", "", "",
                                   "Its own error says why"});
        }
    });
}

void HelperRanks::State::close() {
    ended = "they were released";
    others.close();
    alarm.close();
    all.close();
}

void HelperRanks::State::lose(const char* why) {
    ended = why;
    for (int rank = 0; rank < alarm.size(); ++rank) {
        if (rank != alarm.rank() && !alarm.serial()) {
            alarm.isend(Bytes(), rank, alarm_tag).abandon();
        }
    }
    others.abandon();
    alarm.abandon();
    all.abandon();
}

void HelperRanks::State::abandon() noexcept {
    if (ended != nullptr || made.inherited() || !mpi::running()) {
        return;
    }
    try {
        lose("they were given up");
    } catch (...) {  // the others may wait then
    }
}

HelperRanks::HelperRanks(mpi::Comm comm, bool helps) : state_(new State) {
    state_->all = std::move(comm);
    state_->helps = helps;
    try {
        state_->open();
    } catch (const InvalidArgument&) {
        state_->close();  // the same on all ranks
        throw;
    } catch (...) {
        state_->lose("they were not made");
        throw;
    }
}

HelperRanks::~HelperRanks() = default;
HelperRanks::HelperRanks(HelperRanks&&) noexcept = default;
HelperRanks& HelperRanks::operator=(HelperRanks&&) noexcept = default;

bool HelperRanks::helps() const {
    return state_->helps;
}
std::span<const int> HelperRanks::helpers() const {
    return state_->helpers;
}
std::uint64_t HelperRanks::serve() {
    State& state = *state_;
    state.check(true, "serve");
    try {
        // One that has nothing to do with what has failed, or is left alone, would wait for ever.
        std::uint64_t served = 0;
        while (state.watched(endless_s, [&] { return state.serve_once(); })) {
            ++served;
        }
        state.close();
        return served;
    } catch (...) {
        state.lose(exchange_failed);
        throw;
    }
}

Exchanged HelperRanks::exchange(const std::function<PlannedCall()>& prepare) {
    State& state = *state_;
    state.check(false, "exchange");
    AgreedFlows agreed = state.agree(prepare);
    const double limit_s = agreed.call.how.stall_timeout_s;
    try {
        Moved moved = state.watched(RankWatch::kept_limit(limit_s), [&] {
            {
                const progress::Lookout limited(
                    progress::time_limit(limit_s, not_all_come_to_exchange));
                state.all.bcast(bytes_of(agreed.flows, agreed.call.how), state.lead);
            }
            return state.move(agreed.flows, agreed.call.outgoing, agreed.call.how);
        });
        return {std::move(moved), std::move(agreed.warning)};
    } catch (...) {
        state.lose(exchange_failed);
        throw;
    }
}

void HelperRanks::release() {
    State& state = *state_;
    if (state.ended != nullptr) {
        return;
    }
    state.check(false, "release");
    try {
        state.watched(endless_s, [&] { return state.all.bcast({}, state.lead); });
    } catch (...) {
        state.lose("a helper has given up");
        throw;
    }
    state.close();
}

void HelperRanks::abandon() noexcept {
    state_->abandon();
}

}  // namespace fluvial::move
