// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/path_roles.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "fluvial/base/error.hpp"
#include "fluvial/move/multipath.hpp"
#include "fluvial/mpi/receive_into.hpp"
#include "fluvial/mpi/receive_ring.hpp"
#include "fluvial/mpi/send_queue.hpp"

namespace fluvial::move {
namespace {

using route::RankFlow;

/// In front of each window. An empty one ends its path.
struct Header {
    std::uint64_t offset = 0, bytes = 0;
};

/// One message from rank to rank, without windows.
class Whole final : public Role {
  public:
    explicit Whole(mpi::Request request) : request_(std::move(request)) {}
    ~Whole() override {
        if (request_.in_flight()) {
            request_.abandon();
        }
    }
    bool step() override {
        done_ = request_.test();
        return done_;
    }
    bool done() const override { return done_; }

  private:
    mpi::Request request_;
    bool done_ = false;
};

/// Hands the windows of a flow to its paths, whichever has room.
class Source final : public Role {
  public:
    Source(const mpi::Comm& comm, const RankFlow& flow, const std::vector<int>& tags,
           std::span<const std::byte> bytes)
        : bytes_(bytes), window_bytes_(flow.window_bytes) {
        for (std::size_t i = 0; i < flow.paths.size(); ++i) {
            lanes_.push_back(std::make_unique<Lane>(comm, flow.paths[i][1], tags[i]));
        }
    }
    bool step() override {
        bool moved = false;
        for (const auto& lane : lanes_) {
            const std::uint64_t completed = lane->queue.completed();
            moved = moved || completed != lane->completed;
            lane->completed = completed;
            if (!lane->ended && lane->queue.posted() - completed < sends_in_flight) {
                send_next(*lane);
                moved = true;
            }
        }
        return moved;
    }
    bool done() const override {
        return std::all_of(lanes_.begin(), lanes_.end(), [](const auto& lane) {
            return lane->ended && lane->completed == lane->queue.posted();
        });
    }

  private:
    struct Lane {
        Lane(const mpi::Comm& comm, int next, int tag)
            : queue(comm, next, tag, mpi::SendQueue::Complete::Matched) {}
        mpi::SendQueue queue;
        std::uint64_t completed = 0;
        bool ended = false;
        /// Used in turn: the send before last out of a buffer is complete.
        std::shared_ptr<std::vector<std::byte>> buffers[sends_in_flight];
    };

    void send_next(Lane& lane) {
        const std::size_t length = std::min(window_bytes_, bytes_.size() - next_);
        auto& buffer = lane.buffers[lane.queue.posted() % sends_in_flight];
        if (!buffer) {
            buffer = std::make_shared<std::vector<std::byte>>();
        }
        buffer->resize(sizeof(Header) + length);
        const Header header{next_, length};
        std::memcpy(buffer->data(), &header, sizeof header);
        if (length > 0) {
            std::memcpy(buffer->data() + sizeof header, bytes_.data() + next_, length);
        }
        lane.queue.post(*buffer, buffer);
        next_ += length;
        lane.ended = length == 0;
    }

    std::span<const std::byte> bytes_;
    std::size_t window_bytes_, next_ = 0;
    std::vector<std::unique_ptr<Lane>> lanes_;
};

Header header_of(std::span<const std::byte> window) {
    Header header;
    std::memcpy(&header, window.data(), std::min(window.size(), sizeof header));
    if (window.size() < sizeof header || header.bytes != window.size() - sizeof header) {
        throw Error(Problem{"a window has another length than its header says",
                            text(window.size(), " bytes"), "", "This is a bug of Fluvial's"});
    }
    return header;
}

std::shared_ptr<mpi::ReceiveRing> make_ring(const mpi::Comm& comm, const RankFlow& flow, int tag) {
    return std::make_shared<mpi::ReceiveRing>(comm, tag, slots_of_path,
                                              sizeof(Header) + flow.window_bytes);
}

/// Passes the windows of a path on.
class Proxy final : public Role {
  public:
    Proxy(const mpi::Comm& comm, const RankFlow& flow, int tag, int next, int next_tag)
        : ring_(make_ring(comm, flow, tag)),
          queue_(comm, next, next_tag, mpi::SendQueue::Complete::Matched) {}

    bool step() override {
        bool moved = false;
        // Slots come free in the order in which windows came, since they leave in that order.
        for (const std::uint64_t completed = queue_.completed(); completed_ < completed;
             ++completed_) {
            if (!ended_) {
                ring_->give_back();
            }
            moved = true;
        }
        while (!ended_ && queue_.posted() - completed_ < sends_in_flight) {
            const auto window = ring_->try_next();
            if (!window) {
                break;
            }
            ended_ = header_of(window->bytes).bytes == 0;
            queue_.post(window->bytes, ring_);
            moved = true;
        }
        return moved;
    }
    bool done() const override { return ended_ && completed_ == queue_.posted(); }

  private:
    std::shared_ptr<mpi::ReceiveRing> ring_;
    mpi::SendQueue queue_;
    std::uint64_t completed_ = 0;
    bool ended_ = false;
};

/// Puts the windows of a flow where they belong.
class Destination final : public Role {
  public:
    Destination(const mpi::Comm& comm, const RankFlow& flow, const std::vector<int>& tags,
                std::byte* memory)
        : memory_(memory), size_(flow.bytes) {
        for (const int tag : tags) {
            rings_.push_back(make_ring(comm, flow, tag));
        }
    }
    bool step() override {
        bool moved = false;
        for (auto& ring : rings_) {
            while (ring) {
                const auto window = ring->try_next();
                if (!window) {
                    break;
                }
                moved = true;
                if (take(window->bytes)) {
                    ring->give_back();
                } else {
                    ring.reset();
                }
            }
        }
        if (moved && done() && come_ != size_) {
            throw Error(Problem{"the windows of a flow are not all of it", text(come_, " bytes"),
                                text(size_), "This is a bug of Fluvial's"});
        }
        return moved;
    }
    bool done() const override {
        return std::none_of(rings_.begin(), rings_.end(), [](const auto& ring) { return !!ring; });
    }

  private:
    /// False for the one that ends its path.
    bool take(std::span<const std::byte> window) {
        const Header header = header_of(window);
        if (header.offset > size_ || header.bytes > size_ - header.offset) {
            throw Error(Problem{"a window lies outside of its flow",
                                text(header.bytes, " bytes from ", header.offset),
                                text(size_, " bytes"), "This is a bug of Fluvial's"});
        }
        if (header.bytes > 0) {
            std::memcpy(memory_ + header.offset, window.data() + sizeof header, header.bytes);
        }
        come_ += header.bytes;
        return header.bytes > 0;
    }

    std::byte* memory_;
    std::size_t size_, come_ = 0;
    std::vector<std::shared_ptr<mpi::ReceiveRing>> rings_;
};

}  // namespace

std::unique_ptr<Role> source_of(const mpi::Comm& comm, const RankFlow& flow,
                                const std::vector<int>& tags, const Outgoing& outgoing) {
    if (flow.direct()) {
        return std::make_unique<Whole>(
            comm.isend(outgoing.bytes, outgoing.owner, flow.to, tags[0]));
    }
    return std::make_unique<Source>(comm, flow, tags, outgoing.bytes);
}

std::unique_ptr<Role> proxy_of(const mpi::Comm& comm, const RankFlow& flow, int tag, int next,
                               int next_tag) {
    return std::make_unique<Proxy>(comm, flow, tag, next, next_tag);
}

std::unique_ptr<Role> destination_of(const mpi::Comm& comm, const RankFlow& flow,
                                     const std::vector<int>& tags, const Arrived& arrived) {
    if (flow.direct()) {
        const std::span<std::byte> memory(arrived.bytes.get(), arrived.size);
        return std::make_unique<Whole>(
            mpi::receive_into(comm, memory, arrived.bytes, flow.from, tags[0]));
    }
    return std::make_unique<Destination>(comm, flow, tags, arrived.bytes.get());
}

}  // namespace fluvial::move
