// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/striped_read.hpp"

#include <algorithm>
#include <vector>

#include <poll.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

/// A rail that brings nothing for so long, while another does, has failed.
constexpr double silent_s_max = 2;
/// What is expected that much later than over another rail is asked for there, too.
constexpr double much_later = 2, later_s = 0.05;
/// The others help one rail that brings nothing for so long.
constexpr double alone_silent_s_max = 0.1;

}  // namespace

/// Waits until all windows have come.
class StripedReader::Reading final : public progress::Waiting {
  public:
    Reading(StripedReader& reader, std::span<const RemoteBox> boxes,
            const std::function<void(double)>& look)
        : reader_(reader), rails_(reader.rails_), look_(look), stood_(rails_.size(), true) {
        for (const RemoteBox& box : boxes) {
            bytes_ += box.bytes();
        }
        const WindowSizes sizes = window_sizes(bytes_, rails_.size());
        tries_ = reader.policy_ && sizes.least < bytes_;
        if (tries_ && reader.policy_->next(bytes_) == RailPolicy::Over::One) {
            alone_ = fastest();
        }
        windows_ = windows_of(boxes, alone_ ? window_sizes_alone(bytes_) : sizes);
    }
    ~Reading() override {
        for (Rail& rail : rails_) {
            rail.forget();
            reader_.count_(rail.interface(), rail.take_count());
        }
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    Seen look() override {
        bool moved = false;
        for (Rail& rail : rails_) {
            const bool stood = rail.stands();
            moved = rail.advance() || moved;
            if (!stood && rail.stands()) {
                check_end_of(rail);
            }
        }
        if (moved) {
            moved_ns_ = now_ns();
        }
        note_failed();
        while (done_ < windows_.size() && windows_[done_].done) {
            ++done_;
        }
        if (done_ == windows_.size()) {
            note_time();
            return Seen::End;
        }
        if (windows_[done_].refused) {
            std::rethrow_exception(windows_[done_].refused);
        }
        have_others_help();
        hand_out();
        hand_out_again();
        return moved ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        look_(seconds_since(moved_ns_));
        if (std::any_of(rails_.begin(), rails_.end(), [](const Rail& r) { return r.stands(); })) {
            stood_ns_ = now_ns();
        } else if (seconds_since(stood_ns_) > reader_.patience_s_) {
            throw_none_stands();
        }
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr int look_ms = 20;
        std::vector<pollfd> all;
        for (const Rail& rail : rails_) {
            all.push_back({rail.descriptor(),
                           static_cast<short>(POLLIN | (rail.sending() ? POLLOUT : 0)), 0});
        }
        ::poll(all.data(), all.size(), serving ? 1 : look_ms);
        back_off.slept();
    }

  private:
    static double seconds_since(std::int64_t ns) {
        return static_cast<double>(now_ns() - ns) * 1e-9;
    }
    /// Two rails that end at one interface of the other host are one network.
    void check_end_of(Rail& rail) {
        for (const Rail& other : rails_) {
            if (&other != &rail && other.stands() && !rail.interface_there().empty() &&
                other.interface_there() == rail.interface_there()) {
                rail.retire(text("it ends at ", rail.interface_there(), ", as ", other.interface(),
                                 " does"));
                return;
            }
        }
    }
    /// Of the rails that stand.
    const Rail* fastest() const {
        const Rail* best = nullptr;
        for (const Rail& rail : rails_) {
            if (rail.stands() && (best == nullptr || rail.rate() > best->rate())) {
                best = &rail;
            }
        }
        return best;
    }
    /// Where the rail that has the read alone is no good.
    void have_others_help() {
        if (alone_ == nullptr) {
            return;
        }
        const double seconds = seconds_since(begin_ns_);
        if (!alone_->stands() || alone_->silent_s() > alone_silent_s_max ||
            reader_.policy_->hopeless(bytes_, alone_->count(), seconds)) {
            reader_.policy_->took(RailPolicy::Over::One, bytes_, alone_->count(), seconds);
            alone_ = nullptr;
            tries_ = false;
        }
    }
    /// The next reads go the way that took less. Where a single rail has brought all there was no
    /// choice, and so nothing to learn.
    void note_time() {
        const auto brought = [](const Rail& rail) { return rail.count() > 0; };
        if (tries_ && (alone_ != nullptr || std::ranges::count_if(rails_, brought) > 1)) {
            reader_.policy_->took(alone_ ? RailPolicy::Over::One : RailPolicy::Over::All, bytes_,
                                  bytes_, seconds_since(begin_ns_));
        }
    }
    void note_failed() {
        for (std::size_t i = 0; i < rails_.size(); ++i) {
            Rail& rail = rails_[i];
            if (rail.silent_s() > silent_s_max && seconds_since(moved_ns_) < silent_s_max / 2) {
                rail.drop("it has fallen silent");
            }
            if (stood_[i] && !rail.stands()) {
                next_ = 0;  // what it was asked for is to be asked for again
            }
            stood_[i] = rail.stands();
        }
    }
    /// The next window that no rail is to bring.
    ReadWindow* next() {
        for (; next_ < windows_.size(); ++next_) {
            ReadWindow& window = windows_[next_];
            if (!window.done && window.askers == 0 && !window.refused) {
                return &window;
            }
        }
        return nullptr;
    }
    void hand_out() {
        for (bool any = true; any;) {
            any = false;
            for (Rail& rail : rails_) {
                const bool may = alone_ == nullptr || alone_ == &rail;
                ReadWindow* const window = may && rail.has_room() ? next() : nullptr;
                if (window != nullptr) {
                    rail.ask(*window);
                    any = true;
                }
            }
        }
    }
    void hand_out_again() {
        if (next() != nullptr) {
            return;
        }
        for (Rail& rail : rails_) {
            for (const Rail& other : rails_) {
                ReadWindow* const window = &other != &rail ? other.latest() : nullptr;
                if (window != nullptr && rail.has_room() &&
                    other.expected_s(*window) >
                        much_later * rail.expected_s(window->bytes) + later_s) {
                    rail.ask(*window);
                }
            }
        }
    }
    [[noreturn]] void throw_none_stands() const {
        std::string why;
        for (const Rail& rail : rails_) {
            why += text(why.empty() ? "" : ", ", rail.interface(), ": ", rail.why_down());
        }
        throw PeerLost(Problem{"data can be had over none of the interfaces any more", why, "",
                               "Look at the cables, and at the writer's host"});
    }

    StripedReader& reader_;
    std::vector<Rail>& rails_;
    const std::function<void(double)>& look_;
    std::vector<bool> stood_;
    std::vector<ReadWindow> windows_;
    std::uint64_t bytes_ = 0;
    bool tries_ = false;           ///< the time that it takes says something
    const Rail* alone_ = nullptr;  ///< the only one that is asked, if any
    std::int64_t begin_ns_ = now_ns();
    std::size_t done_ = 0;  ///< windows before this one have come
    std::size_t next_ = 0;  ///< windows before this one were asked for
    std::int64_t moved_ns_ = now_ns();
    std::int64_t stood_ns_ = now_ns();
};

StripedReader::StripedReader(std::vector<Rail> rails, bool encrypt, double patience_s, Count count,
                             Use use)
    : rails_(std::move(rails)),
      encrypt_(encrypt),
      patience_s_(patience_s),
      count_(std::move(count)) {
    if (use == Use::WhatIsFaster) {
        policy_.emplace();
    }
}

void StripedReader::read(std::span<const RemoteBox> boxes,
                         const std::function<void(double)>& look) {
    const std::lock_guard lock(mutex_);
    Reading reading(*this, boxes, look);
    progress::BackOff back_off;
    progress::wait(reading, back_off);
}

}  // namespace fluvial::move
