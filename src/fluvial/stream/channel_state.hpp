// SPDX-License-Identifier: Apache-2.0
/// What all streams of a channel share on one rank: communicators, control messages, failures, and
/// waiting.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/only_thread.hpp"
#include "fluvial/base/trace.hpp"
#include "fluvial/host/bell.hpp"
#include "fluvial/mpi/failure.hpp"
#include "fluvial/progress/back_off.hpp"
#include "fluvial/progress/barrier.hpp"
#include "fluvial/progress/control_messages.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/progress/quiescence.hpp"
#include "fluvial/stream/channel.hpp"
#include "fluvial/stream/lost_ranks.hpp"
#include "fluvial/stream/own_process.hpp"

namespace fluvial::stream {

struct StreamState;
class Threshold;

/// How often control messages are looked for: that costs a probe of MPI, some 0.2 us, and elements
/// in shared memory come by the microsecond.
inline constexpr std::int64_t control_every_ns = 5'000;

/// To producers: a rank closes the channel, and waits for them to end their streams.
inline constexpr progress::Topic topic_closing("channel: closing",
                                               progress::Topic::Of::Observation);

/// What all ranks of a channel do together.
enum class Collective : int { AttachStream, BeginThreshold, Close };

/// What this rank knows of ranks that close the channel.
struct Closing {
    bool begun = false;      ///< this rank does
    bool told = false;       ///< and has told the producers
    Index others_vote = -1;  ///< with this vote another rank closes the channel, next of all
};

/// What this rank adds to a trace of the channel.
struct OwnTrace {
    std::unique_ptr<Trace> events;     ///< null: no trace is wanted
    std::string file;                  ///< the first rank's word
    std::int64_t start_ns = 0;         ///< when the first rank opened the channel, on this clock
    std::int64_t clock_offset_ns = 0;  ///< to the clock of rank 0
};

struct ChannelState final : std::enable_shared_from_this<ChannelState>,
                            private progress::BarrierOwner {
    OwnProcess process{*this};
    ChannelOptions options;
    mpi::Comm comm;  ///< the ranks that take part
    mpi::Comm host;  ///< of these, the ranks that share memory with this one
    int rank = -1;
    std::vector<Member> members;
    std::vector<int> producers;
    std::vector<int> consumers;
    std::vector<int> consumer_of;           ///< nearest_consumers(members)
    std::vector<int> host_ranks;            ///< in `host`, of each member; -1 on other hosts
    std::vector<double> ranks_per_core_of;  ///< ranks a core, of each rank in `host`
    host::Bells bells;                      ///< where ranks share cores
    LostRanks lost_ranks;
    std::unique_ptr<progress::ControlMessages> control;
    std::optional<progress::Quiescence> quiescence;
    std::vector<std::shared_ptr<StreamState>> streams;
    std::vector<std::shared_ptr<Threshold>> thresholds;
    std::optional<mpi::Failure> failure;
    bool closed = false;
    Closing closing;
    OnlyThread only_thread;
    OwnTrace trace;

    bool takes_part() const { return rank >= 0; }
    int first_consumer() const { return consumers.front(); }
    /// From the second step of a barrier on the others begin no operations by themselves, and make
    /// no room: no operation may wait for some.
    bool may_wait() const { return !barrier_ || !barrier_->staying(); }
    /// Of a member on this host; null when there is none.
    host::Bell* bell_of(int member) const {
        return bells.of(host_ranks[static_cast<std::size_t>(member)]);
    }
    /// Ranks to each core that this rank may run on.
    double ranks_per_core() const {
        return ranks_per_core_of[static_cast<std::size_t>(host.rank())];
    }
    /// Some rank of this host shares its core.
    bool host_is_oversubscribed() const {
        return *std::max_element(ranks_per_core_of.begin(), ranks_per_core_of.end()) > 1;
    }
    /// Of this rank, further up the stack.
    int operations_under_way() const override;

    /// As Channel::progress. No elements of `spared` are processed.
    bool progress(const StreamState* spared = nullptr);
    /// Calls `done` until it returns true, with progress in between. Throws the channel's failure,
    /// PeerLost, PeerStalled, TimedOut after options.timeout_s without progress, InvalidArgument
    /// when an operation waits for what cannot come before the end of a barrier, and what
    /// check_interrupt throws. `what` completes "Fluvial could not …".
    void wait(std::string_view what, const std::function<bool()>& done);
    /// Collective work of all ranks, which nothing is served during: a rank that is lost meanwhile
    /// is PeerLost or PeerStalled on all, and one that does not come within options.timeout_s a
    /// TimedOut; either ends the channel.
    class Together;
    /// Blocking until all ranks have called it, with progress in between: a rank that comes late
    /// may still be sending to this rank, or never come because it failed. To be called before
    /// collective work: it returns on all ranks, or throws on all (unless one dies). What ends the
    /// wait early ends the channel; so does another purpose on another rank.
    [[nodiscard]] Together begin_together(Collective purpose);
    /// Once, when the channel is opened: what takes which control messages.
    void handle_topics();
    /// Throws when the channel is closed or has failed, belongs to a parent of this process, or
    /// needs MPI, which has ended.
    void check_usable() const override;
    /// The channel has failed while a wait of another verb served it, and no call of the program
    /// has thrown that.
    bool unheard_failure() const { return unheard_; }
    /// The exception in flight is the channel's failure from now on, everywhere.
    void fail(std::exception_ptr thrown) noexcept override;
    void fail(const mpi::Failure& failed) noexcept;
    /// Does what users' functions take part in: an exception is the channel's failure.
    bool failing(const std::function<bool()>& work);
    /// For a rank that neither waits nor polls, once a heartbeat: takes control messages, which may
    /// tell of a failure. Throws as check_usable().
    void look_for_failure();
    /// The heartbeat of that.
    std::uint64_t looked_beat() const { return looked_beat_; }
    /// Forgets everything that others may still touch.
    void abandon() noexcept;

  private:
    class Waits;
    void wait(std::string_view what, const std::function<bool()>& done,
              progress::BackOff& back_off);
    bool serve();
    bool advance(const StreamState* spared, bool served);
    void look_at_others(const char* what, double waited_s);
    bool take_control_messages() override;
    void leave_trace() const noexcept;
    void make_barrier();
    void wait_for_all(const char* purpose, const std::function<bool()>& done) override;
    bool turn(bool may_begin) override;
    const std::optional<mpi::Failure>& known_failure() const override { return failure; }
    void know(const mpi::Failure& failed) noexcept override;
    bool attend();
    bool advance_thresholds();
    void tell_of_closing();
    void check_nobody_closes();
    progress::Movement movement() const;
    void check_quiescence(std::string_view what);
    void was_idle(std::int64_t begin_ns, std::int64_t end_ns, bool traced);
    /// Throws what check_interrupt throws, and as below.
    void look_around();
    /// Throws PeerLost when a watched rank is dead, PeerStalled when one does not beat.
    void look_for_the_lost() override;
    [[noreturn]] void lose(const mpi::Failure& lost);

    std::int64_t control_polled_ns_ = 0;
    std::uint64_t looked_beat_ = 0;
    std::uint64_t moves_ = 0;                   ///< calls of progress() that moved something
    bool moved_ = false;                        ///< the last one did
    bool waits_ = false;                        ///< the caller of progress() only waits
    std::optional<progress::Barrier> barrier_;  ///< none where this rank takes no part
    mutable bool unheard_ = false;
    bool advancing_thresholds_ = false;

  public:
    /// Public calls are Inside. Last: it is gone before what it serves.
    progress::Served served{[this] { return serve(); }, true};
};

class ChannelState::Together {
  public:
    Together(ChannelState& channel, const char* what)
        : setup_([&channel, what](double waited_s) { channel.look_at_others(what, waited_s); }) {}

  private:
    progress::Setup setup_;
};

}  // namespace fluvial::stream
