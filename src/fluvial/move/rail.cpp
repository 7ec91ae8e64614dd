// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rail.hpp"

#include <algorithm>
#include <numeric>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/remote_request.hpp"

namespace fluvial::move {
namespace {

/// After which a connection that is still being made is given up, and begun again.
constexpr std::int64_t open_ns_max = 2'000'000'000;
constexpr std::int64_t pause_ns = 500'000'000;
/// While one window comes the next is asked for; where a round trip takes longer than that, so
/// many more as come in two of them.
constexpr std::size_t windows_ahead_min = 2;
constexpr double round_trips_ahead = 2;
/// How fast a rail is, is what it brought in this time of being busy, at least.
constexpr double remembered_s = 0.2;
/// Of a rail that has brought nothing yet.
constexpr double rate_at_first = 1e8;

double seconds_since(std::int64_t ns) {
    return static_cast<double>(now_ns() - ns) * 1e-9;
}

}  // namespace

Rail::Rail(Way way, bool encrypt, SecureConnection connection, std::string interface_there)
    : Rail(std::move(way), encrypt) {
    connection_ = std::move(connection);
    there_ = std::move(interface_there);
    state_ = State::Ready;
}

bool Rail::advance() {
    try {
        switch (state_) {
            case State::Down:
                if (now_ns() >= since_ns_) {
                    since_ns_ = now_ns();
                    greeted_ = false;
                    state_ = State::Opening;
                    connection_ = way_.connect();
                    connection_->flush();
                }
                return false;
            case State::Opening:
                return open();
            case State::Ready:
                connection_->flush();
                return receive();
            case State::Retired:
                return false;
        }
    } catch (const Error& error) {
        drop(error.what());
    }
    return false;
}

bool Rail::open() {
    const auto reply = connection_->take();
    if (connection_->proven() && !std::exchange(greeted_, connection_->proven())) {
        connection_->post(way_.greeting);
    }
    connection_->flush();
    if (reply) {
        there_ = way_.interface_there(*reply);
        state_ = State::Ready;
        return true;
    }
    if (now_ns() - since_ns_ > open_ns_max) {
        drop("no reply");
    }
    return false;
}

void Rail::drop(const std::string& why) {
    forget();
    asked_.clear();
    backlog_ = 0;
    connection_.reset();
    data_ = IncomingData(encrypt_);
    why_down_ = why;
    state_ = State::Down;
    since_ns_ = now_ns() + pause_ns;
}

void Rail::retire(std::string why) {
    drop(why);
    state_ = State::Retired;
}

bool Rail::sending() const {
    return connection_ && connection_->sending();
}

bool Rail::has_room() const {
    if (state_ != State::Ready) {
        return false;
    }
    const double ahead = round_trips_ahead * rate() * round_trip_s_;
    return asked_.size() < windows_ahead_min || static_cast<double>(backlog_) < ahead;
}

void Rail::ask(ReadWindow& window) {
    if (asked_.empty()) {
        began_ns_ = moved_ns_ = now_ns();
    }
    Asked asked{.window = &window, .sizes = {}, .left = window.bytes};
    for (const RemoteBox& box : window.boxes) {
        asked.sizes.push_back(box.bytes());
    }
    asked_.push_back(std::move(asked));
    backlog_ += window.bytes;
    ++window.askers;
    try {
        connection_->post(encode_request(window.boxes));
        connection_->flush();
    } catch (const Error& error) {
        drop(error.what());
    }
}

void Rail::forget() {
    for (Asked& asked : asked_) {
        if (asked.window != nullptr) {
            --asked.window->askers;
            asked.window = nullptr;
        }
    }
}

bool Rail::receive() {
    bool moved = false;
    while (!asked_.empty()) {
        Asked& first = asked_.front();
        if (!first.announced && !hear(first)) {
            return moved;
        }
        moved = true;
        while (first.left > 0) {
            if (!receive_some(first)) {
                return moved;
            }
        }
        finish(first);
        asked_.pop_front();
        began_ns_ = now_ns();
    }
    return moved;
}

/// True once the owner has said what follows.
bool Rail::hear(Asked& asked) {
    const auto reply = connection_->take();
    if (!reply) {
        return false;
    }
    moved_ns_ = now_ns();
    asked.announced = true;
    try {
        ByteReader in(*reply);
        check_granted(in);
    } catch (const Error&) {
        asked.refused = true;
        if (asked.window != nullptr && !asked.window->done) {
            asked.window->refused = std::current_exception();
        }
        backlog_ -= std::exchange(asked.left, 0);
    }
    return true;
}

bool Rail::receive_some(Asked& asked) {
    const std::uint64_t left = asked.sizes[asked.box] - asked.done;
    std::span<std::byte> to;
    if (asked.window != nullptr) {
        to = {asked.window->boxes[asked.box].to + asked.done, left};
    } else {
        constexpr std::size_t thrown_bytes = 64 * 1024;
        thrown_.resize(thrown_bytes);
        to = std::span(thrown_).first(std::min<std::uint64_t>(left, thrown_bytes));
    }
    const std::size_t got = data_.take(*connection_, to);
    if (got == 0) {
        return false;
    }
    moved_ns_ = now_ns();
    bytes_ += got;
    backlog_ -= got;
    asked.left -= got;
    asked.done += got;
    if (asked.done == asked.sizes[asked.box]) {
        ++asked.box;
        asked.done = 0;
    }
    return true;
}

void Rail::finish(const Asked& asked) {
    if (asked.window != nullptr) {
        --asked.window->askers;
        asked.window->done = asked.window->done || !asked.refused;
    }
    if (!asked.refused) {
        const double bytes = std::accumulate(asked.sizes.begin(), asked.sizes.end(), 0.0);
        brought_bytes_ += bytes;
        brought_s_ += seconds_since(began_ns_);
        if (brought_s_ > remembered_s) {
            brought_bytes_ /= 2;
            brought_s_ /= 2;
        }
        round_trip_s_ = connection_->socket().round_trip_s();
    }
}

double Rail::rate() const {
    return brought_s_ > 0 ? brought_bytes_ / brought_s_ : rate_at_first;
}

double Rail::silent_s() const {
    return asked_.empty() ? 0 : seconds_since(moved_ns_);
}

double Rail::expected_s(std::uint64_t more_bytes) const {
    return std::max(static_cast<double>(backlog_ + more_bytes) / rate(), silent_s());
}

double Rail::expected_s(const ReadWindow& window) const {
    std::uint64_t before = 0;
    for (const Asked& asked : asked_) {
        before += asked.left;
        if (asked.window == &window) {
            break;
        }
    }
    return std::max(static_cast<double>(before) / rate(), silent_s());
}

ReadWindow* Rail::latest() const {
    const auto alone = std::find_if(asked_.rbegin(), asked_.rend(), [](const Asked& asked) {
        return asked.window != nullptr && !asked.window->done && asked.window->askers == 1;
    });
    return alone != asked_.rend() ? alone->window : nullptr;
}

}  // namespace fluvial::move
