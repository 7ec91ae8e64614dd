// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/move/path_roles.hpp"
#include "fluvial/move/path_window.hpp"

namespace fluvial::move {
namespace {

/// Puts the windows of a flow where they belong.
class Destination final : public Role {
  public:
    Destination(const FlowPart& part, const std::vector<int>& tags, int detour, std::byte* memory)
        : part_(part), detour_tag_(detour), memory_(memory) {
        for (const int tag : tags) {
            paths_.push_back({make_ring(part.comm, part.flow, tag)});
        }
    }

    bool step() override {
        bool moved = std::exchange(heard_, false);
        for (std::size_t i = 0; i < paths_.size(); ++i) {
            while (paths_[i].ring) {
                const auto window = paths_[i].ring->try_next();
                if (!window) {
                    break;
                }
                moved = true;
                if (take(window->bytes, (*part_.used)[i])) {
                    paths_[i].ring->give_back();
                } else {
                    paths_[i].ring.reset();
                }
            }
        }
        while (detour_) {
            const auto window = detour_->try_next();
            if (!window) {
                break;
            }
            moved = true;
            take(window->bytes, part_.used->back());
            detour_->give_back();
        }
        if (moved && !done_ && all_paths_done()) {
            check_whole();
        }
        return moved;
    }
    bool done() const override { return done_; }

    void hear(const Control& control) override {
        if (control.kind == Control::Request && control.flow == part_.number &&
            control.path < paths_.size() && !done_) {
            heard_ = true;
            answer(control.path);
        }
    }
    bool leaves_messages() const override { return gave_up_; }
    void add_pending(std::vector<mpi::Pending>& pending) override {
        for (const Path& path : paths_) {
            append(pending, path.ring ? path.ring->pending() : std::nullopt);
        }
        append(pending, detour_ ? detour_->pending() : std::nullopt);
    }

  private:
    struct Path {
        std::shared_ptr<mpi::ReceiveRing> ring;  ///< null when it has ended or was given up
        bool given_up = false;
    };

    bool all_paths_done() const {
        return std::none_of(paths_.begin(), paths_.end(),
                            [](const Path& path) { return !!path.ring; });
    }

    /// Without any path given up, the ends of all paths say that all has come.
    void check_whole() {
        const std::size_t size = part_.flow.bytes;
        if (come_ > size || (come_ < size && !gave_up_)) {
            throw Error(Problem{"the windows of a flow are not all of it", text(come_, " bytes"),
                                text(size), "This is a bug of Fluvial's"});
        }
        done_ = come_ == size;
        if (done_) {
            part_.controls->tell(part_.flow.from, {.kind = Control::Whole, .flow = part_.number});
        }
    }

    /// Nothing is taken from the path any more, so what the source sends again comes once.
    void answer(std::size_t number) {
        Path& path = paths_[number];
        PathUse& use = (*part_.used)[number];
        const std::uint64_t come = use.windows;
        if (path.ring) {
            path.ring.reset();
            path.given_up = use.given_up = gave_up_ = true;
            if (!detour_) {
                detour_ = make_ring(part_.comm, part_.flow, detour_tag_);
                part_.used->push_back({.stops = {part_.flow.from, part_.flow.to}, .instead = true});
            }
        }
        part_.controls->tell(part_.flow.from, {.kind = Control::Result,
                                               .ended = path.given_up ? 0U : 1U,
                                               .flow = part_.number,
                                               .path = number,
                                               .value = come});
    }

    /// False for the one that ends its path.
    bool take(std::span<const std::byte> message, PathUse& use) {
        const auto [offset, bytes] = window_in(message, part_.exchange);
        const std::size_t size = part_.flow.bytes;
        if (offset > size || bytes.size() > size - offset) {
            throw Error(Problem{"a window lies outside of its flow",
                                text(bytes.size(), " bytes from ", offset), text(size, " bytes"),
                                "This is a bug of Fluvial's"});
        }
        if (!bytes.empty()) {
            std::memcpy(memory_ + offset, bytes.data(), bytes.size());
            ++use.windows;
            use.bytes += bytes.size();
        }
        come_ += bytes.size();
        return !bytes.empty();
    }

    FlowPart part_;
    int detour_tag_;
    std::byte* memory_;
    std::size_t come_ = 0;
    std::vector<Path> paths_;
    std::shared_ptr<mpi::ReceiveRing> detour_;
    bool heard_ = false, gave_up_ = false, done_ = false;
};

}  // namespace

std::unique_ptr<Role> window_destination_of(const FlowPart& part, const std::vector<int>& tags,
                                            int detour, std::byte* memory) {
    return std::make_unique<Destination>(part, tags, detour, memory);
}

}  // namespace fluvial::move
