// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/relay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/flow/needs_lead.hpp"
#include "fluvial/flow/roles.hpp"

namespace fluvial::flow {

namespace {

/// What has come by then leaves together; what comes later is on its way soon enough.
constexpr int reports_per_turn = 256;

std::int64_t in_ns(double seconds) {
    return std::isinf(seconds) ? std::numeric_limits<std::int64_t>::max()
                               : static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace

class Relay::Waits final : public NeedsLead {
  public:
    explicit Waits(Relay& relay) : NeedsLead(relay.members_), relay_(relay) {}
    Seen look() override {
        const bool moved = relay_.work();
        if (relay_.stopped_ && !moved && relay_.messages_.sent()) {
            return Seen::End;
        }
        return moved ? Seen::Movement : Seen::Nothing;
    }

  private:
    Relay& relay_;
};

Relay::Relay(const mpi::Comm& comm, Members& members, std::vector<int> group, double beat_s)
    : comm_(comm),
      members_(members),
      group_(std::move(group)),
      beat_ns_(in_ns(beat_s)),
      messages_(comm) {}

void Relay::serve() {
    Waits waits(*this);
    progress::BackOff back_off(members_.ranks_per_core());
    progress::wait(waits, back_off);
}

/// One turn; true when there was something to do.
bool Relay::work() {
    bool moved = pass_on_orders();
    moved = gather_reports() || moved;
    moved = take_own_orders() || moved;
    tell_of_lost();
    if (parcel_.size() > 0 || now_ns() - sent_ns_ > beat_ns_) {
        send();
    }
    messages_.sent();
    return moved;
}

bool Relay::pass_on_orders() {
    bool moved = false;
    while (auto message = messages_.poll(tag_parcels)) {
        const auto parcel = std::make_shared<const Bytes>(std::move(message->bytes));
        Parcel::each(*parcel, [&](int rank, std::span<const std::byte> orders) {
            if (!lost_.contains(rank)) {
                messages_.post(rank, tag_orders, orders, parcel);
            }
        });
        moved = true;
    }
    return moved;
}

bool Relay::gather_reports() {
    int taken = 0;
    for (; taken < reports_per_turn; ++taken) {
        const auto message = messages_.poll(tag_reports);
        if (!message) {
            break;
        }
        parcel_.add(message->from, message->bytes);
    }
    return taken > 0;
}

bool Relay::take_own_orders() {
    bool moved = false;
    while (const auto message = messages_.poll(tag_orders)) {
        for (ByteReader in(message->bytes); !in.done();) {
            const Order order = Order::read(in);
            if (order.word == Word::Lost) {
                lost_.insert(order.ranks.front());
                messages_.give_up_on(order.ranks.front());
            } else if (order.word == Word::Stop) {
                any_lost_ = order.any_lost;
                stopped_ = true;
                ByteWriter bye;
                Report{}.write(bye);
                parcel_.add(comm_.rank(), bye.view());
            }
        }
        moved = true;
    }
    return moved;
}

/// The lead may be on another host, and cannot see for itself.
void Relay::tell_of_lost() {
    const auto lost = members_.look();
    if (lost && std::ranges::find(group_, lost->rank) != group_.end()) {
        ByteWriter report;
        const std::optional<TaskId> begun = members_.last_begun(lost->rank);
        Report{.word = begun ? Word::Died : Word::Lost,
               .task = begun.value_or(0),
               .result = {},
               .failure = lost}
            .write(report);
        parcel_.add(comm_.rank(), report.view());
    }
}

void Relay::send() {
    messages_.post(lead_rank, tag_parcels, parcel_.take());
    sent_ns_ = now_ns();
}

}  // namespace fluvial::flow
