// SPDX-License-Identifier: Apache-2.0
/// How a seat elsewhere shows that it lives, and finds another way to the writer's host when its
/// present one falls silent: by another interface of that host.
///
/// Nothing is lost on the change. The reader says what it has; the writer's host, which has kept
/// the messages of all steps that are out, sends again what did not arrive. A read that was under
/// way begins again (remote_data.cpp).
#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/stage/remote_seat.hpp"

namespace fluvial::stage {
namespace {

/// After so long without a reply another interface is tried, and then the next: some time before
/// the keep-alive of TCP ends the connection, and before the reader gives the writer up.
double silence_s(double stall_timeout_s) {
    constexpr double most = 2;
    return std::min(most, stall_timeout_s / 4);
}

/// A peer that was heard within this time is no longer silent.
constexpr std::int64_t looked_every_ns = 100'000'000;

}  // namespace

/// Called once in a while by a thread of its own. Also takes messages that have come, so that they
/// do not pile up.
void RemoteSeat::beat() {
    if (const auto endpoint = other_way()) {
        const WithoutInterrupts quietly;
        try {
            const Deadline deadline(silence_s(options_.stall_timeout_s));
            go_on(connect_to(contact_, options_.stall_timeout_s, *endpoint, deadline), *endpoint);
        } catch (const Error&) {  // no way either
        }
    }
    seek_standby();
    const std::lock_guard lock(mutex_);
    if (!connection_ || !lost_.empty()) {
        return;
    }
    post_done();
    if (!connection_->sending()) {
        ByteWriter out;
        out.put(FromReader::Beat);
        connection_->post(out.view());
    }
    hear_all();
}

/// The next endpoint of the writer's host, when the present one has been silent for long.
std::optional<move::Endpoint> RemoteSeat::other_way() {
    const std::lock_guard lock(mutex_);
    const auto& all = contact_.endpoints;
    if (all.size() < 2 || !connection_ || !lost_.empty()) {
        return std::nullopt;
    }
    const auto patience_ns = static_cast<std::int64_t>(silence_s(options_.stall_timeout_s) * 1e9);
    const std::int64_t now = now_ns();
    if (now - std::max(heard_ns_, looked_ns_) < patience_ns) {
        return std::nullopt;
    }
    looked_ns_ = now;
    const auto present = std::find(all.begin(), all.end(), tried_.value_or(endpoint_));
    tried_ = present == all.end() || present + 1 == all.end() ? all.front() : *(present + 1);
    return tried_ == endpoint_ ? std::nullopt : tried_;
}

void RemoteSeat::go_on(move::SecureConnection connection, const move::Endpoint& endpoint) {
    const std::lock_guard lock(mutex_);
    hear_all();
    if (!connection_ || !lost_.empty() || now_ns() - heard_ns_ < looked_every_ns) {
        return;  // the seat has left, or the connection works again
    }
    change_to(std::move(connection), endpoint);
}

/// With the mutex.
void RemoteSeat::change_to(move::SecureConnection connection, const move::Endpoint& endpoint) {
    connection.read_ahead();
    connection.post(
        encode(GoesOnMessage{.token = stream_.token,
                             .asked = asked_,
                             .came = came_,
                             .holds = std::vector<std::uint64_t>(holds_.begin(), holds_.end()),
                             .given = given_,
                             .wanted = wanted_,
                             .stall_timeout_s = options_.stall_timeout_s,
                             .host = hostname()}));
    // The writer's host gives back what is not held; to be told so once more makes no sense there.
    std::erase_if(done_, [this](const DoneStep& done) { return !holds_.contains(done.step); });
    connection_ = std::move(connection);
    endpoint_ = endpoint;
    interface_ = move::interface_of(connection_->socket().own_address());
    tried_.reset();
    arriving_.reset();
    heard_ns_ = now_ns();
    ++way_;
    hear_all();
    woken_.ring();
}

/// The connection has ended: the rank that stands by on the writer's host is asked, until it takes
/// this reader over, or no process listens there. Then the loss is one.
void RemoteSeat::seek_standby() {
    Contact standby;
    {
        const std::lock_guard lock(mutex_);
        hear_all();
        if (!seeks_standby()) {
            return;
        }
        standby = contact_;
        for (move::Endpoint& endpoint : standby.endpoints) {
            endpoint.port = stream_.standby_port;
        }
        standby.names.clear();
        lost_ns_ = lost_ns_ == 0 ? now_ns() : lost_ns_;
        const auto patience_ns = static_cast<std::int64_t>(options_.stall_timeout_s * 1e9);
        standby_may_serve_ = !ended_ && now_ns() - lost_ns_ < patience_ns;
        if (!standby_may_serve_) {
            woken_.ring();
            return;
        }
    }
    const WithoutInterrupts quietly;
    try {
        move::Endpoint found;
        move::SecureConnection connection =
            connect_to(standby, options_.stall_timeout_s, found, interfaces_);
        const std::lock_guard lock(mutex_);
        if (connection_) {
            contact_.endpoints = standby.endpoints;
            standby_may_serve_ = false;
            anew_ = true;
            lost_.clear();
            joined_ = false;
            take_back_unfetched();
            change_to(std::move(connection), found);
        }
    } catch (const StaleContact&) {  // no process listens
        const std::lock_guard lock(mutex_);
        standby_may_serve_ = false;
        woken_.ring();
    } catch (const Error&) {  // again later
    }
}

/// Waits until it is known whether another rank takes this reader over; `way` was the connection
/// that has ended.
bool RemoteSeat::found_standby(unsigned way) {
    {
        const std::lock_guard lock(mutex_);
        if (!standby_may_serve_ && way_ == way) {
            return false;
        }
    }
    // A process that dies ends its connections one after the other.
    const Deadline all_ended(0.5);
    const auto known = [&] {
        return way_ != way || (!seeks_standby() && (!standby_may_serve_ || all_ended.passed()));
    };
    const Deadline deadline(options_.stall_timeout_s);
    listen_until(deadline, known);
    const std::lock_guard lock(mutex_);
    return way_ != way;
}

/// Of the rank that serves this reader.
std::vector<move::Endpoint> RemoteSeat::endpoints() const {
    const std::lock_guard lock(mutex_);
    return contact_.endpoints;
}

}  // namespace fluvial::stage
