// SPDX-License-Identifier: Apache-2.0
/// What the lead sends to the ranks of its pool and gets from them: straight, or through the server
/// that they have (a relay).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/flow/messages.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/flow/task_messages.hpp"

namespace fluvial::flow {

/// Many messages in one: those of several ranks, or for several ranks.
class Parcel {
  public:
    void add(int rank, std::span<const std::byte> message);
    std::size_t size() const { return bytes_.size(); }
    Bytes take() { return bytes_.take(); }
    static void each(std::span<const std::byte> parcel,
                     const std::function<void(int, std::span<const std::byte>)>& use);

  private:
    ByteWriter bytes_;
};

/// Everything is local. One thread at a time.
class ServerMessages {
  public:
    /// Both outlive it.
    ServerMessages(const mpi::Comm& comm, const Roles& roles);

    /// To a rank that runs tasks; leaves at flush(), or before.
    void post_orders(int rank, Bytes orders);
    /// To a relay, or to a rank whose relay is lost.
    void post_straight(int rank, Bytes orders) {
        messages_.post(rank, tag_orders, std::move(orders));
    }
    void flush();
    /// Reports of up to `most` messages; `use` is called with the rank that made them. False when
    /// there are none.
    bool take_reports(int most, const std::function<void(int, std::span<const std::byte>)>& use);
    std::optional<TaskMessages::Message> poll_fetched() { return messages_.poll(tag_fetched); }
    /// A relay that has sent nothing, not even that it lives, for so long while the lead looked.
    /// `passed_s`: since the last call.
    std::optional<int> silent(double passed_s, double limit_s);
    /// The relay has ended: its silence means nothing.
    void expect_no_more(int relay) { silences_s_.erase(relay); }
    /// The same, and forgets what was posted to it.
    void give_up_on(int rank);
    void abandon() { messages_.abandon(); }

  private:
    TaskMessages messages_;
    const Roles& roles_;
    std::map<int, Parcel> parcels_;     ///< by relay, that have not left
    std::map<int, double> silences_s_;  ///< by relay
};

}  // namespace fluvial::flow
