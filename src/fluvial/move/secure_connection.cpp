// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/secure_connection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sodium.h>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

constexpr std::size_t message_bytes_max = std::size_t{1} << 30;
/// Read ahead of messages that follow each other, also with few raw bytes between them: to copy
/// these costs less than a system call for each. And of one between more raw bytes, which are
/// better read where they go.
constexpr std::size_t ahead_bytes = 64 * 1024, ahead_of_raw_bytes = 512;
constexpr std::size_t few_raw_bytes = 16 * 1024;
constexpr std::size_t together_bytes_max =
    16 * 1024;  // more grow no further, which would copy them
constexpr std::size_t spare_bytes_max = std::size_t{1} << 20, spares_max = 16;

}  // namespace

bool SecureConnection::proven() const {
    return state_ == State::Proven;
}

std::size_t SecureConnection::ahead() const {
    return raw_between_ && raw_bytes_ > few_raw_bytes ? ahead_of_raw_bytes : ahead_bytes;
}

/// True once `bytes` that were not taken yet are there.
bool SecureConnection::fill(std::size_t bytes) {
    if (filled_ - used_ >= bytes) {
        return true;
    }
    if (used_ > 0) {
        std::memmove(incoming_.data(), incoming_.data() + used_, filled_ - used_);
        filled_ -= used_;
        used_ = 0;
    }
    while (filled_ < bytes) {
        // Memory grows with what comes, not with what is announced.
        const std::size_t wanted = read_ahead_ && proven() ? std::max(bytes, ahead()) : bytes;
        const std::size_t room = std::min(wanted, std::max(2 * filled_, ahead_bytes));
        if (incoming_.size() < room) {
            incoming_.resize(room);
        }
        const std::size_t got =
            socket_.read_some(std::span(incoming_).subspan(filled_, room - filled_));
        if (got == 0) {
            return false;
        }
        filled_ += got;
    }
    return true;
}

std::optional<Bytes> SecureConnection::take() {
    while (!proven()) {
        if (!step()) {
            flush();
            return std::nullopt;
        }
        flush();
    }
    return take_message();
}

/// Of the message that comes next, without its seal; nothing while it is not all there.
std::optional<std::size_t> SecureConnection::message_bytes() {
    std::uint32_t sealed = 0;
    if (!fill(sizeof sealed)) {
        return std::nullopt;
    }
    std::memcpy(&sealed, incoming_.data() + used_, sizeof sealed);
    if (sealed < seal_bytes || sealed > message_bytes_max) {
        throw Error(Problem{"a message of another host has a size that none has",
                            text(sealed, " bytes"), text("at most ", message_bytes_max), ""});
    }
    return fill(sizeof sealed + sealed) ? std::optional(sealed - seal_bytes) : std::nullopt;
}

/// The message that comes next, which has as many bytes as `to`.
void SecureConnection::open_message(std::span<std::byte> to) {
    const std::size_t sealed = to.size() + seal_bytes;
    used_ += sizeof(std::uint32_t);
    if (!opening_->open(std::span(incoming_).subspan(used_, sealed), to.data())) {
        throw Error(
            "a message of another host was changed on its way; find out which hosts are in the "
            "network");
    }
    used_ += sealed;
    raw_between_ = std::exchange(raw_came_, false);
}

std::optional<Bytes> SecureConnection::take_message() {
    const auto bytes = message_bytes();
    if (!bytes) {
        return std::nullopt;
    }
    Bytes message(*bytes);
    open_message(message);
    return message;
}

std::size_t SecureConnection::take_into(std::span<std::byte> to) {
    const auto bytes = proven() ? message_bytes() : std::nullopt;
    if (!bytes || *bytes > to.size()) {
        return 0;
    }
    open_message(to.first(*bytes));
    return *bytes;
}

void SecureConnection::post(std::span<const std::byte> message) {
    FLUVIAL_ASSERT(sealing_ != nullptr);  // nothing is said before keys are exchanged
    const auto sealed = static_cast<std::uint32_t>(message.size() + seal_bytes);
    if (message.size() > message_bytes_max - seal_bytes) {
        throw Error(Problem{"a message to another host is too long", text(message.size(), " bytes"),
                            text(message_bytes_max - seal_bytes), "Put fewer datasets in a step"});
    }
    Bytes& to = messages_to_send();
    const auto size = std::as_bytes(std::span(&sealed, 1));
    to.insert(to.end(), size.begin(), size.end());
    const std::size_t at = to.size();
    to.resize(at + sealed);
    sealing_->seal(message, to.data() + at);
}

void SecureConnection::post_raw(std::span<const std::byte> bytes,
                                std::shared_ptr<const void> owner) {
    if (!bytes.empty()) {
        outgoing_.push_back({{}, bytes, std::move(owner)});
        ++raw_posted_;
    }
}

std::size_t SecureConnection::read_raw(std::span<std::byte> to) {
    raw_bytes_ = raw_came_ ? raw_bytes_ : to.size();
    raw_came_ = raw_between_ = true;
    if (!has_more()) {
        return read_raw_and_ahead(to);
    }
    const std::size_t bytes = std::min(to.size(), filled_ - used_);
    std::copy_n(incoming_.begin() + static_cast<std::ptrdiff_t>(used_), bytes, to.begin());
    used_ += bytes;
    return bytes;
}

/// With what follows, where that is there: a message, or more.
std::size_t SecureConnection::read_raw_and_ahead(std::span<std::byte> to) {
    used_ = filled_ = 0;
    const std::size_t room = read_ahead_ ? ahead() : 0;
    if (incoming_.size() < room) {
        incoming_.resize(room);
    }
    const std::size_t got = socket_.read_some(to, std::span(incoming_).first(room));
    filled_ = got - std::min(got, to.size());
    return got - filled_;
}

Bytes& SecureConnection::messages_to_send() {
    if (outgoing_.empty() || !outgoing_.back().raw.empty() ||
        outgoing_.back().messages.size() > together_bytes_max) {
        outgoing_.emplace_back();
        if (!spares_.empty()) {
            outgoing_.back().messages = std::move(spares_.back());
            spares_.pop_back();
        }
    }
    return outgoing_.back().messages;
}

/// For messages to come: memory that is new costs more than to encrypt what is written into it.
void SecureConnection::keep_memory(Bytes messages) {
    constexpr std::size_t worth_it_bytes = 4096;
    const std::size_t bytes = messages.capacity();
    if (bytes >= worth_it_bytes && bytes <= spare_bytes_max && spares_.size() < spares_max) {
        messages.clear();
        spares_.push_back(std::move(messages));
    }
}

bool SecureConnection::sending() const {
    return !outgoing_.empty();
}

bool SecureConnection::see_off() {
    constexpr std::size_t at_a_time = std::size_t{1} << 16;
    try {
        const bool all = flush();
        if (all) {
            socket_.end_writing();
        }
        std::array<std::byte, at_a_time> unwanted;
        while (socket_.read_some(unwanted) > 0) {
        }
        return all && socket_.acknowledged();
    } catch (const PeerLost&) {  // the other side has closed it, too
        return true;
    }
}

bool SecureConnection::flush() {
    constexpr std::size_t at_a_time = 16;
    while (sending()) {
        std::array<std::span<const std::byte>, at_a_time> parts;
        const std::size_t count = std::min(outgoing_.size(), at_a_time);
        std::transform(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(count),
                       parts.begin(), [](const Outgoing& one) { return one.bytes(); });
        parts[0] = parts[0].subspan(sent_);
        sent_ += socket_.write_some(std::span(parts).first(count));
        bool went = false;
        while (sending() && sent_ >= outgoing_.front().bytes().size()) {
            sent_ -= outgoing_.front().bytes().size();
            raw_sent_ += outgoing_.front().raw.empty() ? 0 : 1;
            keep_memory(std::move(outgoing_.front().messages));
            outgoing_.pop_front();
            went = true;
        }
        if (!went) {
            return false;
        }
    }
    return true;
}

}  // namespace fluvial::move
