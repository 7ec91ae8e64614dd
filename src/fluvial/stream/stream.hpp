// SPDX-License-Identifier: Apache-2.0
/// A typed flow of elements from the producers of a channel to its consumers, with an operation.
///
///     Stream stream(channel, {.element = Element::of(DType::Float64)},
///                   make_batches<double>([&](std::span<const double> x) { … }));
///     if (produces(channel.role())) { stream.put(1.5); stream.terminate(); }
///     if (consumes(channel.role())) stream.operate();
///
/// Every element is processed exactly once. Elements of one producer reach a consumer in the order
/// in which they were sent (isend included); between producers there is no order. A stream that has
/// ended cannot be started again; its memory goes back when another one is attached. Source: "A
/// Data Streaming Model in MPI", doi:10.1145/2831129.2831131, section 3.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "fluvial/base/movable.hpp"
#include "fluvial/move/outlet.hpp"
#include "fluvial/stream/channel.hpp"
#include "fluvial/stream/element.hpp"
#include "fluvial/stream/inquiry.hpp"
#include "fluvial/stream/operation.hpp"
#include "fluvial/stream/pending.hpp"
#include "fluvial/stream/statistics.hpp"

namespace fluvial::stream {

struct StreamState;

/// The only link of a producer, while an element may be written to it at once.
struct FastPath {
    move::Outlet* outlet = nullptr;
    std::size_t bytes = 0;  ///< of an element; 0: there is no such link now
    const std::atomic<std::uint64_t>* beats = nullptr;  ///< of this process, some a second
    std::uint64_t beat = 0;                             ///< of these, when it was chosen

    /// The rank looks for failures of others before the next element.
    bool is_old() const { return beats->load(std::memory_order_relaxed) != beat; }
};

/// Equal on all ranks but for the functions inside, of which it is what they declare.
struct StreamOptions {
    std::string name = {};  ///< for errors, statistics and traces; "stream N" by default
    Element element = {};
    std::string element_type = {};  ///< what opaque elements are, in words that ranks compare
    /// Memory for elements of this stream at each consumer, all its producers together, and for
    /// each link at the producer; 0: 4 MiB a link (without shared memory 2 MiB on one host, else
    /// half a MiB), at least four elements each, 64 MiB in all where that does.
    std::size_t buffer_bytes = 0;
    Association association = {};
    bool result_on_producers = false;  ///< result() is there too; terminate() does not wait for it
    /// Elements of a producer that then does something else are under way after this time: at once
    /// in shared memory; by messages if MPI was initialised with MPI_THREAD_MULTIPLE. Below that
    /// no other thread may send for it: an element that comes after a pause leaves at once, but
    /// what follows it within this time lies until this rank calls again, in this channel or
    /// another one. There flush() is for what must not wait.
    double latency_s = 1e-3;
};

/// Move-only; one thread at a time for all streams of a channel. Blocking calls of a rank process
/// what arrives for it in the meantime (in all streams of the channel, but for those whose
/// operation is under way further up the stack), so that ranks which are producers and consumers do
/// not deadlock. A wait for room in this rank's own buffer that only its own next(), or the return
/// of its own operation, could end is an InvalidArgument. Operations on different ranks that block
/// while they send into each other's streams do wait for each other, until the channel's time-out:
/// inside of operations isend() is the way, and iquery(). Calls throw InvalidArgument on ranks
/// without the role, after terminate(), and of a stream that has been moved from.
class Stream {
  public:
    /// Collective over the members of `channel`, blocking. `operation` is this rank's; without one
    /// consumers take elements by next(). Throws InvalidArgument on all ranks when the options or
    /// what operations describe() differ, or the buffer does not hold two elements of each
    /// producer. One piece of memory that the ranks of a host share, one allgather.
    Stream(Channel& channel, const StreamOptions& options,
           std::unique_ptr<Operation> operation = nullptr);
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();

    // Producers ----------------------------------------------------------------------------------

    /// One element of a trivially copyable type of the element's size. Blocking while the buffer is
    /// full (back-pressure).
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        if (sizeof(T) == fast_->bytes && !fast_->is_old()) {
            move::Outlet& outlet = *fast_->outlet;
            if (std::byte* room = outlet.try_at_once(sizeof(T))) {
                std::memcpy(room, &value, sizeof(T));
                outlet.commit(sizeof(T));
                return;
            }
        }
        check_size(sizeof(T));
        send(&value);
    }
    /// `count` elements that lie side by side. Blocking until the memory may be reused.
    void send(const void* elements, Index count = 1) {
        move::Outlet* const outlet = fast_->outlet;
        if (outlet != nullptr && count == 1 && elements != nullptr && !fast_->is_old()) {
            const std::size_t bytes = fast_->bytes;
            if (std::byte* room = outlet->try_at_once(bytes)) {
                outlet->fill(room, elements, bytes);
                outlet->commit(bytes);
                return;
            }
        }
        send_all(elements, count);
    }
    /// One element of varying size.
    void send_record(std::span<const std::byte> element);
    /// The same without blocking. `owner` keeps the memory alive; without one the caller does until
    /// the Pending is complete.
    Pending isend(const void* elements, Index count = 1,
                  std::shared_ptr<const void> owner = nullptr);
    Pending isend_record(std::span<const std::byte> element,
                         std::shared_ptr<const void> owner = nullptr);
    /// Room for one element (of `bytes` if they vary), to be written in place and then commit()ted.
    /// Blocking while the buffer is full. Not with a Choice of the consumer by content.
    std::span<std::byte> reserve(std::size_t bytes = 0);
    /// Room for as many elements of fixed size as lie side by side, `wanted` at most, one at least.
    std::span<std::byte> reserve_many(Index wanted);
    /// The first `count` elements of the room that was reserved are complete; 0 gives it back.
    void commit(Index count = 1);
    /// Sends off what is still collected for messages. Blocking for credits.
    void flush();
    /// This producer sends no more. Blocking until its elements have left its memory. Idempotent.
    void terminate();
    Pending iterminate();

    /// The global result so far and how many elements it covers: all partial results merged, each
    /// taken between two batches of its consumer. Blocking until the consumers have come to answer;
    /// they answer before they process further elements, also when they have reached their end,
    /// and also to producers that have terminated. Not from inside the operation of this stream.
    Outcome query();
    /// The same without blocking.
    Inquiry iquery();

    // Consumers ----------------------------------------------------------------------------------

    /// Processes elements until all producers have terminated, then merges with the other consumers
    /// (the terminal function). Blocking.
    void operate();
    /// Processes what has arrived, at most `bytes_max` (but one element, if any); returns the
    /// number of bytes. Goes on to the end of the stream when the time has come. Does not block.
    std::size_t operate_some(std::size_t bytes_max = std::size_t{1} << 20);
    /// The next elements, as they lie in the buffer, until the next call on this stream; nothing at
    /// its end. Blocking. They count as processed by the next call. For streams without operation.
    std::optional<Batch> next();
    /// The same without blocking; empty `bytes` when there is nothing now.
    std::optional<Batch> try_next();
    /// All producers have terminated, everything was processed, and the global result is here.
    bool ended() const;

    // Both ---------------------------------------------------------------------------------------

    /// The global result, as Operation::finish gave it. Blocking until the stream has ended. On
    /// producers with result_on_producers only.
    const std::vector<std::byte>& result();

    /// What this rank has done so far; as it was at the end, once the channel is closed. Local.
    Statistics statistics() const;
    const StreamOptions& options() const;
    /// The number of this stream in its channel.
    int number() const;

    const std::shared_ptr<StreamState>& state() const;

  private:
    void check_size(std::size_t bytes) const;
    void send_all(const void* elements, Index count);
    Pending start(std::shared_ptr<Sending> sending);

    Movable<StreamState> state_;
    const FastPath* fast_;  ///< of *state_, where it is withdrawn at the end; never null
};

/// An operation that is called with spans of elements of type T; `declared` as of make_callback.
template <class T, class Work>
std::unique_ptr<Operation> make_batches(Work work, bool takes_parts = std::is_arithmetic_v<T>,
                                        std::string declared = "a function") {
    return make_callback(
        [work = std::move(work)](const Batch& batch) mutable {
            check_whole(batch, sizeof(T));
            work(std::span(reinterpret_cast<const T*>(batch.data), batch.bytes / sizeof(T)));
        },
        takes_parts, std::move(declared));
}

/// An operation that is called with each element.
template <class T, class Work>
std::unique_ptr<Operation> make_elements(Work work, std::string declared = "a function") {
    return make_batches<T>(
        [work = std::move(work)](std::span<const T> batch) mutable {
            for (const T& element : batch) {
                work(element);
            }
        },
        false, std::move(declared));
}

}  // namespace fluvial::stream
