// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/multipath.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/receive_into.hpp"
#include "fluvial/mpi/receive_ring.hpp"
#include "fluvial/mpi/send_queue.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::move {
namespace {

using route::RankFlow;

/// In front of each window. An empty one ends its path.
struct Header {
    std::uint64_t offset = 0, bytes = 0;
};

/// What this rank does for one flow or one path.
class Part {
  public:
    virtual ~Part() = default;
    /// True when something moved.
    virtual bool step() = 0;
    virtual bool done() const = 0;
};

/// One message from rank to rank, without windows.
class Whole final : public Part {
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
class Source final : public Part {
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
class Proxy final : public Part {
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
class Destination final : public Part {
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

/// A tag for each hop of each path: the messages that arrive at one rank have different ones.
class Tags {
  public:
    explicit Tags(int ranks) : used_(static_cast<std::size_t>(ranks), 0) {}

    /// By hop.
    std::vector<int> of(const std::vector<int>& stops) {
        std::vector<int> tags;
        for (std::size_t hop = 1; hop < stops.size(); ++hop) {
            tags.push_back(used_[static_cast<std::size_t>(stops[hop])]++);
        }
        return tags;
    }
    void check() const {
        const int most = *std::max_element(used_.begin(), used_.end());
        if (most > mpi::tag_max + 1) {
            throw InvalidArgument(Problem{"too many paths meet at one rank", text(most),
                                          text("up to ", mpi::tag_max + 1),
                                          "Plan with fewer paths for a flow or a proxy"});
        }
    }

  private:
    std::vector<int> used_;
};

class Exchange {
  public:
    Exchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
             std::span<const Outgoing> outgoing)
        : comm_(comm), arrived_(flows.size()) {
        Tags tags(comm.size());
        for (std::size_t i = 0; i < flows.size(); ++i) {
            add(flows[i], outgoing[i], tags, arrived_[i]);
        }
    }
    void run(double stall_timeout_s);
    std::vector<Arrived> take() { return std::move(arrived_); }

    /// Each part once.
    progress::Waiting::Seen look() {
        bool moved = false, done = true;
        for (const auto& part : parts_) {
            if (!part->done()) {
                moved = part->step() || moved;
                done = done && part->done();
            }
        }
        return done    ? progress::Waiting::Seen::End
               : moved ? progress::Waiting::Seen::Movement
                       : progress::Waiting::Seen::Nothing;
    }

  private:
    void add(const RankFlow& flow, const Outgoing& outgoing, Tags& tags, Arrived& arrived) {
        const int me = comm_.rank();
        if (flow.to == me) {
            arrived = {std::make_shared_for_overwrite<std::byte[]>(flow.bytes), flow.bytes};
        }
        if (flow.from == flow.to) {
            if (flow.to == me) {
                std::copy(outgoing.bytes.begin(), outgoing.bytes.end(), arrived.bytes.get());
            }
            return;
        }
        std::vector<int> first, last;
        for (const std::vector<int>& stops : flow.paths) {
            const std::vector<int> hops = tags.of(stops);
            first.push_back(hops.front());
            last.push_back(hops.back());
            for (std::size_t hop = 1; hop < hops.size(); ++hop) {
                if (stops[hop] == me) {
                    parts_.push_back(std::make_unique<Proxy>(comm_, flow, hops[hop - 1],
                                                             stops[hop + 1], hops[hop]));
                }
            }
        }
        if (flow.to == me) {
            add_destination(flow, last, arrived);
        }
        if (flow.from == me) {
            add_source(flow, first, outgoing);
        }
    }
    void add_destination(const RankFlow& flow, const std::vector<int>& tags, Arrived& arrived) {
        if (flow.direct()) {
            const std::span<std::byte> memory(arrived.bytes.get(), arrived.size);
            parts_.push_back(std::make_unique<Whole>(
                mpi::receive_into(comm_, memory, arrived.bytes, flow.from, tags[0])));
        } else {
            parts_.push_back(std::make_unique<Destination>(comm_, flow, tags, arrived.bytes.get()));
        }
    }
    void add_source(const RankFlow& flow, const std::vector<int>& tags, const Outgoing& outgoing) {
        if (flow.direct()) {
            parts_.push_back(std::make_unique<Whole>(
                comm_.isend(outgoing.bytes, outgoing.owner, flow.to, tags[0])));
        } else {
            parts_.push_back(std::make_unique<Source>(comm_, flow, tags, outgoing.bytes));
        }
    }

    const mpi::Comm& comm_;
    std::vector<Arrived> arrived_;
    std::vector<std::unique_ptr<Part>> parts_;
};

/// Until all parts are done.
class Moving final : public progress::Waiting {
  public:
    Moving(Exchange& exchange, double stall_timeout_s)
        : exchange_(exchange), stall_timeout_s_(stall_timeout_s), deadline_(stall_timeout_s) {}

    Seen look() override {
        const Seen seen = exchange_.look();
        if (seen == Seen::Movement) {
            deadline_ = Deadline(stall_timeout_s_);
        }
        return seen;
    }
    void look_around(double waited_s) override {
        Waiting::look_around(waited_s);
        if (deadline_.passed()) {
            throw TimedOut(Problem{
                "an exchange of data has not moved on", text("for ", stall_timeout_s_, " s"), "",
                "A rank may have died, or may not have called exchange; or give it more time"});
        }
    }

  private:
    Exchange& exchange_;
    double stall_timeout_s_;
    Deadline deadline_;
};

void Exchange::run(double stall_timeout_s) {
    Moving moving(*this, stall_timeout_s);
    progress::BackOff back_off;
    progress::wait(moving, back_off);
}

void check(const mpi::Comm& comm, std::span<const RankFlow> flows,
           std::span<const Outgoing> outgoing) {
    if (outgoing.size() != flows.size()) {
        throw InvalidArgument(Problem{"not every flow has an entry for its bytes",
                                      text(outgoing.size()), text(flows.size()), ""});
    }
    Tags tags(comm.size());
    const auto check_rank = [&](int rank) {
        if (rank < 0 || rank >= comm.size()) {
            throw InvalidArgument(Problem{"a path stops at a rank that does not exist", text(rank),
                                          text("0 to ", comm.size() - 1), ""});
        }
    };
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const RankFlow& flow = flows[i];
        check_rank(flow.from);
        check_rank(flow.to);
        if (flow.from == comm.rank() && outgoing[i].bytes.size() != flow.bytes) {
            throw InvalidArgument(Problem{text("flow ", i, " has other bytes than it says"),
                                          text(outgoing[i].bytes.size()), text(flow.bytes), ""});
        }
        const bool moves = flow.from != flow.to;
        if (moves && (flow.paths.empty() || (flow.direct() && flow.paths.size() != 1))) {
            throw InvalidArgument(Problem{text("flow ", i, " has another number of paths"),
                                          text(flow.paths.size()),
                                          "one if it goes direct, else one or more", ""});
        }
        for (const std::vector<int>& stops : flow.paths) {
            std::for_each(stops.begin(), stops.end(), check_rank);
            if (moves && (stops.size() < 2 || stops.front() != flow.from ||
                          stops.back() != flow.to || (flow.direct() && stops.size() != 2))) {
                throw InvalidArgument(Problem{text("a path of flow ", i, " is not one of it"),
                                              text(stops.size(), " stops"),
                                              text("from ", flow.from, " to ", flow.to), ""});
            }
            if (moves) {
                tags.of(stops);
            }
        }
    }
    tags.check();
}

std::string words_of(std::span<const RankFlow> flows) {
    std::string words;
    for (const RankFlow& flow : flows) {
        words += text(flow.from, ">", flow.to, ":", flow.bytes, "/", flow.window_bytes);
        for (const std::vector<int>& stops : flow.paths) {
            words += " by";
            for (const int stop : stops) {
                words += text(" ", stop);
            }
        }
        words += "; ";
    }
    return words;
}

}  // namespace

std::vector<Arrived> exchange(const mpi::Comm& comm, std::span<const RankFlow> flows,
                              std::span<const Outgoing> outgoing, double stall_timeout_s) {
    // All ranks are here before anything is sent, so what an exchange before this one has left in
    // its slots is gone on all of them.
    mpi::agree_on(
        comm, [&] { check(comm, flows, outgoing); },
        [&](Terms& terms) { terms.add("the flows of an exchange", words_of(flows)); });
    Exchange moving(comm, flows, outgoing);
    moving.run(stall_timeout_s);
    return moving.take();
}

}  // namespace fluvial::move
