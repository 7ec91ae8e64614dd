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

/// Not with `mutex_`, which a step that cannot be opened needs to be given back.
OpenedStep RemoteSeat::open_step(StepMessage message) {
    OpenedStep step;
    step.index = message.step();
    const std::uint64_t bytes = message.bytes.size() + message.bytes_behind;
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
