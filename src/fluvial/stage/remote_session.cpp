// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_session.hpp"

#include <algorithm>
#include <utility>

#include <sodium.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/incoming_data.hpp"
#include "fluvial/stage/given_steps.hpp"
#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/slot_state.hpp"
#include "fluvial/stage/stream_end.hpp"

namespace fluvial::stage {
namespace {

/// The reader gets each step in its turn, whenever it asks for it.
bool nothing_slips_away(const ControlBlock& control, const AttachReply& place) {
    const ControlHeader& header = control.header();
    return (header.full == FullPolicy::Block || header.full == FullPolicy::Spill) &&
           header.steps_to == StepsTo::All && waited_for(control.group(place.group));
}

}  // namespace

RemoteSession::RemoteSession(move::SecureConnection connection, const AttachMessage& message,
                             const AttachReply& place, host::AliveLock alive,
                             const StreamMemory& memory, std::optional<Position> position)
    : connection_(std::move(connection)),
      memory_(memory),
      stall_timeout_s_(message.stall_timeout_s),
      host_(message.host.substr(0, 64)),
      place_(place),
      runs_ahead_(nothing_slips_away(*memory.control, place)),
      goes_on_(message.may_go_on || memory.control->header().standby_port != 0),
      position_(std::move(position)),
      alive_(std::move(alive)),
      messages_(memory, gives_back_early() && !goes_on_) {
    connection_.read_ahead();
    randombytes_buf(token_.data(), token_.size());
    {
        ReaderCell& cell = control().reader(place_.cell);
        cell.token = token_;
        cell.elsewhere = 1;
    }
    AttachedMessage attached{.reply = place_,
                             .token = token_,
                             .encrypt = memory_.encrypt,
                             .stall_timeout_s = control().header().stall_timeout_s,
                             .host = control().header().host,
                             .ranks = {},
                             .arena_bytes = {},
                             .may_run_ahead = runs_ahead_,
                             .shares_out = shares_out(control(), place_.cell),
                             .standby_port = static_cast<std::uint16_t>(
                                 position_ ? 0 : control().header().standby_port.load())};
    for (const host::Mapping& arena : memory_.arenas) {
        attached.ranks.push_back(control().job_rank(static_cast<int>(attached.ranks.size())));
        attached.arena_bytes.push_back(arena.size());
    }
    connection_.post(encode(attached));
}

RemoteSession::RemoteSession(move::SecureConnection connection, const GoesOnMessage& message,
                             int cell, host::AliveLock alive, const StreamMemory& memory,
                             const TakenOverSteps& steps)
    : connection_(std::move(connection)),
      memory_(memory),
      stall_timeout_s_(message.stall_timeout_s),
      host_(message.host.substr(0, 64)),
      token_(message.token),
      place_{.cell = cell,
             .group = static_cast<std::int32_t>(memory.control->reader(cell).group),
             .from = 0},
      runs_ahead_(nothing_slips_away(*memory.control, place_)),
      goes_on_(true),
      alive_(std::move(alive)),
      messages_(memory, false),
      sent_(message.came) {
    connection_.read_ahead();
    connection_.socket().give_up_after(patience_s(control().header().stall_timeout_s));
    messages_.want(message.wanted);
    asked_ = message.asked;
    given_ = message.given;
    for (const auto& [step, slot] : steps.held) {
        handed_out_.add(step, {slot});
    }
    for (const std::uint64_t step : message.holds) {
        // It came already: so that it counts as sent, and yet is never sent again.
        handed_out_.known(step).message.bytes.resize(1);
    }
    for (const auto& [step, slot] : steps.unsent) {
        next_index_ = step + 1;
        send_step({slot}, step, {.stats = steps.stats});
        --asked_;
        given_.reset();
    }
}

RemoteSession::~RemoteSession() {
    try {
        const ControlLock lock(control());
        const bool leaves = left_ || (ended_ && lost_.empty());
        if (leaves) {
            handed_out_.let_go(control(), place_.cell);
        }
        alive_ = {};
        if (leaves) {
            leave(control(), place_.cell);
        }
        lose_reader(control(), place_.cell,
                    text("on host ", host_, " is gone: ", lost_.empty() ? "hung up" : lost_));
    } catch (const Error&) {
        // A peer is stopped inside its critical section. Its alive lock is gone: others will
        // notice.
    }
}

std::string RemoteSession::who() const {
    const ReaderCell& cell = control().reader(place_.cell);
    return text("rank ", cell.rank, " (process ", cell.pid, " on ", host_, ')');
}

/// One for which the writer does not wait holds nobody up for longer than what is on its way to it
/// may take.
bool RemoteSession::has_all() {
    constexpr std::int64_t patience_ns = 1'000'000'000;
    last_asked_for_ns_ = last_asked_for_ns_ == 0 ? now_ns() : last_asked_for_ns_;
    const bool was_patient = now_ns() - last_asked_for_ns_ > patience_ns;
    if (observes()) {
        const bool sending = connection_.sending() ||
                             std::any_of(data_.begin(), data_.end(),
                                         [](const auto& one) { return one.second->sending(); });
        return !sending || over_ || was_patient;
    }
    const ControlLock lock(control());
    const GroupCell& group = control().group(place_.group);
    return (ended_ && handed_out_.steps().empty()) || over_ || group.state == GroupState::Evicted ||
           group.state == GroupState::Broken || (group.yields != 0 && was_patient);
}

void RemoteSession::advance(bool heard, bool asked_for_data) {
    try {
        if (heard || unheard_) {
            take_messages();
        }
        if (!over_) {
            note_sent();
            tell_when_joined();
            offer();
            serve_data(asked_for_data);
            connection_.flush();
            while (note_sent()) {
                offer();
                connection_.flush();
            }
        }
    } catch (const PeerStalled&) {
        // Of the writer's ranks: another process is stopped inside its critical section. Again
        // later.
    } catch (const std::exception& error) {  // it is gone, or says what makes no sense
        lose(error.what());
    }
}

/// The connection has ended: what it brought before may say that the reader has left, and what it
/// had read.
void RemoteSession::lose(const char* why) {
    lost_ = why;
    over_ = true;
    try {
        while (const auto message = connection_.take()) {
            ByteReader in(*message);
            const auto kind = in.get<FromReader>();
            if (kind == FromReader::Done) {
                finish(decode_done(in));
            }
            left_ = left_ || kind == FromReader::Leave;
        }
    } catch (const std::exception&) {  // that is all
    }
}

void RemoteSession::serve_data(bool asked) {
    for (auto one = data_.begin(); one != data_.end();) {
        const auto server = one++;
        try {
            if (asked || server->second->sending()) {
                server->second->advance(*this);
            }
        } catch (const PeerLost&) {  // the reader may begin another, or go over others
            data_.erase(server);
        } catch (const std::bad_alloc&) {  // there may be memory later
            data_.erase(server);
        }
    }
}

void RemoteSession::take_messages() {
    while (!over_) {
        if (!unheard_ && !(unheard_ = connection_.take())) {
            return;
        }
        control().reader(place_.cell).beat_ns.store(now_ns(), std::memory_order_relaxed);
        hear(*unheard_);
        unheard_.reset();
        if (!connection_.has_more()) {
            return;
        }
    }
}

void RemoteSession::hear(const Bytes& message) {
    ByteReader in(message);
    switch (in.get<FromReader>()) {
        case FromReader::Next:
            ++asked_;
            break;
        case FromReader::Given:
            if (control().header().follows == 0) {
                throw Error("it asks for a step that it was not given elsewhere");
            }
            given_ = in.get<std::uint64_t>();
            asked_ = 1;
            break;
        case FromReader::Done:
            finish(decode_done(in));
            break;
        case FromReader::Wants:
            messages_.want(get_parts(in));
            break;
        case FromReader::Shares:
            messages_.share();
            break;
        case FromReader::Status: {
            const ControlLock lock(control());
            reap(control());
            connection_.post(encode(status_of(control())));
            break;
        }
        case FromReader::Beat: {
            const ControlLock lock(control());
            connection_.post(encode(FromWriter::Beat, bearings_of(next_index_)));
            break;
        }
        case FromReader::Leave:
            left_ = true;
            over_ = true;
            break;
        default:
            throw Error("it says what no attached reader says");
    }
}

void RemoteSession::finish(const DoneStep& done) {
    handed_out_.finish(done.step);
    if (position_ && done.was_read) {
        try {
            position_->advance(done.step + 1);
        } catch (const Error& error) {
            refuse(error);
        }
    }
}

/// What the reader has asked for last ends with an error there.
void RemoteSession::refuse(const Error& error) {
    connection_.post(encode_failed(error.kind(), error.what()));
    asked_ = 0;
    given_.reset();
}

void RemoteSession::tell_when_joined() {
    if (joined_ || control().group(place_.group).state == GroupState::Joining) {
        return;
    }
    joined_ = true;
    ByteWriter out;
    out.put(FromWriter::Joined);
    connection_.post(out.view());
}

void RemoteSession::go_on(move::SecureConnection connection, const GoesOnMessage& message) {
    if (!goes_on_) {  // it has said that it would not: its steps are not kept
        lost_ = "it goes on over another connection, which it has not announced";
        over_ = true;
        return;
    }
    connection_ = std::move(connection);
    connection_.read_ahead();
    data_.clear();
    messages_.want(message.wanted);
    asked_ = message.asked;
    given_ = message.given;
    if (joined_) {
        joined_ = false;
        tell_when_joined();
    }
    std::vector<std::uint64_t> finished;
    for (const auto& [step, handed_out] : handed_out_.steps()) {
        if (handed_out.message.bytes.empty()) {  // it could not be described, and is given back
            continue;
        }
        if (handed_out.number >= message.came) {
            post(handed_out.message);
            --asked_;
            given_.reset();
        } else if (std::find(message.holds.begin(), message.holds.end(), step) ==
                   message.holds.end()) {
            finished.push_back(step);
        }
    }
    for (const std::uint64_t step : finished) {
        finish({step, true});
    }
    control().reader(place_.cell).beat_ns.store(now_ns(), std::memory_order_relaxed);
}

/// With the control lock.
Bearings RemoteSession::bearings_of(std::uint64_t next_index) const {
    return {stats_of(control(), place_.cell, next_index),
            control().header().counters.full_disks.load() != 0 ? std::uint8_t{1} : std::uint8_t{0},
            others_lag_ ? std::uint8_t{1} : std::uint8_t{0}};
}

void RemoteSession::hang_up(const std::string& why) {
    if (over_) {
        return;
    }
    try {
        const Failure& failure = control().header().failure;
        if (failure.set != 0) {
            connection_.post(encode_failed(failure.kind, failure.message));
        } else if (!has_claims(control().group(place_.group))) {  // nothing more comes
            const ControlLock lock(control());
            connection_.post(encode(FromWriter::End, bearings_of(next_index_)));
        } else {
            connection_.post(encode_failed("PeerLost", why));
        }
        connection_.flush();
    } catch (const Error&) {  // it is gone already
    }
}

RemoteSession::Memory RemoteSession::memory_of(const MemoryOnHost& place) {
    if (place.key == region_on_disk && memory_.log != nullptr) {
        auto bytes = memory_.log->read({place.offset, place.bytes, place.checksum},
                                       "a chunk that a reader on another host asked for");
        return {bytes.get(), bytes};
    }
    if (place.key == region_of_messages) {
        const auto common = handed_out_.common_at({place.offset, place.bytes});
        return {common->data(), common};
    }
    const auto block = messages_.block(place.key, place.offset, place.bytes);
    return {block.data(), nullptr};
}

}  // namespace fluvial::stage
