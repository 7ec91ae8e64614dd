// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/redistribution.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/distribute/redistribute.hpp"
#include "fluvial/move/declared_shares.hpp"
#include "fluvial/move/left_messages.hpp"
#include "fluvial/move/messages_on_their_way.hpp"
#include "fluvial/move/planned_exchange.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/given_up.hpp"
#include "fluvial/mpi/receive_into.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

using distribute::Share;
using distribute::Transfer;
using route::RankFlow;

constexpr const char* not_all_come_to_step =
    "not all ranks have come to a step of a redistribution";

constexpr int part_tag =
    0;  // between two ranks there is one message a step, and MPI keeps their order

void say(Terms& terms, const Coordinates& shape, DType dtype,
         const RedistributionOptions& options) {
    terms.add("the shape of the array", text(shape));
    terms.add("the dtype of the array", std::string(name_of(dtype)));
    say_topology(terms, options.topology.get());
    terms.add("the planner", options.plan.planner);
    const route::Limits& limits = options.plan.limits;
    terms.add("the limits of a plan", text(limits.proxies_per_path, " ", limits.paths_per_flow, " ",
                                           limits.paths_per_proxy));
    say_options(terms, options.plan.flow);
    terms.add("the checksum", exact(options.how.checksum));
}

void check_array(const ArrayView& view, const Region& region, DType dtype, const char* what,
                 std::size_t number) {
    if (view.dtype != dtype || !(view.extent == region.extent)) {
        throw InvalidArgument(Problem{text("the array for box ", number, " that this rank ", what,
                                           " is another one than it has declared"),
                                      text(name_of(view.dtype), " of ", view.extent),
                                      text(name_of(dtype), " of ", region.extent),
                                      "Pass arrays in the order of the boxes"});
    }
}

void check_count(std::size_t given, std::size_t boxes, const char* what) {
    if (given != boxes) {
        throw InvalidArgument(Problem{text("not one array for each box that this rank ", what),
                                      text(given), text(boxes),
                                      "Pass as many arrays as boxes were declared"});
    }
}

/// Of the exception that is being handled: ranks could not even agree.
bool a_rank_is_lost() {
    try {
        throw;
    } catch (const PeerLost&) {
    } catch (const TimedOut&) {
    } catch (...) {
        return false;
    }
    return true;
}

}  // namespace

struct Redistribution::State {
    mpi::Comm comm;
    Coordinates shape = {};
    DType dtype = DType::UInt8;
    std::vector<Region> has, wants;
    RedistributionOptions options;
    std::vector<route::RankBytes> data;  ///< between two ranks each
    std::vector<RankFlow> flows;         ///< the same
    double speed_up = 1;
    std::string warning;
    bool by_paths = false;                       ///< some of them, or else all go direct
    bool agreeing = false;                       ///< nothing is under way
    const char* ended = nullptr;                 ///< why there is no further step
    std::vector<BoxMessage> outgoing, incoming;  ///< of this rank
    std::vector<std::size_t> outgoing_flows, incoming_flows;  ///< their positions
    std::optional<BoxMessage> kept_from, kept_to;             ///< what it wants and has itself

    void open();
    void add(const DeclaredShares& all, std::span<const Transfer> transfers);
    void plan();
    void check(const StepArrays& arrays) const;
    void agree(const std::function<void()>& work);
    void keep(const StepArrays& arrays);
    void move_direct(const std::function<StepArrays()>& prepare);
    bool exchanges() const { return by_paths || options.how.checksum; }
    Moved exchanged(const std::function<StepArrays()>& prepare, StepArrays& arrays);
    void move_by_exchange(const std::function<StepArrays()>& prepare);
    void give_paths_up();
};

void Redistribution::State::open() {
    mpi::agree_on(
        comm,
        [&] {
            for (const Region& region : has) {
                check_inside(region, shape, "box that this rank has");
            }
            for (const Region& region : wants) {
                check_inside(region, shape, "box that this rank wants");
            }
        },
        [&](Terms& terms) { say(terms, shape, dtype, options); });
    const DeclaredShares all = declared_by_all(comm, shape.size(), has, wants);
    add(all, distribute::transfers_between(all.held, all.wanted));
    plan();
}

void Redistribution::State::add(const DeclaredShares& all, std::span<const Transfer> transfers) {
    const int me = comm.rank();
    const std::size_t item = size_of(dtype);
    // Positions among all shares as positions among this rank's.
    const auto first_of_mine = [&](const std::vector<Share>& shares) {
        return static_cast<std::size_t>(
            std::find_if(shares.begin(), shares.end(),
                         [&](const Share& share) { return share.rank == me; }) -
            shares.begin());
    };
    const std::size_t first_held = first_of_mine(all.held);
    const std::size_t first_wanted = first_of_mine(all.wanted);
    for (const Transfer& transfer : transfers) {
        const Share &held = all.held[transfer.held], &wanted = all.wanted[transfer.wanted];
        const std::size_t bytes = static_cast<std::size_t>(transfer.region.volume()) * item;
        const bool same = held.rank == wanted.rank;
        if (!same &&
            (data.empty() || data.back().from != held.rank || data.back().to != wanted.rank)) {
            data.push_back({held.rank, wanted.rank, 0});
            if (held.rank == me) {
                outgoing.emplace_back(wanted.rank);
                outgoing_flows.push_back(data.size() - 1);
            }
            if (wanted.rank == me) {
                incoming.emplace_back(held.rank);
                incoming_flows.push_back(data.size() - 1);
            }
        }
        if (!same) {
            data.back().bytes += bytes;
        }
        if (held.rank == me) {
            BoxMessage& message =
                same ? kept_from ? *kept_from : kept_from.emplace(me) : outgoing.back();
            message.add(transfer.held - first_held, within(transfer.region, held.region), item);
        }
        if (wanted.rank == me) {
            BoxMessage& message = same ? kept_to ? *kept_to : kept_to.emplace(me) : incoming.back();
            message.add(transfer.wanted - first_wanted, within(transfer.region, wanted.region),
                        item);
        }
    }
}

void Redistribution::State::plan() {
    flows = route::direct_between_ranks(data);
    if (!options.topology) {
        return;
    }
    warning = check_in_place(comm, *options.topology, options.displaced);
    if (!warning.empty()) {
        return;
    }
    route::RankPlan found =
        route::plan_between_ranks(*options.topology, data, comm.size(), options.plan);
    flows = std::move(found.flows);
    by_paths = std::any_of(flows.begin(), flows.end(),
                           [](const RankFlow& flow) { return !flow.direct(); });
    speed_up = by_paths && found.load_s > 0 ? found.direct_load_s / found.load_s : 1;
}

void Redistribution::State::check(const StepArrays& arrays) const {
    const auto& [from, to] = arrays;
    check_count(from.size(), has.size(), "has");
    check_count(to.size(), wants.size(), "wants");
    for (std::size_t i = 0; i < from.size(); ++i) {
        check_array(from[i].view, has[i], dtype, "has", i);
    }
    for (std::size_t i = 0; i < to.size(); ++i) {
        check_array(to[i].view, wants[i], dtype, "wants", i);
    }
}

/// What a rank's arguments throw is thrown on all ranks, and the next step works.
void Redistribution::State::agree(const std::function<void()>& work) {
    agreeing = true;
    mpi::agree(comm, work);
    agreeing = false;
}

void Redistribution::State::keep(const StepArrays& arrays) {
    if (kept_from) {
        copy_boxes(*kept_from, arrays.from, *kept_to, arrays.to);
    }
}

void Redistribution::State::move_direct(const std::function<StepArrays()>& prepare) {
    StepArrays arrays;
    std::exception_ptr wrong;
    try {
        arrays = prepare();
        check(arrays);
    } catch (...) {
        wrong = std::current_exception();  // the others are told while they wait for the data
    }
    const auto& [from, to] = arrays;
    MessagesOnTheirWay all("a redistribution", options.how.stall_timeout_s);
    bool all_right = true;
    for (BoxMessage& message : incoming) {
        const BoxMessage::Memory memory = wrong ? message.buffer() : message.memory(to);
        std::function<void(mpi::Request&)> then;
        if (!wrong && !memory.in_place) {
            then = [&message, &arrays, bytes = memory.bytes](mpi::Request&) {
                message.scatter(bytes, arrays.to);
            };
        }
        all.add(mpi::receive_into(comm, memory.bytes, memory.owner, message.rank(), part_tag),
                std::move(then));
    }
    all.add(comm.imin_of_each({wrong ? 0 : 1}), [&all_right](mpi::Request& agreed) {
        Index least = 1;
        const std::vector<std::byte> said = agreed.take();
        std::memcpy(&least, said.data(), std::min(sizeof least, said.size()));
        all_right = least == 1;
    });
    for (BoxMessage& message : outgoing) {
        if (wrong) {
            all.add(comm.isend(std::vector<std::byte>(), message.rank(), part_tag));
            continue;
        }
        const BoxMessage::Bytes bytes = message.gather(from);
        all.add(comm.isend(bytes.bytes, bytes.owner, message.rank(), part_tag));
    }
    if (!wrong) {
        keep(arrays);
    }
    all.wait();
    if (!all_right) {
        agree([&] {
            if (wrong) {
                std::rethrow_exception(wrong);
            }
        });
    }
}

/// Agrees on the step, and moves what goes from one rank to another.
Moved Redistribution::State::exchanged(const std::function<StepArrays()>& prepare,
                                       StepArrays& arrays) {
    std::optional<PreparedExchange> prepared;
    {
        const progress::Lookout limited(
            progress::time_limit(options.how.stall_timeout_s, not_all_come_to_step));
        agree([&] {
            arrays = prepare();
            check(arrays);
        });
        std::vector<Outgoing> sent(flows.size());
        for (std::size_t i = 0; i < outgoing.size(); ++i) {
            BoxMessage::Bytes bytes = outgoing[i].gather(arrays.from);
            sent[outgoing_flows[i]] = {bytes.bytes, std::move(bytes.owner)};
        }
        prepared.emplace(comm, flows, std::move(sent), options.how);
    }
    keep(arrays);
    return prepared->run();
}

void Redistribution::State::move_by_exchange(const std::function<StepArrays()>& prepare) {
    StepArrays arrays;
    const Moved moved = exchanged(prepare, arrays);
    for (std::size_t i = 0; i < incoming.size(); ++i) {
        const Arrived& arrived = moved.arrived[incoming_flows[i]];
        incoming[i].scatter({arrived.bytes.get(), arrived.size}, arrays.to);
    }
    if (leaves_messages(comm, moved, options.how.stall_timeout_s)) {
        give_paths_up();
    }
}

/// Messages may be left in the communicator, so it is given up as well.
void Redistribution::State::give_paths_up() {
    mpi::Comm fresh = comm.split(0, comm.rank());
    comm.abandon();
    comm = std::move(fresh);
    flows = route::direct_between_ranks(data);
    by_paths = false;
    warning = "flows go direct: a proxy stood still";
}

Redistribution::Redistribution(mpi::Comm comm, const Coordinates& shape, DType dtype,
                               std::span<const Region> has, std::span<const Region> wants,
                               RedistributionOptions options)
    : state_(std::make_shared<State>()) {
    state_->comm = std::move(comm);
    state_->shape = shape;
    state_->dtype = dtype;
    state_->has.assign(has.begin(), has.end());
    state_->wants.assign(wants.begin(), wants.end());
    state_->options = std::move(options);
    mpi::given_up_on_error(state_->comm, [this] {
        const progress::Setup setup(
            progress::time_limit(state_->options.how.stall_timeout_s, not_all_declared));
        state_->open();
    });
}

Redistribution::~Redistribution() = default;
Redistribution::Redistribution(Redistribution&&) noexcept = default;
Redistribution& Redistribution::operator=(Redistribution&&) noexcept = default;

void Redistribution::move(std::span<const HeldArray> from, std::span<const WantedArray> to) {
    move([&] { return StepArrays{{from.begin(), from.end()}, {to.begin(), to.end()}}; });
}

void Redistribution::move(const std::function<StepArrays()>& prepare) {
    State& state = *state_;
    if (state.ended != nullptr) {
        throw InvalidArgument(Problem{"a redistribution has no further step", state.ended, "",
                                      "Make another one, among ranks that live"});
    }
    try {
        if (state.exchanges()) {
            state.move_by_exchange(prepare);
        } else {
            state.move_direct(prepare);
        }
    } catch (...) {
        if (std::exchange(state.agreeing, false) && !a_rank_is_lost()) {
            throw;
        }
        state.ended = "an earlier one failed";
        state.comm.abandon();
        throw;
    }
}

const Coordinates& Redistribution::shape() const {
    return state_->shape;
}
DType Redistribution::dtype() const {
    return state_->dtype;
}
std::span<const Region> Redistribution::has() const {
    return state_->has;
}
std::span<const Region> Redistribution::wants() const {
    return state_->wants;
}
std::span<const RankFlow> Redistribution::flows() const {
    return state_->flows;
}
double Redistribution::speed_up() const {
    return state_->speed_up;
}
const std::string& Redistribution::warning() const {
    return state_->warning;
}
void Redistribution::close() {
    state_->ended = "it is closed";
    state_->comm.close();
}
void Redistribution::abandon() noexcept {
    if (!state_) {
        return;
    }
    state_->ended = "it was given up";
    state_->comm.abandon();
}

}  // namespace fluvial::move
