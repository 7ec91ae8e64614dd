// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/mpi/send_queue.hpp"
#include "fluvial/stream/batch_memory.hpp"
#include "fluvial/stream/copy_policy.hpp"
#include "fluvial/stream/courier.hpp"
#include "fluvial/stream/message_desk.hpp"
#include "fluvial/stream/message_flow.hpp"

namespace fluvial::stream {

namespace {

/// How long a link without new elements is still looked at, for what was reserved before the
/// courier saw it empty and committed after that. Who reserves for longer calls progress() then.
constexpr int slow_visits_max = 64;
constexpr std::int64_t slower = 16;

struct alignas(64) Piece {
    std::byte bytes[piece_bytes];
};

/// Not that of rings: MPI may copy batches once more.
LastChoice& last_batch_choice() {
    static LastChoice last{copy_methods().size() - 1};
    return last;
}

/// The appender (who calls try_reserve and commit) needs no lock for an element. It takes the lock
/// when its segment, a message's worth of a batch, is used up, and hands the segment over then. The
/// courier sends what is visible of a segment that is not full; the appender goes on behind it.
///
/// Where the consumer's core reads the batches, stores into them may be slow, as they are into
/// rings: then the appender writes into the desk, or lent memory, and a CopyPolicy copies.
class MessageOutlet final : public Outlet, private Courier::Customer {
  public:
    MessageOutlet(const LinkPlan& plan, const mpi::Comm& comm, Mailbox& mailbox, int peer);
    ~MessageOutlet() override;

    void fill(std::byte* room, const void* from, std::size_t bytes) override;
    std::byte* try_lend(std::size_t bytes) override;
    void give_back(std::size_t bytes) override;
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

    std::byte* make_room(std::size_t bytes) override;
    std::optional<std::int64_t> visit() override;

    Batch& batch(std::uint64_t number) { return batches_[number % batches_.size()]; }
    std::byte* batch_end() { return batch(filling_).memory + flow_.slot_bytes; }
    void allocate();
    bool find_room(std::size_t bytes);
    void hand_out(std::size_t bytes);
    bool next_batch();
    void rewind();
    void leave_desk();
    void cut();
    void send_until(std::uint64_t limit);
    void send_early(std::uint64_t visible, std::int64_t now);
    bool take_credits();
    void rethrow();

    const MessageFlow flow_;
    const mpi::Comm& comm_;
    Mailbox& mailbox_;
    const int peer_;
    const int stream_;
    const std::size_t unit_bytes_;
    const std::size_t buffer_bytes_;
    const std::int64_t tick_ns_;  ///< the courier's; half the latency bound
    bool courier_;                ///< it may come
    std::atomic<std::uint64_t> visible_{0};
    /// The appender's alone, but the courier copies with it from the desk, when the appender does
    /// not.
    CopyPolicy policy_;
    std::uint64_t piece_start_ = 0;  ///< committed when this room was handed out
    std::uint64_t large_ = 0;        ///< bytes of it that came in large fills
    std::unique_ptr<Piece> lent_;    ///< written by users instead of a batch
    bool lends_ = false;

    mutable std::mutex
        mutex_;  ///< for all below, and for cursor_ and end_ of an appender that waits
    mpi::SendQueue queue_;
    std::shared_ptr<std::byte> memory_;
    std::vector<Batch> batches_;
    std::uint64_t filling_ = 0;  ///< number of the batch that the appender writes to
    std::uint64_t sending_ = 0;  ///< number of the batch that is sent from
    MessageDesk desk_;  ///< when in use, cursor_ is there; the appender opens and closes it
    std::deque<std::uint64_t> cuts_;  ///< ends of segments, as counts of bytes committed
    std::uint64_t sent_ = 0;
    int credits_;
    std::optional<mpi::Incoming> credits_coming_;
    std::uint64_t seen_ = 0;  ///< visible_ when last looked at, which was at
    std::int64_t seen_ns_ = 0;
    bool shut_ = true;  ///< everything has left; the appender's next element comes by make_room()
    int slow_visits_ = 0;
    std::exception_ptr failure_;  ///< of the courier
    bool closed_ = false;
};

MessageOutlet::MessageOutlet(const LinkPlan& plan, const mpi::Comm& comm, Mailbox& mailbox,
                             int peer)
    : flow_(plan),
      comm_(comm),
      mailbox_(mailbox),
      peer_(peer),
      stream_(plan.stream),
      unit_bytes_(std::max<std::size_t>(1, plan.unit_bytes)),
      buffer_bytes_(plan.buffer_bytes),
      tick_ns_(std::max<std::int64_t>(20'000, static_cast<std::int64_t>(plan.latency_s * 5e8))),
      courier_(mpi::running() && mpi::thread_level() == mpi::ThreadLevel::Multiple),
      policy_({copy_methods().front(), copy_methods().back()}, last_batch_choice(),
              static_cast<std::uint64_t>(flow_.batches) * flow_.batch_stride(), now_ns),
      queue_(comm, peer, data_tag + plan.stream),
      credits_(flow_.credits) {
    published_ = &visible_;
    direct_from_ = flow_.direct_bytes;
    if (courier_) Courier::of_process().add(*this);
}

MessageOutlet::~MessageOutlet() {
    abandon();
    if (credits_coming_) credits_coming_->message.abandon();
}

void MessageOutlet::abandon() noexcept {
    if (std::exchange(courier_, false)) Courier::of_process().remove(*this);
}

void MessageOutlet::allocate() {
    const auto count = static_cast<std::size_t>(flow_.batches);
    memory_ = allocate_batches(count * flow_.batch_stride(), buffer_bytes_);
    batches_.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        batches_[i].memory = memory_.get() + i * flow_.batch_stride();
    batches_[0].begin = committed_;
    cursor_ = batches_[0].memory;
}

void MessageOutlet::fill(std::byte* room, const void* from, std::size_t bytes) {
    const bool large = bytes >= large_element_bytes;
    large_ += large ? bytes : 0;
    if (large && flow_.fetched && !desk_.in_use()) {
        policy_.copy(room, static_cast<const std::byte*>(from), bytes);
    } else {
        std::memcpy(room, from, bytes);
    }
}

std::byte* MessageOutlet::try_lend(std::size_t bytes) {
    std::byte* const room = try_reserve(bytes);
    lends_ = room != nullptr && flow_.fetched && !desk_.in_use() && bytes <= piece_bytes &&
             Outlet::room() <= piece_bytes && !policy_.stores_are_best();
    if (!lends_) return room;
    if (!lent_) lent_ = std::make_unique<Piece>();
    return lent_->bytes;
}

void MessageOutlet::give_back(std::size_t bytes) {
    if (lends_ && bytes > 0) policy_.copy(cursor_, lent_->bytes, bytes);
    lends_ = false;
    if (bytes > 0) commit(bytes);
}

std::byte* MessageOutlet::make_room(std::size_t bytes) {
    FLUVIAL_ASSERT(bytes <= flow_.slot_bytes, bytes, flow_.slot_bytes);
    const std::lock_guard lock(mutex_);
    rethrow();
    if (batches_.empty()) allocate();
    if (shut_ && desk_.in_use() && static_cast<std::size_t>(desk_.end() - cursor_) >= bytes) {
        end_ = desk_.end();  // what was reserved when the courier came stays where it is
    } else {
        leave_desk();
        if (!find_room(bytes)) return nullptr;
        hand_out(bytes);
    }
    if (std::exchange(shut_, false) && courier_) Courier::of_process().call(*this, tick_ns_);
    return cursor_;
}

/// Behind cursor_, or in another batch. One that the consumer's core reads leaves when it is full.
bool MessageOutlet::find_room(std::size_t bytes) {
    const auto fits = [&] { return static_cast<std::size_t>(batch_end() - cursor_) >= bytes; };
    if (flow_.fetched && fits()) return true;
    cut();
    send_until(committed_);
    if (!shut_ || !fits()) rewind();  // as above
    return fits() || next_batch();
}

/// What there is at cursor_, in the batch or on the desk.
void MessageOutlet::hand_out(std::size_t bytes) {
    const bool in_large_fills = committed_ > piece_start_ && 2 * large_ > committed_ - piece_start_;
    const bool direct = !flow_.fetched || std::max(bytes, unit_bytes_) >= large_element_bytes ||
                        in_large_fills || policy_.stores_are_best();
    piece_start_ = committed_;
    large_ = 0;
    auto most = static_cast<std::size_t>(batch_end() - cursor_);
    if (flow_.fetched) most = std::min(most, direct ? piece_bytes : message_desk_bytes);
    const std::size_t room = std::max(bytes, most / unit_bytes_ * unit_bytes_);
    if (!direct) cursor_ = desk_.open(committed_, cursor_, room);
    end_ = cursor_ + room;
}

void MessageOutlet::leave_desk() {
    if (desk_.in_use()) cursor_ = end_ = desk_.close(committed_, policy_);
}

/// Messages that MPI has copied away leave their batch free at once, while it is in the cache.
void MessageOutlet::rewind() {
    if (sent_ < committed_ || queue_.completed() < queue_.posted()) return;
    sending_ = filling_;
    batch(filling_).begin = committed_;
    cursor_ = batch(filling_).memory;
}

bool MessageOutlet::next_batch() {
    Batch& full = batch(filling_);
    full.end = committed_;
    Batch& next = batch(filling_ + 1);
    const bool used = filling_ + 1 >= batches_.size();
    if (used && (sent_ < next.end || queue_.completed() < next.last_message)) return false;
    next.begin = committed_;
    next.last_message = 0;
    cursor_ = next.memory;
    ++filling_;
    if (sent_ == committed_) sending_ = filling_;
    return true;
}

/// Messages consist of whole units: they end where the appender came for room.
void MessageOutlet::cut() {
    if (committed_ > sent_ && (cuts_.empty() || cuts_.back() < committed_))
        cuts_.push_back(committed_);
}

void MessageOutlet::send_until(std::uint64_t limit) {
    desk_.put_in_place(limit, policy_);
    while (sent_ < limit && (credits_ > 0 || take_credits())) {
        const std::uint64_t end = cuts_.empty() ? limit : std::min(limit, cuts_.front());
        Batch& from = batch(sending_);
        queue_.post({from.memory + (sent_ - from.begin), static_cast<std::size_t>(end - sent_)},
                    memory_);
        from.last_message = queue_.posted();
        sent_ = end;
        --credits_;
        if (!cuts_.empty() && cuts_.front() == end) cuts_.pop_front();
        if (sending_ < filling_ && sent_ == from.end) ++sending_;
    }
}

/// As long as credits abound a short message costs little; otherwise what is old enough leaves.
void MessageOutlet::send_early(std::uint64_t visible, std::int64_t now) {
    if (sent_ < visible) {
        if (credits_ <= flow_.credits - flow_.credits_back()) take_credits();
        if (credits_ > flow_.credits / 2 || (sent_ < seen_ && now - seen_ns_ >= tick_ns_))
            send_until(visible);
    }
    if (seen_ < visible && (seen_ <= sent_ || now - seen_ns_ >= tick_ns_)) {
        seen_ = visible;
        seen_ns_ = now;
    }
}

bool MessageOutlet::take_credits() {
    for (;;) {
        if (!credits_coming_) credits_coming_ = comm_.try_recv(peer_, credit_tag + stream_);
        if (!credits_coming_ || !credits_coming_->message.test()) return credits_ > 0;
        const auto bytes = credits_coming_->message.take();
        credits_ += ByteReader(bytes).get<std::int32_t>();
        credits_coming_.reset();
    }
}

std::optional<mpi::Request> MessageOutlet::try_direct(std::span<const std::byte> unit,
                                                      std::shared_ptr<const void> owner) {
    FLUVIAL_ASSERT(unit.size() <= flow_.slot_bytes, unit.size(), flow_.slot_bytes);
    const std::lock_guard lock(mutex_);
    rethrow();
    leave_desk();
    cut();
    send_until(committed_);
    if (sent_ < committed_ || (credits_ == 0 && !take_credits())) return std::nullopt;
    if (!owner) owner = {std::shared_ptr<const void>(), unit.data()};
    mpi::Request request = comm_.isend(unit, std::move(owner), peer_, data_tag + stream_);
    --credits_;
    committed_ += unit.size();
    sent_ = committed_;
    visible_.store(committed_, std::memory_order_release);
    if (!batches_.empty()) batch(filling_).begin += unit.size();
    return request;
}

void MessageOutlet::flush() {
    const std::lock_guard lock(mutex_);
    rethrow();
    cut();
    send_until(committed_);
}

bool MessageOutlet::flushed() const {
    const std::lock_guard lock(mutex_);
    return sent_ == committed_;
}

void MessageOutlet::progress() {
    const std::lock_guard lock(mutex_);
    rethrow();
    queue_.completed();
    if (sent_ == committed_) return;
    send_early(committed_, now_ns());
    if (sent_ < committed_ && shut_ && courier_) Courier::of_process().call(*this, tick_ns_);
}

std::optional<std::int64_t> MessageOutlet::visit() try {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return tick_ns_;
    if (failure_ || !mpi::running()) return std::nullopt;
    const std::uint64_t visible = visible_.load(std::memory_order_acquire);
    const bool still = visible == seen_ && visible == sent_;
    send_early(visible, now_ns());
    if (!still || queue_.completed() < queue_.posted()) {
        slow_visits_ = 0;
        return tick_ns_;
    }
    if (!batches_.empty()) end_ = desk_.in_use() ? desk_.begin() : batch(filling_).memory;
    shut_ = true;
    if (++slow_visits_ > slow_visits_max) return std::nullopt;
    return tick_ns_ * slower;
} catch (...) {
    failure_ = std::current_exception();
    return std::nullopt;
}

void MessageOutlet::rethrow() {
    if (failure_) std::rethrow_exception(failure_);
}

void MessageOutlet::close() {
    FLUVIAL_ASSERT(flushed(), committed_);
    ByteWriter count;
    count.put<std::uint64_t>(committed_);
    mailbox_.post(peer_, MailKind::Closed, stream_, count.view());
    closed_ = true;
}

bool MessageOutlet::finished() {
    const std::lock_guard lock(mutex_);
    return closed_ && queue_.completed() == queue_.posted();
}

bool MessageOutlet::drained() {
    const std::lock_guard lock(mutex_);
    if (credits_ < flow_.credits) take_credits();
    return credits_ == flow_.credits;
}

}  // namespace

std::unique_ptr<Outlet> make_message_outlet(const LinkPlan& plan, const mpi::Comm& comm,
                                            Mailbox& mailbox, int peer) {
    check_tags(plan);
    return std::make_unique<MessageOutlet>(plan, comm, mailbox, peer);
}

}  // namespace fluvial::stream
