// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/path_control.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace fluvial::move {
namespace {

constexpr std::size_t slots = 16;

}  // namespace

Controls::Controls(const mpi::Comm& comm, std::uint64_t exchange)
    : comm_(comm), exchange_(exchange), ring_(comm, tag, slots, sizeof(Control)) {}

mpi::SendQueue& Controls::queue_to(int rank, bool waited_for) {
    auto& queue = (waited_for ? waited_for_ : others_)[rank];
    if (!queue) {
        queue = std::make_unique<mpi::SendQueue>(comm_, rank, tag);
    }
    return *queue;
}

void Controls::tell(int rank, Control control) {
    control.exchange = exchange_;
    const auto kept = std::make_shared<Control>(control);
    queue_to(rank, control.kind != Control::Stop)
        .post(std::as_bytes(std::span(kept.get(), 1)), kept);
}

std::optional<Control> Controls::hear() {
    while (const auto message = ring_.try_next()) {
        Control control;
        const bool whole = message->bytes.size() == sizeof control;
        std::memcpy(&control, message->bytes.data(),
                    std::min(message->bytes.size(), sizeof control));
        ring_.give_back();
        if (whole && control.exchange == exchange_) {
            return control;
        }
    }
    return std::nullopt;
}

bool Controls::told() {
    return std::all_of(waited_for_.begin(), waited_for_.end(), [](const auto& entry) {
        return entry.second->completed() == entry.second->posted();
    });
}

void Controls::add_pending(std::vector<mpi::Pending>& pending) {
    append(pending, ring_.pending());
    for (const auto& entry : waited_for_) {
        append(pending, entry.second->pending());
    }
}

}  // namespace fluvial::move
