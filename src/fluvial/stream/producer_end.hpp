// SPDX-License-Identifier: Apache-2.0
/// What a producer has of a stream: its links, and what waits to be written into them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/move/link.hpp"
#include "fluvial/stream/association.hpp"
#include "fluvial/stream/element.hpp"

namespace fluvial::stream {

/// Elements on their way from a user's memory into links. Done when all were written and no link
/// reads the memory any more.
struct Sending {
    explicit Sending(std::span<const std::byte> elements,
                     std::shared_ptr<const void> keeper = nullptr)
        : bytes(elements), owner(std::move(keeper)) {}
    Sending(const Sending&) = delete;
    Sending& operator=(const Sending&) = delete;
    ~Sending();

    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    bool kept = false;    ///< `bytes` are no longer the user's
    bool record = false;  ///< one element of varying size
    std::size_t written = 0;
    move::Outlet* outlet = nullptr;    ///< of the element under way
    std::vector<mpi::Request> direct;  ///< parts that MPI reads from the user's memory
    std::size_t direct_done = 0;       ///< of these, from the first on

    /// The rest leaves from a copy.
    void keep();

    bool begun() const { return written > 0; }
    bool done() const { return !record && written == bytes.size() && direct_done == direct.size(); }
    /// The user's memory is not read any more.
    bool reusable() const { return done() || (kept && direct_done == direct.size()); }
};

/// Nothing here blocks.
class ProducerEnd {
  public:
    /// `outlets` to the consumers that this producer has links to, in their order: all of them, or
    /// one.
    ProducerEnd(const move::LinkPlan& plan, const Element& element, Association association,
                std::vector<std::unique_ptr<move::Outlet>> outlets);

    /// Writes what there is room for; true when done. Sendings are advanced in the order in which
    /// their elements are to arrive.
    bool advance(Sending& sending);
    /// Queues a sending behind the others; progress() advances it.
    void queue(std::shared_ptr<Sending> sending) { queued_.push_back(std::move(sending)); }
    /// Takes it out of the queue again.
    void drop(const Sending& sending);
    bool has_queued() const { return !queued_.empty(); }

    /// What is queued leaves from copies, so that users need not wait for it.
    void keep_queued();
    /// Something that is queued still leaves from where it was.
    bool reads_users_memory() const;

    /// A link with room for `bytes`; null when there is none now, or several among which elements
    /// choose themselves.
    move::Outlet* with_room(std::size_t bytes);
    /// Nothing was written into the room that with_room() gave last.
    void give_back_turn();
    /// The only link there is, if so.
    move::Outlet* only() const { return only_; }

    /// True when all that was written is on its way.
    bool advance_flush();
    /// The stream ends behind what was queued; true when nothing of it is left here.
    bool advance_termination();
    /// Advances what is queued; true when something moved.
    bool progress();
    /// After that: nothing that consumers sent back is under way any more.
    bool drained();
    /// Their memory goes back; what was counted stays. Once drained() on all ranks.
    void release_links();

    /// Nothing will be sent any more; what the function of an association holds is set free.
    void abandon() noexcept;
    /// Whether nothing (or, where `flushes`, not everything) can leave before `link` has room.
    bool held_up_by(const move::Outlet& link, bool flushes) const;

    /// A function of the program is choosing a consumer.
    bool choosing() const { return choosing_; }

    /// Written into all links so far.
    std::uint64_t bytes() const;
    std::span<const std::unique_ptr<move::Outlet>> outlets() const { return outlets_; }

  private:
    move::Outlet& outlet_for(std::span<const std::byte> element, std::size_t bytes);
    std::size_t write(move::Outlet& outlet, std::span<const std::byte> bytes);
    bool write_record(Sending& sending);
    bool start_direct(Sending& sending, std::span<const std::byte> piece);

    move::LinkPlan plan_;
    Element element_;
    Association association_;
    std::vector<std::unique_ptr<move::Outlet>> outlets_;
    move::Outlet* only_ = nullptr;
    std::uint64_t released_bytes_ = 0;  ///< written into links that have been released
    std::size_t turn_ = 0;
    std::deque<std::shared_ptr<Sending>> queued_;
    bool closed_ = false;
    bool choosing_ = false;
};

}  // namespace fluvial::stream
