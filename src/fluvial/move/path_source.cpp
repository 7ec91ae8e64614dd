// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "fluvial/move/path_pace.hpp"
#include "fluvial/move/path_roles.hpp"
#include "fluvial/move/path_window.hpp"
#include "fluvial/mpi/send_queue.hpp"

namespace fluvial::move {
namespace {

/// Hands the windows of a flow to its paths, whichever has room.
class Source final : public Role {
  public:
    Source(const FlowPart& part, const std::vector<int>& tags, int detour,
           std::span<const std::byte> bytes)
        : part_(part), bytes_(bytes), detour_(detour) {
        for (std::size_t i = 0; i < part.flow.paths.size(); ++i) {
            lanes_.push_back(std::make_unique<Lane>(part.comm, part.flow.paths[i], tags[i],
                                                    part.clock->seconds()));
        }
    }

    bool step() override {
        bool moved = std::exchange(heard_, false);
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            Lane& lane = *lanes_[i];
            const std::uint64_t completed = lane.queue.completed();
            if (completed != lane.completed) {
                lane.complete(completed, part_.clock->seconds());
                moved = true;
            }
            if (lane.takes_windows() && lane.queue.posted() - completed < sends_in_flight) {
                moved = send_next(lane, (*part_.used)[i]) || moved;
            }
            if (lane.may_be_asked() &&
                part_.clock->seconds() - lane.moved_s > part_.reroute_after_s) {
                lane.asked = true;
                part_.controls->tell(part_.flow.to,
                                     {.kind = Control::Request, .flow = part_.number, .path = i});
            }
        }
        return moved;
    }

    bool done() const override {
        return whole_ && std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) {
                   return lane->state == Lane::GivenUp || lane->completed == lane->queue.posted();
               });
    }

    void hear(const Control& control) override {
        if (control.flow != part_.number) {
            return;
        }
        if (control.kind == Control::Whole) {
            whole_ = heard_ = true;
        } else if (control.kind == Control::Result && control.path < lanes_.size()) {
            heard_ = true;
            if (control.ended == 0) {
                give_up(control.path, control.value);
            }
        }
    }
    bool leaves_messages() const override { return gave_up_; }
    void add_pending(std::vector<mpi::Pending>& pending) override {
        for (const auto& lane : lanes_) {
            append(pending, lane->queue.pending());
        }
    }

  private:
    struct Piece {
        std::size_t offset = 0, length = 0;
    };
    struct Lane {
        enum State { Open, Ended, GivenUp };
        Lane(const mpi::Comm& comm, std::vector<int> ranks, int tag, double now_s)
            : stops(std::move(ranks)),
              queue(comm, stops[1], tag, mpi::SendQueue::Complete::Matched),
              moved_s(now_s),
              pace(now_s) {}

        bool takes_windows() const { return state == Open && !asked; }
        /// The first so many sends are complete, of which the last may be the empty window.
        void complete(std::uint64_t sends, double now_s) {
            std::size_t bytes = 0;
            for (; completed < sends; ++completed) {
                const auto number = static_cast<std::size_t>(completed);
                bytes += number < sent.size() ? sent[number].length : 0;
            }
            moved_s = now_s;
            pace.complete(bytes, now_s);
        }

        /// The network's own way has no proxy that could be left out.
        bool may_be_asked() const { return stops.size() > 2 && !asked; }

        std::vector<int> stops;
        mpi::SendQueue queue;
        State state = Open;
        bool asked = false, detour = false;
        std::uint64_t completed = 0;
        double moved_s;
        PathPace pace;
        std::vector<Piece> sent;  ///< its windows, in their order
        /// Used in turn: the send before last out of a buffer is complete.
        std::shared_ptr<std::vector<std::byte>> buffers[sends_in_flight];
    };

    /// How much of what no path has yet goes by this one.
    std::size_t length_for(const Lane& lane) {
        paces_.clear();
        std::size_t which = 0;
        for (const auto& one : lanes_) {
            if (one.get() == &lane) {
                which = paces_.size();
            }
            if (one->takes_windows()) {
                paces_.push_back({one->pace.bytes_per_s(part_.clock->seconds()),
                                  one->pace.settled(), static_cast<double>(one->pace.under_way())});
            }
        }
        return next_window(paces_, which, bytes_.size() - next_, part_.flow.window_bytes);
    }

    /// What was lost with a path goes first. False when the lane has nothing to send.
    bool send_next(Lane& lane, PathUse& use) {
        Piece piece;
        if (!lost_.empty()) {
            piece = lost_.front();
            lost_.pop_front();
        } else if (next_ < bytes_.size()) {
            piece = {next_, length_for(lane)};
            if (piece.length == 0) {
                return false;  // other paths will be done with it sooner
            }
            next_ += piece.length;
        } else if (lane.detour) {
            return false;  // no rank waits for the end of a detour
        }
        const auto [offset, length] = piece;
        auto& buffer = lane.buffers[lane.queue.posted() % sends_in_flight];
        if (!buffer) {
            buffer = std::make_shared<std::vector<std::byte>>();
        }
        buffer->resize(sizeof(WindowHeader) + length);
        const WindowHeader header(offset, length, part_.exchange);
        std::memcpy(buffer->data(), &header, sizeof header);
        if (length > 0) {
            std::memcpy(buffer->data() + sizeof header, bytes_.data() + offset, length);
            lane.sent.push_back(piece);
            lane.pace.send(length);
            ++use.windows;
            use.bytes += length;
        } else {
            lane.state = Lane::Ended;
        }
        lane.queue.post(*buffer, buffer);
        return true;
    }

    /// Gives a path up: of the windows that were sent by it, the first `come` have come.
    void give_up(std::size_t path, std::uint64_t come) {
        Lane& lane = *lanes_[path];
        if (lane.state == Lane::GivenUp) {
            return;
        }
        lane.state = Lane::GivenUp;
        gave_up_ = true;
        PathUse& use = (*part_.used)[path];
        use.given_up = true;
        for (std::size_t i = static_cast<std::size_t>(come); i < lane.sent.size(); ++i) {
            lost_.push_back(lane.sent[i]);
            --use.windows;
            use.bytes -= lane.sent[i].length;
        }
        for (std::size_t stop = 1; stop + 1 < lane.stops.size(); ++stop) {
            part_.controls->tell(lane.stops[stop],
                                 {.kind = Control::Stop, .flow = part_.number, .path = path});
        }
        if (!lanes_.back()->detour) {
            const std::vector<int> direct{part_.flow.from, part_.flow.to};
            lanes_.push_back(
                std::make_unique<Lane>(part_.comm, direct, detour_, part_.clock->seconds()));
            lanes_.back()->detour = true;
            part_.used->push_back({.stops = direct, .instead = true});
        }
    }

    FlowPart part_;
    std::span<const std::byte> bytes_;
    int detour_;
    std::size_t next_ = 0;
    std::deque<Piece> lost_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<PaceOfPath> paces_;
    bool whole_ = false, heard_ = false, gave_up_ = false;
};

}  // namespace

std::unique_ptr<Role> window_source_of(const FlowPart& part, const std::vector<int>& tags,
                                       int detour, std::span<const std::byte> bytes) {
    return std::make_unique<Source>(part, tags, detour, bytes);
}

}  // namespace fluvial::move
