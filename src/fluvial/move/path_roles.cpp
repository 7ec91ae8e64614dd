// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/path_roles.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/move/path_window.hpp"
#include "fluvial/mpi/receive_into.hpp"
#include "fluvial/mpi/send_queue.hpp"

namespace fluvial::move {

Window window_in(std::span<const std::byte> message, std::uint32_t exchange) {
    WindowHeader header;
    std::memcpy(&header, message.data(), std::min(message.size(), sizeof header));
    const bool complete = message.size() >= sizeof header;
    if (!complete || header.bytes != static_cast<std::uint32_t>(message.size() - sizeof header)) {
        throw Error(Problem{"a window has another length than its header says",
                            text(message.size(), " bytes"), "", "This is a bug of Fluvial's"});
    }
    if (header.exchange != exchange) {
        throw Error(Problem{"a window of another exchange has come", text(header.exchange),
                            text(exchange, ", the number of this one"),
                            "The MPI library mixes messages up, as some do that cannot cancel a "
                            "receive: let it use another network, or plan direct flows"});
    }
    return {static_cast<std::size_t>(header.offset), message.subspan(sizeof header)};
}

std::shared_ptr<mpi::ReceiveRing> make_ring(const mpi::Comm& comm, const route::RankFlow& flow,
                                            int tag) {
    return std::make_shared<mpi::ReceiveRing>(comm, tag, slots_of_path,
                                              sizeof(WindowHeader) + flow.window_bytes);
}

namespace {

/// One message from rank to rank, without windows; sent by the first step.
class WholeMessage final : public Role {
  public:
    WholeMessage(const FlowPart& part, std::function<mpi::Request()> send)
        : begin_(std::move(send)), use_(part.used->front()), bytes_(part.flow.bytes) {}
    WholeMessage(const FlowPart& part, mpi::Request receive)
        : request_(std::move(receive)), use_(part.used->front()), bytes_(part.flow.bytes) {}
    ~WholeMessage() override {
        if (request_.in_flight()) {
            request_.abandon();
        }
    }
    bool step() override {
        if (begin_) {
            request_ = std::exchange(begin_, nullptr)();
        }
        done_ = request_.test();
        if (done_) {
            use_.windows = 1;
            use_.bytes = bytes_;
        }
        return done_;
    }
    bool done() const override { return done_; }
    void add_pending(std::vector<mpi::Pending>& pending) override {
        append(pending, request_.pending());
    }

  private:
    std::function<mpi::Request()> begin_;
    mpi::Request request_;
    PathUse& use_;
    std::size_t bytes_;
    bool done_ = false;
};

/// Passes the windows of a path on.
class Proxy final : public Role {
  public:
    Proxy(const FlowPart& part, std::size_t path, int tag, int next, int next_tag,
          std::function<void(std::span<std::byte>)> at_proxy)
        : number_(part.number),
          path_(path),
          exchange_(part.exchange),
          at_proxy_(std::move(at_proxy)),
          ring_(make_ring(part.comm, part.flow, tag)),
          queue_(part.comm, next, next_tag, mpi::SendQueue::Complete::Matched) {}

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
            ended_ = window_in(window->bytes, exchange_).bytes.empty();
            if (at_proxy_ && !ended_) {
                at_proxy_(window->bytes.subspan(sizeof(WindowHeader)));
            }
            queue_.post(window->bytes, ring_);
            moved = true;
        }
        return moved;
    }
    bool done() const override { return stopped_ || (ended_ && completed_ == queue_.posted()); }
    void hear(const Control& control) override {
        if (control.kind == Control::Stop && control.flow == number_ && control.path == path_) {
            stopped_ = true;
        }
    }
    bool leaves_messages() const override { return stopped_; }
    void add_pending(std::vector<mpi::Pending>& pending) override {
        append(pending, queue_.pending());
        if (!ended_ && queue_.posted() - completed_ < sends_in_flight) {
            append(pending, ring_->pending());
        }
    }

  private:
    std::size_t number_, path_;
    std::uint32_t exchange_;
    std::function<void(std::span<std::byte>)> at_proxy_;
    std::shared_ptr<mpi::ReceiveRing> ring_;
    mpi::SendQueue queue_;
    std::uint64_t completed_ = 0;
    bool ended_ = false, stopped_ = false;
};

}  // namespace

std::unique_ptr<Role> source_of(const FlowPart& part, const std::vector<int>& tags, int detour,
                                const Outgoing& outgoing) {
    if (part.flow.direct()) {
        return std::make_unique<WholeMessage>(
            part, std::function<mpi::Request()>(
                      [&comm = part.comm, outgoing, to = part.flow.to, tag = tags[0]] {
                          return comm.isend(outgoing.bytes, outgoing.owner, to, tag);
                      }));
    }
    return window_source_of(part, tags, detour, outgoing.bytes);
}

std::unique_ptr<Role> proxy_of(const FlowPart& part, std::size_t path, int tag, int next,
                               int next_tag, std::function<void(std::span<std::byte>)> at_proxy) {
    return std::make_unique<Proxy>(part, path, tag, next, next_tag, std::move(at_proxy));
}

std::unique_ptr<Role> destination_of(const FlowPart& part, const std::vector<int>& tags, int detour,
                                     const Arrived& arrived) {
    if (part.flow.direct()) {
        const std::span<std::byte> memory(arrived.bytes.get(), arrived.size);
        return std::make_unique<WholeMessage>(
            part, mpi::receive_into(part.comm, memory, arrived.bytes, part.flow.from, tags[0]));
    }
    return window_destination_of(part, tags, detour, arrived.bytes.get());
}

}  // namespace fluvial::move
