// SPDX-License-Identifier: Apache-2.0
// How a seat elsewhere takes the messages of steps, and opens these (stage/step_message_reader.hpp
// has what they say).
#include <algorithm>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/remote_step.hpp"

namespace fluvial::stage {
namespace {

/// How many steps that have come with so many bytes are asked for at a time: what costs with small
/// ones is to wake the other side. One that came without its data does not say how large the next
/// ones will be, which come with what is read of it.
int steps_ahead(std::uint64_t bytes, bool with_data) {
    constexpr std::uint64_t together = std::uint64_t{2} << 20, least = 4, most = 32;
    if (!with_data) {
        return least;
    }
    return static_cast<int>(std::clamp(together / std::max<std::uint64_t>(bytes, 1), least, most));
}

}  // namespace

void RemoteSeat::announce(Bytes message) {
    const std::uint64_t behind = StepMessage::bytes_behind_of(message);
    if (behind == 0) {
        take_in({std::move(message), nullptr, 0});
        return;
    }
    arriving_ = {{std::move(message), nullptr, behind},
                 buffers_->take(behind),
                 move::IncomingData(stream_.encrypt)};
    arrived_ = 0;
}

void RemoteSeat::take_in(StepMessage message) {
    const std::uint64_t step = message.step();
    message.anew = std::exchange(anew_, false);
    message.service = services_;
    traffic_->count(interface_, message.bytes.size() + message.bytes_behind);
    holds_.insert(step);
    ++came_;
    --asked_;
    given_.reset();
    steps_.push_back(std::move(message));
}

/// True once all is there.
bool RemoteSeat::receive_behind() {
    while (arrived_ < arriving_->message.bytes_behind) {
        const std::size_t got = arriving_->data.take(
            *connection_,
            {arriving_->behind.get() + arrived_, arriving_->message.bytes_behind - arrived_});
        if (got == 0) {
            return false;
        }
        arrived_ += got;
        heard_ns_ = now_ns();
    }
    Arriving arrived = *std::exchange(arriving_, std::nullopt);
    arrived.message.behind = std::move(arrived.behind);
    take_in(std::move(arrived.message));
    return true;
}

/// Steps whose descriptions are gone with the rank that had them: another one sends them again.
/// With the mutex, before that is told what came.
void RemoteSeat::take_back_unfetched() {
    const auto from = std::ranges::find_if(
        steps_, [](const StepMessage& message) { return message.to_fetch().has_value(); });
    for (auto message = from; message != steps_.end(); ++message) {
        holds_.erase(message->step());
        --came_;
        ++asked_;
    }
    steps_.erase(from, steps_.end());
    ++services_;
}

void RemoteSeat::share(const std::shared_ptr<move::SharedClaims>& claims, std::uint32_t host) {
    claims_ = claims;
    host_ = host;
    const std::lock_guard lock(mutex_);
    if (pushes_ && connection_ && lost_.empty()) {  // libfabric reads no messages
        ByteWriter out;
        out.put(FromReader::Shares);
        connection_->post(out.view());
        hear_all();
    }
}

/// Not with `mutex_`: another thread may wait for data.
void RemoteSeat::complete(StepMessage& message) {
    const std::optional<CommonAt> at = message.to_fetch();
    if (!at) {
        return;
    }
    if (!claims_) {
        throw Error("the writer's host leaves a description to be fetched, unasked");
    }
    {
        const std::lock_guard lock(mutex_);
        if (message.service != services_) {
            throw PeerLost(Problem{text("the description of step ", message.step(), " of '", name_,
                                        "' was on its way to this host"),
                                   "the rank of the writer that sent it died", "",
                                   "The step is lost with that rank; those before it came"});
        }
    }
    const auto count = static_cast<Index>(at->bytes);
    const std::shared_ptr<std::byte> common = buffers_->take(at->bytes);
    const move::RemoteBox all{
        {region_of_messages, at->hash, at->bytes, 0}, 1, {count}, {{0}, {count}}, common.get()};
    read_once({message.step(), host_, true}, {&all, 1});
    message.common = common;
    message.common_bytes = at->bytes;
}

/// Not with `mutex_`, which a step that cannot be opened needs to be given back.
OpenedStep RemoteSeat::open_step(StepMessage message) {
    OpenedStep step;
    step.index = message.step();
    const std::uint64_t bytes = message.bytes.size() + message.bytes_behind + message.common_bytes;
    const bool parts_came = message.bytes_behind > 0;
    auto access = std::make_shared<RemoteStep>(shared_from_this(), step.index);
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = ++steps_taken_;
        ++incomplete_;
    }
    AnnouncedStep announced = messages_.read(std::move(message));
    {
        const std::lock_guard lock(mutex_);
        bearings_ = number > bearings_after_ ? announced.bearings : bearings_;
    }
    step.from_disk = announced.from_disk;
    access->has(announced);
    {
        const std::lock_guard lock(mutex_);
        incomplete_ -= access->is_complete() ? 1 : 0;
        steps_ahead_ = steps_ahead(bytes, parts_came || access->is_complete());
    }
    step.description = std::move(announced.description);
    step.form = std::move(announced.form);
    step.access = std::move(access);
    return step;
}

}  // namespace fluvial::stage
