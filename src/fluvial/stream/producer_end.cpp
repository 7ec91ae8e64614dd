// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/producer_end.hpp"

#include <algorithm>
#include <cstring>

#include "fluvial/base/raised.hpp"
#include "fluvial/move/record.hpp"

namespace fluvial::stream {

namespace {

// Written and published at a time: the consumer works on one part while the next is written.
constexpr std::size_t publish_bytes = 64 * 1024;

std::size_t whole(std::size_t bytes, std::size_t unit) {
    return bytes - bytes % unit;
}

}  // namespace

Sending::~Sending() {
    for (mpi::Request& request : direct) {
        request.abandon();  // an exception is under way
    }
}

void Sending::keep() {
    if (kept) {
        return;
    }
    const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    bytes = *copy;
    owner = copy;
    kept = true;
}

ProducerEnd::ProducerEnd(const move::LinkPlan& plan, const Element& element,
                         Association association,
                         std::vector<std::unique_ptr<move::Outlet>> outlets)
    : plan_(plan),
      element_(element),
      association_(std::move(association)),
      outlets_(std::move(outlets)) {
    if (outlets_.size() == 1) {
        only_ = outlets_.front().get();
    }
}

move::Outlet& ProducerEnd::outlet_for(std::span<const std::byte> element, std::size_t bytes) {
    if (only_ != nullptr) {
        return *only_;
    }
    if (association_.kind == Association::Kind::Choice) {
        const Raised raised(choosing_);
        return *outlets_[static_cast<std::size_t>(association_.choose(element) % outlets_.size())];
    }
    if (association_.kind == Association::Kind::RoundRobin) {
        return *outlets_[turn_++ %
                         outlets_.size()];  // the outlet that has the turn, with room or without
    }
    if (move::Outlet* outlet = with_room(bytes)) {
        return *outlet;
    }
    return *outlets_[turn_ % outlets_.size()];
}

move::Outlet* ProducerEnd::with_room(std::size_t bytes) {
    if (only_ != nullptr) {
        return only_->try_reserve(bytes) == nullptr ? nullptr : only_;
    }
    if (outlets_.empty()) {
        return nullptr;  // an operation has ended the stream while a call waits for room
    }
    switch (association_.kind) {
        case Association::Kind::Nearest:
            break;  // always a single link
        case Association::Kind::RoundRobin: {
            move::Outlet& outlet = *outlets_[turn_ % outlets_.size()];
            if (outlet.try_reserve(bytes) == nullptr) {
                return nullptr;
            }
            ++turn_;
            return &outlet;
        }
        case Association::Kind::MostRoom:
            for (std::size_t i = 0; i < outlets_.size(); ++i, ++turn_) {
                move::Outlet& outlet = *outlets_[turn_ % outlets_.size()];
                if (outlet.try_reserve(bytes) != nullptr) {
                    return &outlet;
                }
            }
            return nullptr;
        case Association::Kind::Choice:
            break;
    }
    return nullptr;
}

void ProducerEnd::give_back_turn() {
    if (only_ == nullptr && association_.kind == Association::Kind::RoundRobin) {
        --turn_;
    }
}

std::size_t ProducerEnd::write(move::Outlet& outlet, std::span<const std::byte> bytes) {
    std::byte* const room = outlet.try_reserve(plan_.unit_bytes);
    if (room == nullptr) {
        return 0;
    }
    const std::size_t most = std::max(whole(publish_bytes, plan_.unit_bytes), plan_.unit_bytes);
    const std::size_t given = std::max(whole(outlet.room(), plan_.unit_bytes), plan_.unit_bytes);
    const std::size_t n = std::min({bytes.size(), given, most});
    outlet.fill(room, bytes.data(), n);
    outlet.commit(n);
    outlet.hurry();
    return n;
}

bool ProducerEnd::write_record(Sending& sending) {
    const std::size_t needed = move::record_bytes(sending.bytes.size());
    if (sending.outlet == nullptr) {
        sending.outlet = &outlet_for(sending.bytes, needed);
    }
    std::byte* const room = sending.outlet->try_reserve(needed);
    if (room == nullptr) {
        if (association_.kind == Association::Kind::MostRoom) {
            sending.outlet = nullptr;
        }
        return false;
    }
    const std::uint64_t length = sending.bytes.size();
    std::memcpy(room, &length, sizeof length);
    if (!sending.bytes.empty()) {
        sending.outlet->fill(room + sizeof length, sending.bytes.data(), sending.bytes.size());
    }
    sending.outlet->commit(needed);
    sending.outlet->hurry();
    sending.bytes = {};
    sending.record = false;
    return true;
}

bool ProducerEnd::start_direct(Sending& sending, std::span<const std::byte> piece) {
    auto request = sending.outlet->try_direct(piece, sending.owner);
    if (request && request->in_flight()) {
        sending.direct.push_back(std::move(*request));
    }
    return request.has_value();
}

bool ProducerEnd::advance(Sending& sending) {
    if (sending.record && !write_record(sending)) {
        return false;
    }
    while (sending.written < sending.bytes.size()) {
        // Where there are several links, an element at a time.
        const std::size_t inside = only_ != nullptr ? 0 : sending.written % element_.bytes;
        const auto rest = sending.bytes.subspan(sending.written);
        const auto run = only_ != nullptr ? rest : rest.first(element_.bytes - inside);
        if (sending.outlet == nullptr) {
            sending.outlet = &outlet_for(run, plan_.unit_bytes);
        }
        const std::size_t piece = std::min(run.size(), plan_.piece_bytes_max);
        std::size_t written = 0;
        if (piece >= sending.outlet->direct_from()) {
            written = start_direct(sending, run.first(piece)) ? piece : 0;
        } else {
            written = write(*sending.outlet, run);
        }
        sending.written += written;
        const bool free_to_choose =
            written == 0 ? inside == 0 && association_.kind == Association::Kind::MostRoom
                         : only_ == nullptr && written == run.size();
        if (free_to_choose) {
            sending.outlet = nullptr;
        }
        if (written == 0) {
            break;
        }
    }
    while (sending.direct_done < sending.direct.size() &&
           sending.direct[sending.direct_done].test()) {
        ++sending.direct_done;
    }
    return sending.done();
}

void ProducerEnd::keep_queued() {
    for (const auto& sending : queued_) {
        sending->keep();
    }
}

bool ProducerEnd::reads_users_memory() const {
    return std::any_of(queued_.begin(), queued_.end(),
                       [](const auto& sending) { return !sending->reusable(); });
}

void ProducerEnd::drop(const Sending& sending) {
    std::erase_if(queued_, [&](const auto& queued) { return queued.get() == &sending; });
}

void ProducerEnd::abandon() noexcept {
    association_.choose = nullptr;
    for (const auto& outlet : outlets_) {
        if (outlet) {
            outlet->abandon();
        }
    }
}

bool ProducerEnd::held_up_by(const move::Outlet& link, bool flushes) const {
    if (!queued_.empty()) {
        const Sending& first = *queued_.front();
        return first.outlet == &link && (first.record || first.written < first.bytes.size());
    }
    if (flushes) {
        return !link.flushed();
    }
    if (only_ != nullptr) {
        return only_ == &link;
    }
    return association_.kind == Association::Kind::RoundRobin && !outlets_.empty() &&
           outlets_[turn_ % outlets_.size()].get() == &link;
}

std::uint64_t ProducerEnd::bytes() const {
    std::uint64_t sum = released_bytes_;
    for (const auto& outlet : outlets_) {
        sum += outlet->committed();
    }
    return sum;
}

bool ProducerEnd::advance_flush() {
    bool flushed = queued_.empty();
    for (const auto& outlet : outlets_) {
        outlet->flush();
        flushed = outlet->flushed() && flushed;
    }
    return flushed;
}

bool ProducerEnd::advance_termination() {
    if (!closed_) {
        if (!advance_flush()) {
            return false;
        }
        for (const auto& outlet : outlets_) {
            outlet->close();
        }
        closed_ = true;
    }
    return std::all_of(outlets_.begin(), outlets_.end(),
                       [](const auto& outlet) { return outlet->finished(); });
}

bool ProducerEnd::progress() {
    for (const auto& outlet : outlets_) {
        outlet->progress();
    }
    bool moved = false;
    while (!queued_.empty()) {
        Sending& sending = *queued_.front();
        const std::size_t before = sending.written;
        const bool done = advance(sending);
        moved = moved || done || sending.written != before;
        if (!done) {
            break;
        }
        queued_.pop_front();
    }
    return moved;
}

bool ProducerEnd::drained() {
    return std::all_of(outlets_.begin(), outlets_.end(),
                       [](const auto& outlet) { return outlet->drained(); });
}

void ProducerEnd::release_links() {
    released_bytes_ = bytes();
    only_ = nullptr;
    outlets_.clear();
}

}  // namespace fluvial::stream
