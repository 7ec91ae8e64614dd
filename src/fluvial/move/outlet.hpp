// SPDX-License-Identifier: Apache-2.0
/// The producer's end of a link to one consumer: memory that elements are written into, and which
/// leaves by itself. What differs between shared memory and messages is behind make_room().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "fluvial/mpi/request.hpp"

namespace fluvial::move {

/// One thread at a time, but for progress in the background. Nothing here blocks: a producer that
/// finds no room makes progress (Channel) and tries again.
class Outlet {
  public:
    /// At any time. What flush() has sent off stays as it was until the consumer has it: memory
    /// that MPI still reads then lives until the process ends. The rest is not sent, and the
    /// consumer sees no end.
    virtual ~Outlet() = default;
    Outlet(const Outlet&) = delete;
    Outlet& operator=(const Outlet&) = delete;

    /// Contiguous room for `bytes` behind what was committed; nullptr when there is none now.
    /// `bytes` is one unit, or one record where they vary; room() may be more then. Repeated
    /// without a commit it gives the same place.
    std::byte* try_reserve(std::size_t bytes) {
        return room() >= bytes ? cursor_ : make_room(bytes);
    }
    /// The same for elements that are written and committed at once, without hurry(): nothing also
    /// where one has to leave at once, and so must come by try_reserve.
    std::byte* try_at_once(std::size_t bytes) {
        return room() >= bytes ? cursor_ : make_room_at_once(bytes);
    }
    /// After a commit of what try_reserve gave: sends it when it has to leave at once.
    void hurry() {
        if (!hurries_) {
            return;
        }
        hurries_ = false;
        flush();
        progress();
    }
    /// Bytes that try_reserve gives without further ado.
    std::size_t room() const {
        const std::ptrdiff_t left = end_.load(std::memory_order_relaxed) - cursor_;
        return left > 0 ? static_cast<std::size_t>(left) : 0;
    }
    /// The first `bytes` of the room are whole units from now on: the consumer may see them.
    void commit(std::size_t bytes) {
        cursor_ += bytes;
        committed_ += bytes;
        published_->store(committed_, std::memory_order_release);
    }
    /// Copies into reserved room by the way that is fastest to this consumer; commit() may follow
    /// at once.
    virtual void fill(std::byte* room, const void* from, std::size_t bytes) {
        std::memcpy(room, from, bytes);
    }

    /// As try_reserve, for a user that writes there itself, until give_back(): where that is slow
    /// in the link's own memory, it is memory of this process.
    virtual std::byte* try_lend(std::size_t bytes) { return try_reserve(bytes); }
    /// commit() of what was written into try_lend()'s memory; 0: nothing was.
    virtual void give_back(std::size_t bytes) {
        if (bytes > 0) {
            commit(bytes);
        }
    }

    /// Elements from this size on go directly from the user's memory: try_direct instead of
    /// try_reserve.
    std::size_t direct_from() const { return direct_from_; }
    /// Starts sending `unit` (one whole unit) from where it lies, behind everything committed
    /// before; nothing when there are no credits now. `owner` may be empty: then the caller keeps
    /// the memory unchanged until the Request is complete.
    virtual std::optional<mpi::Request> try_direct(std::span<const std::byte> unit,
                                                   std::shared_ptr<const void> owner);

    /// Sends off what was committed, as far as that is possible now.
    virtual void flush() {}
    /// True when flush() has nothing left to do: all that was committed is on its way.
    virtual bool flushed() const { return true; }
    /// Completes sends, takes credits, sends what is older than the latency bound.
    virtual void progress() {}
    /// No more units will come; the consumer learns how many bytes there were. Only when flushed().
    virtual void close() = 0;
    /// Nothing of this link's memory is in use by MPI any more. After close().
    virtual bool finished() { return true; }
    /// Nothing that the consumer sends back is under way any more, once it has taken everything:
    /// only then the communicator may go. After close().
    virtual bool drained() { return true; }
    /// The channel has failed: nothing happens in the background any more. Local.
    virtual void abandon() noexcept {}

    /// Bytes committed so far.
    std::uint64_t committed() const { return committed_; }

  protected:
    Outlet() = default;
    /// As try_reserve, when the room at hand does not suffice: sets cursor_ and end_.
    virtual std::byte* make_room(std::size_t bytes) = 0;
    virtual std::byte* make_room_at_once(std::size_t bytes) { return make_room(bytes); }

    std::byte* cursor_ = nullptr;
    /// Progress in the background may set it back, so that the next try_reserve comes to
    /// make_room().
    std::atomic<std::byte*> end_ = nullptr;
    std::uint64_t committed_ = 0;
    std::atomic<std::uint64_t>* published_ =
        &unread_;  ///< the side that looks for new bytes reads it
    std::size_t direct_from_ = std::numeric_limits<std::size_t>::max();
    bool hurries_ = false;  ///< what is committed next

  private:
    std::atomic<std::uint64_t> unread_{0};
};

inline std::optional<mpi::Request> Outlet::try_direct(std::span<const std::byte>,
                                                      std::shared_ptr<const void>) {
    return std::nullopt;
}

}  // namespace fluvial::move
