// SPDX-License-Identifier: Apache-2.0
/// The producer's end of a link by messages. For message_outlet.cpp and message_sending.cpp alone.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fluvial/move/copying_outlet.hpp"
#include "fluvial/move/message_flow.hpp"
#include "fluvial/move/staging_buffer.hpp"
#include "fluvial/mpi/send_queue.hpp"
#include "fluvial/progress/service_thread.hpp"

namespace fluvial::move {

/// The appender (the thread that calls try_reserve and commit) needs no lock for an element. It
/// takes the lock when its segment, a message's worth of a batch, is used up, and hands the segment
/// over then. The flusher sends what is visible of a segment that is not full; the appender goes on
/// behind it.
///
/// Where MPI allows no second thread, the flusher is any thread that waits in a channel of this
/// process. While no thread waits, another one, which calls no MPI, ends segments after the latency
/// bound: the next element then leaves at once, and takes those with it that were left lying.
///
/// Where the consumer's core reads the batches, stores into them may be slow, as they are into
/// rings: then the appender writes into the staging buffer, or lent memory, and a CopyPolicy
/// copies, which is the appender's, but the flusher copies with it from the staging buffer when the
/// appender does not.
class MessageOutlet final : public CopyingOutlet, private progress::ServiceThread::Customer {
  public:
    MessageOutlet(const LinkPlan& plan, const mpi::Comm& comm, progress::ControlMessages& control,
                  int peer);
    ~MessageOutlet() override;

    std::optional<mpi::Request> try_direct(std::span<const std::byte> unit,
                                           std::shared_ptr<const void> owner) override;
    void flush() override;
    bool flushed() const override;
    void progress() override;
    void close() override;
    bool finished() override;
    bool drained() override;
    void abandon() noexcept override;

  private:
    struct Batch {
        std::byte* memory = nullptr;
        std::uint64_t begin = 0;         ///< committed before its first byte
        std::uint64_t end = 0;           ///< once the next one is filled
        std::uint64_t last_message = 0;  ///< out of it, as SendQueue counts
    };

    bool writes_in_place() const override { return flow_.fetched && !staging_.in_use(); }
    std::byte* make_room(std::size_t bytes) override;
    std::byte* make_room_at_once(std::size_t bytes) override;
    std::optional<std::int64_t> visit(const progress::ServiceThread& by) override;
    std::optional<std::int64_t> shut();
    void call_flusher();
    void end_segment();

    Batch& batch(std::uint64_t number) { return batches_[number % batches_.size()]; }
    std::byte* batch_end() { return batch(filling_).memory + flow_.slot_bytes; }
    void allocate();
    bool find_room(std::size_t bytes);
    void hand_out(std::size_t bytes);
    bool next_batch();
    void rewind();
    void leave_staging();
    void cut();
    void send_until(std::uint64_t limit);
    void send_early(std::uint64_t visible, std::int64_t now);
    bool take_credits();
    void rethrow();

    const MessageFlow flow_;
    const mpi::Comm& comm_;
    progress::ControlMessages& control_;
    const int peer_;
    const int stream_;
    const std::size_t buffer_bytes_;
    const std::int64_t tick_ns_;  ///< the flusher's; half the latency bound
    bool flusher_;                ///< it may come
    bool background_;             ///< and needs no thread that waits
    std::atomic<std::uint64_t> visible_{0};
    mutable std::mutex
        mutex_;  ///< for all below, and for cursor_ and end_ of an appender that waits
    mpi::SendQueue queue_;
    std::shared_ptr<std::byte> memory_;
    std::vector<Batch> batches_;
    std::uint64_t filling_ = 0;  ///< number of the batch that the appender writes to
    std::uint64_t sending_ = 0;  ///< number of the batch that is sent from
    StagingBuffer staging_;  ///< when in use, cursor_ is there; the appender opens and closes it
    std::deque<std::uint64_t> cuts_;  ///< ends of segments, as counts of bytes committed
    std::uint64_t sent_ = 0;
    int credits_;
    std::optional<mpi::Incoming> credits_coming_;
    std::uint64_t seen_ = 0;  ///< visible_ when last looked at, which was at
    std::int64_t seen_ns_ = 0;
    bool shut_ = true;  ///< everything has left; the appender's next element comes by make_room()
    int slow_visits_ = 0;
    std::exception_ptr failure_;  ///< of the flusher
    bool closed_ = false;
};

}  // namespace fluvial::move
