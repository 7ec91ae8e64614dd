// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/mailbox.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/bytes.hpp"

namespace fluvial::progress {

namespace {

/// What a message begins with.
struct Heading {
    MailKind kind = MailKind::Failed;
    std::uint8_t unused[3] = {};
    std::int32_t stream = 0;
};
static_assert(sizeof(Heading) == 8);

Mail open(int from, const Bytes& message) {
    ByteReader reader(message);
    const auto heading = reader.get<Heading>();
    return {heading.kind, from, heading.stream, {message.begin() + sizeof heading, message.end()}};
}

}  // namespace

void Mailbox::post(int to, MailKind kind, int stream, std::span<const std::byte> bytes) {
    under_way_ += is_about_others(kind) ? 0 : 1;
    if (to == comm_->rank()) {
        to_self_.push_back({kind, to, stream, {bytes.begin(), bytes.end()}});
        return;
    }
    ByteWriter message;
    message.put(Heading{kind, {}, stream});
    message.append(bytes.data(), bytes.size());
    posted_.push_back(comm_->isend(message.take(), to, mail_tag));
    ++posted_to_[static_cast<std::size_t>(to)];
    sent();
    if (ring_) ring_(to);
}

std::optional<Mail> Mailbox::poll() {
    std::optional<Mail> mail = next();
    if (mail && !is_about_others(mail->kind)) --under_way_;
    return mail;
}

std::optional<Mail> Mailbox::next() {
    if (!to_self_.empty()) {
        Mail mail = std::move(to_self_.front());
        to_self_.pop_front();
        return mail;
    }
    if (comm_->size() == 1) return std::nullopt;
    if (auto incoming = comm_->try_recv(mail_tag)) arriving_.push_back(std::move(*incoming));
    for (auto it = arriving_.begin(); it != arriving_.end(); ++it) {
        const auto overtakes = [&](const mpi::Incoming& earlier) {
            return earlier.source == it->source;
        };
        if (std::any_of(arriving_.begin(), it, overtakes) || !it->message.test()) continue;
        Mail mail = open(it->source, it->message.take());
        arriving_.erase(it);
        ++taken_;
        return mail;
    }
    return std::nullopt;
}

bool Mailbox::sent() {
    std::erase_if(posted_, [](mpi::Request& request) { return request.test(); });
    return posted_.empty();
}

void Mailbox::drain() {
    const Index coming = comm_->sum_for_each(posted_to_);
    const auto drained = [&] {
        while (poll()) {
        }
        return taken_ == coming && sent();
    };
    mpi::wait_for(drained, Deadline(1e9), "take the last letters");
}

void Mailbox::abandon() {
    for (mpi::Request& request : posted_) request.abandon();
    for (mpi::Incoming& incoming : arriving_) incoming.message.abandon();
    posted_.clear();
    arriving_.clear();
}

}  // namespace fluvial::progress
