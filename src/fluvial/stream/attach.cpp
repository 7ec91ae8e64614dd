// SPDX-License-Identifier: Apache-2.0
/// How a stream comes into being: options agreed on, rings laid, links made.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "fluvial/move/message_flow.hpp"
#include "fluvial/move/record.hpp"
#include "fluvial/move/ring.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

constexpr std::size_t ring_bytes_default = move::ring_window_bytes;
constexpr std::size_t buffer_bytes_default = std::size_t{64} << 20;
constexpr std::size_t buffer_bytes_max = std::size_t{1} << 48;
constexpr double latency_max_s = 1e6;
constexpr std::size_t line = 64;

const char* name_of(Association::Kind kind) {
    static constexpr const char* kinds[] = {"nearest", "round robin", "most room", "choice by "};
    return kinds[static_cast<int>(kind)];
}

/// What all ranks must say alike of a stream. Of its operation, ranks that have one and all
/// consumers must say the same, also that there is none.
void add_terms(const StreamState& stream, Role role, const Operation* operation, Terms& terms) {
    const StreamOptions& options = stream.options;
    const Element& element = options.element;
    const std::string remedy = "Attach streams in the same order with equal options";
    const std::string number = text("stream ", stream.number);  // names are for people alone
    terms.add(
        "the elements of " + number,
        text(element.varies ? "up to " : "", element.bytes, " bytes, ",
             options.element_type.empty() ? fluvial::name_of(element.dtype) : options.element_type,
             ' ', element.shape),
        remedy);
    terms.add("buffer_bytes of " + number, text(options.buffer_bytes), remedy);
    terms.add("the association of " + number,
              name_of(options.association.kind) + options.association.declared, remedy);
    terms.add("result_on_producers of " + number, exact(options.result_on_producers), remedy);
    terms.add("the latency of " + number, exact(options.latency_s), remedy);
    if (consumes(role) || operation != nullptr) {
        terms.add_where_known(
            "the operation of " + number, operation != nullptr ? operation->describe() : "none",
            "Attach it with the same operation on every consumer, or on none; functions are known "
            "by their name and version");
    }
}

bool is_linked(const StreamState& stream, int producer, int consumer) {
    const ChannelState& channel = *stream.channel;
    return stream.options.association.kind != Association::Kind::Nearest ||
           channel.consumer_of[static_cast<std::size_t>(producer)] == consumer;
}

std::vector<int> producers_of(const StreamState& stream, int consumer) {
    std::vector<int> found;
    for (const int producer : stream.channel->producers) {
        if (is_linked(stream, producer, consumer)) {
            found.push_back(producer);
        }
    }
    return found;
}

/// The number of links of the consumer that has most.
std::size_t links_max(const StreamState& stream) {
    const ChannelState& channel = *stream.channel;
    if (stream.options.association.kind != Association::Kind::Nearest) {
        return channel.producers.size();
    }
    std::vector<std::size_t> links(channel.members.size(), 0);
    for (const int producer : channel.producers) {
        ++links[static_cast<std::size_t>(channel.consumer_of[static_cast<std::size_t>(producer)])];
    }
    return *std::max_element(links.begin(), links.end());
}

bool by_ring(const ChannelState& channel, int producer, int consumer) {
    return channel.options.shared_memory &&
           channel.members[static_cast<std::size_t>(producer)].host ==
               channel.members[static_cast<std::size_t>(consumer)].host;
}

/// The writers of the consumer on this host that has most: ranks that share a core take turns.
double writers_max(const StreamState& stream) {
    const ChannelState& channel = *stream.channel;
    double most = 0;
    for (const int consumer : channel.consumers) {
        double writers = 0;
        for (const int producer : producers_of(stream, consumer)) {
            const int host_rank = channel.host_ranks[static_cast<std::size_t>(producer)];
            if (host_rank < 0 || !by_ring(channel, producer, consumer)) {
                continue;
            }
            writers +=
                1 / std::max(1.0, channel.ranks_per_core_of[static_cast<std::size_t>(host_rank)]);
        }
        most = std::max(most, writers);
    }
    return most;
}

/// Parts end between items. The items of opaque bytes are not known: their alignment is kept.
std::size_t part_unit(const Element& element) {
    return element.item_bytes() > 1 ? element.item_bytes() : std::gcd(element.bytes, line);
}

void check_ranges(const StreamOptions& options) {
    if (!(options.latency_s >= 0 && options.latency_s <= latency_max_s)) {
        throw InvalidArgument(Problem{"latency_s is out of range", text(options.latency_s),
                                      text("0 to ", latency_max_s, " seconds"), ""});
    }
    if (options.buffer_bytes > buffer_bytes_max) {
        throw InvalidArgument(Problem{"buffer_bytes is too large", text(options.buffer_bytes),
                                      text("up to ", buffer_bytes_max),
                                      "Leave it at 0 for a size that suits"});
    }
}

/// The same on all ranks. Throws InvalidArgument when an option makes no sense, or the buffer is
/// too small.
move::LinkPlan make_plan(const StreamState& stream, bool takes_parts) {
    check_ranges(stream.options);
    const Element& element = stream.options.element;
    move::LinkPlan plan;
    plan.stream = stream.number;
    plan.latency_s = stream.options.latency_s;
    plan.varies = element.varies;
    const bool in_parts = takes_parts && !element.varies && element.bytes > part_bytes_max;
    plan.unit_bytes = element.varies ? 8 : in_parts ? part_unit(element) : element.bytes;
    plan.piece_bytes_max = element.varies ? move::record_bytes(element.bytes)
                           : in_parts     ? part_bytes_max - part_bytes_max % plan.unit_bytes
                                          : element.bytes;
    const std::size_t links = links_max(stream);
    plan.links = static_cast<int>(links);
    plan.writers = writers_max(stream);
    plan.same_host = stream.channel->host.size() == stream.channel->comm.size();
    plan.oversubscribed = stream.channel->host_is_oversubscribed();
    const std::size_t least = std::max(2 * plan.piece_bytes_max, 8 * line);
    plan.buffer_bytes = stream.options.buffer_bytes / links;
    if (stream.options.buffer_bytes == 0) {
        const std::size_t suits = stream.channel->options.shared_memory ? ring_bytes_default
                                  : plan.same_host                      ? move::near_link_bytes
                                                                        : move::far_link_bytes;
        plan.buffer_bytes = std::max(std::min(suits, buffer_bytes_default / links), 2 * least);
    }
    if (plan.buffer_bytes < least) {
        throw InvalidArgument(Problem{"buffer_bytes is too small",
                                      text(stream.options.buffer_bytes),
                                      text(least * links, " or more (two elements of each of ",
                                           links, " producers of a consumer)"),
                                      "Leave it at 0 for a size that suits"});
    }
    return plan;
}

/// Where each ring into a consumer lies in its part of the memory.
std::span<std::byte> ring_at(std::span<std::byte> part, const move::LinkPlan& plan,
                             std::size_t number) {
    const auto address = reinterpret_cast<std::uintptr_t>(part.data());
    const std::size_t gap = (line - address % line) % line;
    return part.subspan(gap + number * move::ring_memory(plan), move::ring_memory(plan));
}

class Links {
  public:
    explicit Links(StreamState& stream) : stream_(stream), channel_(*stream.channel) {}

    void allocate() {
        if (!channel_.options.shared_memory) {
            return;
        }
        std::size_t bytes = 0;
        if (consumes(own_role())) {
            bytes = rings_into(channel_.rank).size() * ring_bytes() + line;
        }
        stream_.memory = host::HostMemory::allocate(channel_.host, bytes);
        if (consumes(own_role())) {
            for (std::size_t i = 0; i < rings_into(channel_.rank).size(); ++i) {
                move::lay_ring(stream_.plan, ring(channel_.rank, i));
            }
        }
        channel_.host.barrier();
    }

    std::vector<std::unique_ptr<move::Outlet>> outlets() {
        std::vector<std::unique_ptr<move::Outlet>> made;
        for (const int consumer : channel_.consumers) {
            if (is_linked(stream_, channel_.rank, consumer)) {
                made.push_back(outlet_to(consumer));
            }
        }
        return made;
    }

    std::pair<std::vector<std::unique_ptr<move::Inlet>>, move::MessageInlet*> inlets() {
        std::vector<std::unique_ptr<move::Inlet>> made;
        const std::vector<int> near = rings_into(channel_.rank);
        for (std::size_t i = 0; i < near.size(); ++i) {
            made.push_back(move::make_ring_inlet(stream_.plan, ring(channel_.rank, i), near[i],
                                                 channel_.bell_of(near[i])));
        }
        std::vector<int> far;
        for (const int producer : producers_of(stream_, channel_.rank)) {
            if (!by_ring(channel_, producer, channel_.rank)) {
                far.push_back(producer);
            }
        }
        if (far.empty()) {
            return {std::move(made), nullptr};
        }
        auto messages = move::make_message_inlet(stream_.plan, channel_.comm, std::move(far));
        move::MessageInlet* const raw = messages.get();
        made.push_back(std::move(messages));
        return {std::move(made), raw};
    }

  private:
    Role own_role() const { return channel_.members[static_cast<std::size_t>(channel_.rank)].role; }
    std::size_t ring_bytes() const { return move::ring_memory(stream_.plan); }

    std::vector<int> rings_into(int consumer) const {
        std::vector<int> found = producers_of(stream_, consumer);
        std::erase_if(found, [&](int p) { return !by_ring(channel_, p, consumer); });
        return found;
    }

    std::span<std::byte> ring(int consumer, std::size_t number) const {
        const int host_rank = channel_.host_ranks[static_cast<std::size_t>(consumer)];
        return ring_at(stream_.memory.memory(host_rank), stream_.plan, number);
    }

    std::unique_ptr<move::Outlet> outlet_to(int consumer) {
        if (!by_ring(channel_, channel_.rank, consumer)) {
            return move::make_message_outlet(stream_.plan, channel_.comm, *channel_.control,
                                             consumer);
        }
        const std::vector<int> near = rings_into(consumer);
        const auto at = std::find(near.begin(), near.end(), channel_.rank);
        return move::make_ring_outlet(stream_.plan,
                                      ring(consumer, static_cast<std::size_t>(at - near.begin())),
                                      channel_.bell_of(consumer));
    }

    StreamState& stream_;
    ChannelState& channel_;
};

/// Returns whether `takes_parts` holds on all ranks. The same reduction tells which streams have
/// ended everywhere: their memory goes back, so that a program may attach one after the other.
bool agree_before_links(ChannelState& channel, bool takes_parts) {
    std::vector<std::shared_ptr<StreamState>> linked;  // the same ones on all ranks
    std::copy_if(channel.streams.begin(), channel.streams.end(), std::back_inserter(linked),
                 [](const auto& stream) { return !stream->links_released; });
    std::vector<Index> least{takes_parts ? 1 : 0};
    for (const auto& stream : linked) {
        least.push_back(stream->settled() ? 1 : 0);
    }
    least = channel.comm.min_of_each(std::move(least));
    for (std::size_t i = 0; i < linked.size(); ++i) {
        if (least[1 + i] == 1) {
            linked[i]->release_links();
        }
    }
    return least[0] == 1;
}

/// Local. What may fail: memory.
void make_ends(StreamState& stream, Links& links, Role role, std::unique_ptr<Operation> operation) {
    ChannelState& channel = *stream.channel;
    stream.query.emplace(*channel.control, stream.number, channel.consumers, channel.rank);
    if (consumes(role)) {
        auto [inlets, messages] = links.inlets();
        const auto at = std::find(channel.consumers.begin(), channel.consumers.end(), channel.rank);
        stream.consumer.emplace(stream.plan, stream.options.element, std::move(inlets), messages,
                                std::move(operation),
                                Ending(*channel.control, stream.number, channel.consumers,
                                       static_cast<int>(at - channel.consumers.begin())),
                                channel.trace.events.get());
    }
    if (produces(role)) {
        stream.producer.emplace(stream.plan, stream.options.element, stream.options.association,
                                links.outlets());
    }
}

}  // namespace

void attach(StreamState& stream, std::unique_ptr<Operation> operation) {
    ChannelState& channel = *stream.channel;
    const Role role = channel.members[static_cast<std::size_t>(channel.rank)].role;
    const auto validate = [&] {
        stream.options.element.check();
        const Association& association = stream.options.association;
        if (association.kind > Association::Kind::Choice) {
            throw InvalidArgument(Problem{"the kind of an association is none of its values",
                                          text("number ", static_cast<int>(association.kind)),
                                          "0 to 3: Nearest, RoundRobin, MostRoom, Choice",
                                          "Use Association::nearest() and the like"});
        }
        Association::check_inside(association.key, stream.options.element.bytes);
        if (produces(role) && association.kind == Association::Kind::Choice &&
            !association.choose) {
            throw InvalidArgument(Problem{"the function that chooses a consumer is missing",
                                          "an empty function", "a function", ""});
        }
    };
    mpi::agree_on(channel.comm, validate,
                  [&](Terms& terms) { add_terms(stream, role, operation.get(), terms); });
    const bool whole_only = consumes(role) && !(operation != nullptr && operation->takes_parts());
    const bool takes_parts = agree_before_links(channel, !whole_only);
    stream.plan = make_plan(stream, takes_parts);
    static_cast<void>(
        move::ring_memory(stream.plan));  // throws on all ranks or on none, as make_plan
    Links links(stream);
    try {
        mpi::agree(channel.comm, [&] { links.allocate(); });
        mpi::agree(channel.comm, [&] { make_ends(stream, links, role, std::move(operation)); });
    } catch (...) {
        stream.release();
        throw;
    }
}

}  // namespace fluvial::stream
