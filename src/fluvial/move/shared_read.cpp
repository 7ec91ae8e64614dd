// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_read.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

using State = SharedClaims::State;
using Want = SharedClaims::Want;

/// What a rank brings at a time: more costs others, which wait for it; less costs it requests.
constexpr std::uint64_t shared_batch_bytes_max = std::uint64_t{4} << 20;

/// Windows that this rank brings for all; gives up those that it has not published.
class Claimed {
  public:
    explicit Claimed(SharedClaims& claims) : claims_(claims) {}
    ~Claimed() {
        for (const auto& [entry, box] : entries_) {
            claims_.give_up(entry);
        }
    }
    Claimed(const Claimed&) = delete;
    Claimed& operator=(const Claimed&) = delete;

    void add(const SharedClaims::Found& mine, const RemoteBox& box) {
        entries_.emplace_back(mine, box);
    }
    void publish() {
        for (const auto& [entry, box] : std::exchange(entries_, {})) {
            claims_.publish(entry, box.to);
        }
    }

  private:
    SharedClaims& claims_;
    std::vector<std::pair<SharedClaims::Found, RemoteBox>> entries_;
};

class SharedReading final : public progress::Waiting {
  public:
    SharedReading(SharedClaims& claims, const StepOnHost& from, std::span<const RemoteBox> boxes,
                  const OwnRead& own)
        : claims_(claims), own_(own) {
        WindowsOfBoxes cut = shared_windows(from, boxes);
        alone_ = std::move(cut.others);
        left_ = std::move(cut.windows);
        if (!from.for_all && !claims_.shares(from.step)) {
            keep_wanted_by_others(from.step);
        }
        if (!left_.empty()) {
            const auto ranks = static_cast<std::size_t>(std::max(1, claims_.ranks()));
            const std::size_t turn =
                left_.size() * (static_cast<std::size_t>(claims_.number()) % ranks) / ranks;
            std::rotate(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(turn),
                        left_.end());
        }
    }

    void run() {
        if (bytes_of(alone_) > shared_batch_bytes_max) {  // others would wait for it
            bring(std::exchange(alone_, {}));
        }
        while (true) {
            take_ready();
            if (left_.empty() && alone_.empty()) {
                return;
            }
            if (!bring_some()) {
                progress::BackOff back_off;
                progress::wait(*this, back_off);
            }
        }
    }
    std::uint64_t taken_bytes() const { return taken_bytes_; }

    Seen look() override {
        ticket_ = claims_.ticket();
        const bool all_coming = std::all_of(left_.begin(), left_.end(), [&](const auto& window) {
            return claims_.find(window.stretch, Want::Look).state == State::Coming;
        });
        return all_coming ? Seen::Nothing : Seen::End;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        claims_.look_for_dead();
        own_.look();
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr std::int64_t brief_ns = 1'000'000, look_ns = 50'000'000;
        claims_.wait(ticket_, serving ? brief_ns : look_ns);
        back_off.slept();
    }

  private:
    /// What no other rank has wanted so far is read by itself, and is not laid into memory for all.
    void keep_wanted_by_others(std::uint64_t step) {
        std::vector<SharedWindow> shared;
        for (const SharedWindow& window : left_) {
            const bool there = claims_.find(window.stretch, Want::Note).state != State::Nothing;
            if (there || claims_.shares(step)) {
                shared.push_back(window);
            } else {
                alone_.push_back(window.box);
            }
        }
        left_ = std::move(shared);
    }
    void take_ready() {
        std::erase_if(left_, [&](const SharedWindow& window) {
            const SharedClaims::Found found = claims_.find(window.stretch, Want::Look);
            const std::uint64_t bytes = window.stretch.bytes;
            if (found.state != State::Ready || !claims_.copy(found, bytes, window.box.to)) {
                return false;
            }
            taken_bytes_ += bytes;
            return true;
        });
    }
    /// The smaller the less is left, so that the ranks end together.
    std::uint64_t batch_bytes() const {
        std::uint64_t bytes = 0;
        for (const SharedWindow& window : left_) {
            bytes += window.stretch.bytes;
        }
        const auto ranks = static_cast<std::uint64_t>(std::max(1, claims_.ranks()));
        return std::min(bytes / (2 * ranks), shared_batch_bytes_max);
    }
    /// False when others bring all that is left.
    bool bring_some() {
        const std::uint64_t most = batch_bytes();
        std::vector<RemoteBox> boxes = std::exchange(alone_, {});
        std::vector<SharedWindow> later;
        Claimed claimed(claims_);
        std::uint64_t bytes = 0;
        for (const SharedWindow& window : left_) {
            const bool room = bytes == 0 || bytes + window.stretch.bytes <= most;
            const SharedClaims::Found found =
                room ? claims_.find(window.stretch, Want::Claim) : SharedClaims::Found{};
            if (!room || found.state == State::Coming || found.state == State::Ready) {
                later.push_back(window);
                continue;
            }
            if (found.state == State::Mine) {
                claimed.add(found, window.box);
            }
            boxes.push_back(window.box);
            bytes += window.stretch.bytes;
        }
        left_ = std::move(later);
        if (boxes.empty()) {
            return false;
        }
        bring(boxes);
        claimed.publish();
        return true;
    }
    void bring(const std::vector<RemoteBox>& boxes) {
        own_.read(boxes, [this](double silent_s) { claims_.moved(silent_s); });
    }
    static std::uint64_t bytes_of(const std::vector<RemoteBox>& boxes) {
        std::uint64_t bytes = 0;
        for (const RemoteBox& box : boxes) {
            bytes += box.bytes();
        }
        return bytes;
    }

    SharedClaims& claims_;
    const OwnRead& own_;
    std::vector<RemoteBox> alone_;    ///< what this rank brings for itself
    std::vector<SharedWindow> left_;  ///< what has not come
    std::uint64_t taken_bytes_ = 0;
    std::uint32_t ticket_ = 0;
};

}  // namespace

std::uint64_t read_shared(SharedClaims& claims, const StepOnHost& from,
                          std::span<const RemoteBox> boxes, const OwnRead& own) {
    SharedReading reading(claims, from, boxes, own);
    reading.run();
    return reading.taken_bytes();
}

void note_had(SharedClaims& claims, const StepOnHost& from, std::span<const RemoteBox> boxes) {
    for (const SharedWindow& window : shared_windows(from, boxes).windows) {
        claims.find(window.stretch, Want::Note);
    }
}

}  // namespace fluvial::move
