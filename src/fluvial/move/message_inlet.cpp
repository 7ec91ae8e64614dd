// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <unordered_map>
#include <utility>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/message_flow.hpp"
#include "fluvial/mpi/receive_ring.hpp"

namespace fluvial::move {

namespace {

class RingOfMessages final : public MessageInlet {
  public:
    RingOfMessages(const LinkPlan& plan, const mpi::Comm& comm, const std::vector<int>& producers);
    ~RingOfMessages() override;

    Arrival ready() override;
    void release(std::size_t bytes) override;
    bool ended() override { return open_ == 0; }
    bool drained() override;
    void progress() override;
    void take(const progress::ControlMessage& message) override;
    std::uint64_t depth() const override { return depth_; }
    std::uint64_t memory() const override { return ring_.memory(); }

  private:
    /// The link of one producer.
    struct Link {
        std::uint64_t released = 0;
        std::optional<std::uint64_t> committed = {};  ///< when it has closed
        int credits_due = 0;
    };

    bool advance();
    void settle(int producer, Link& link);
    void complete_credits();

    const MessageFlow flow_;
    const mpi::Comm& comm_;
    const int stream_;
    mpi::ReceiveRing ring_;
    std::unordered_map<int, Link> links_;  ///< by rank in the channel
    int open_ = 0;                         ///< producers that did not close, or have more here
    std::deque<mpi::ReceiveRing::Received> arrived_;
    std::size_t taken_ = 0;  ///< of the oldest of them
    std::uint64_t depth_ = 0;
    std::vector<mpi::Request> credits_sent_;
};

RingOfMessages::RingOfMessages(const LinkPlan& plan, const mpi::Comm& comm,
                               const std::vector<int>& producers)
    : flow_(plan),
      comm_(comm),
      stream_(plan.stream),
      ring_(comm, data_tag + plan.stream,
            static_cast<std::size_t>(flow_.credits) * producers.size(), flow_.slot_bytes),
      open_(static_cast<int>(producers.size())) {
    for (const int producer : producers) {
        links_[producer] = {};
    }
}

RingOfMessages::~RingOfMessages() {
    for (mpi::Request& request : credits_sent_) {
        request.abandon();
    }
    if (open_ > 0) {  // a producer may have sent what was not received
        comm_.leave_messages();
    }
}

bool RingOfMessages::advance() {
    const auto next = ring_.try_next();
    if (!next) {
        return false;
    }
    arrived_.push_back(*next);
    depth_ += next->bytes.size();
    return true;
}

Arrival RingOfMessages::ready() {
    if (arrived_.empty() && !advance()) {
        return {};
    }
    const auto& oldest = arrived_.front();
    return {oldest.bytes.subspan(taken_), oldest.source, links_.at(oldest.source).released};
}

void RingOfMessages::release(std::size_t bytes) {
    if (bytes == 0) {
        return;
    }
    FLUVIAL_ASSERT(!arrived_.empty() && taken_ + bytes <= arrived_.front().bytes.size(), bytes);
    const auto oldest = arrived_.front();
    Link& link = links_.at(oldest.source);
    link.released += bytes;
    depth_ -= bytes;
    taken_ += bytes;
    if (taken_ < oldest.bytes.size()) {
        return;
    }
    taken_ = 0;
    arrived_.pop_front();
    ring_.give_back();
    ++link.credits_due;
    settle(oldest.source, link);
}

/// Returns credits when it is worth a message, and all of them at the end.
void RingOfMessages::settle(int producer, Link& link) {
    const bool over = link.committed == link.released;
    if (over) {
        --open_;
    }
    if (link.credits_due < (over ? 1 : flow_.credits_back())) {
        return;
    }
    complete_credits();
    ByteWriter credits;
    credits.put<std::int32_t>(std::exchange(link.credits_due, 0));
    credits_sent_.push_back(comm_.isend(credits.take(), producer, credit_tag + stream_));
}

void RingOfMessages::take(const progress::ControlMessage& message) {
    Link& link = links_.at(message.from);
    link.committed = ByteReader(message.bytes).get<std::uint64_t>();
    settle(message.from, link);
}

void RingOfMessages::progress() {
    while (advance()) {
    }
    complete_credits();
}

bool RingOfMessages::drained() {
    complete_credits();
    return credits_sent_.empty();
}

void RingOfMessages::complete_credits() {
    std::erase_if(credits_sent_, [](mpi::Request& request) { return request.test(); });
}

}  // namespace

std::unique_ptr<MessageInlet> make_message_inlet(const LinkPlan& plan, const mpi::Comm& comm,
                                                 std::vector<int> producers) {
    check_tags(plan);
    return std::make_unique<RingOfMessages>(plan, comm, producers);
}

}  // namespace fluvial::move
