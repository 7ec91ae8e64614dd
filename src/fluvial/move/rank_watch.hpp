// SPDX-License-Identifier: Apache-2.0
/// The ranks of a communicator, watched by those that wait for them in a collective call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fluvial/host/process.hpp"
#include "fluvial/move/distant_beats.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/failure.hpp"
#include "fluvial/mpi/kept.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/progress/heartbeats.hpp"

namespace fluvial::move {

/// What all ranks of a communicator do together, a scan for example, is a task: they begin the same
/// tasks in the same order, and each takes some calls of all ranks.
///
// clang-format off
/// | a rank                                  | the others, while they wait in the same task         |
/// |-----------------------------------------|------------------------------------------------------|
/// | has not come, but runs                  | wait                                                 |
/// | has died, on the same host              | PeerLost                                             |
/// | is stopped, or its host is cut off, for | PeerStalled; the rank itself, too, when it goes on   |
/// | longer than the limit                   |                                                      |
/// | ends the task by an error of its own    | the same kind of error, which names the rank         |
// clang-format on
///
/// A rank that sees something tells others, and those tell others, so that it is known everywhere
/// without a message from each rank to each. A rank hears of it in its waits, and not while it
/// computes.
class RankWatch final : public mpi::Kept {
  public:
    /// Shorter limits are not kept.
    static constexpr double stall_timeout_min_s = 2;
    /// Throws InvalidArgument for a shorter one, and NaN.
    static void check_stall_timeout(double stall_timeout_s);
    static double kept_limit(double stall_timeout_s) {
        return std::max(stall_timeout_min_s, stall_timeout_s);
    }

    /// That of a communicator, kept with it. Collective and blocking at the first call: a
    /// duplicate, a split by hosts, two allgathers of some 100 bytes a rank. Local later. Null for
    /// one rank.
    static std::shared_ptr<RankWatch> of(const mpi::Comm& comm);
    /// The same for a Fortran handle.
    static std::shared_ptr<RankWatch> of(long handle);

    /// Takes `comm` over.
    explicit RankWatch(mpi::Comm comm);
    ~RankWatch() override;
    void end(bool mpi_ends) noexcept override;

  private:
    friend class WatchedTask;
    using Number = std::int64_t;  ///< of a task, the same on all ranks
    struct Seat {
        int host = 0;  ///< the lowest rank there
        host::Process process;
        host::FilePlace beats;
    };

    Number begin() { return ++begun_; }
    [[noreturn]] void end_by_current_exception(Number task);
    mpi::Failure failure_of_current_exception(Number task) const;
    std::optional<int> dead_rank() const;
    void tell(Number task, const mpi::Failure& failure) noexcept;
    void look(Number task, double stall_timeout_s, const char* of);
    void take_notes();
    void come(Number task);
    bool has_come(Number task, int round, int from);
    const host::Process& process_of(int rank) const;

    mpi::Comm comm_;
    std::vector<Seat> seats_;
    std::vector<int> watched_;  ///< others on this host whose death can be seen
    std::unique_ptr<progress::Heartbeats> heartbeats_;
    std::unique_ptr<DistantBeats> distant_;
    Number begun_ = 0;
    std::map<Number, mpi::Failure> told_;    ///< by the task that has ended by it
    std::vector<mpi::Request> notes_;        ///< on their way
    std::set<std::pair<Number, int>> come_;  ///< tasks and rounds of which a message has come
};

/// One task. What is made without a watch watches nobody.
class WatchedTask {
  public:
    WatchedTask() = default;
    /// Local, in the same order on all ranks. `of` is what the user gave the limit to, such as "the
    /// scan", and outlives this; the limit may be infinite.
    WatchedTask(std::shared_ptr<RankWatch> watch, double stall_timeout_s, const char* of);

    explicit operator bool() const { return watch_ != nullptr; }

    /// Blocking until all ranks have begun it, by 2 log2(P) messages, of which an error leaves no
    /// trace. What follows may be what MPI cannot be told to give up, such as to make a
    /// communicator.
    void come() const;

    /// Returns what `work` does, a call of all ranks, and watches them in its waits.
    template <class Work>
    auto during(Work&& work) const {
        return telling([&] { return watching(work); });
    }
    /// The two halves of it, for a task whose waits are not all for all ranks: the others are told
    /// of its errors;
    template <class Work>
    auto telling(Work&& work) const {
        if (!watch_) {
            return work();
        }
        try {
            return work();
        } catch (...) {
            watch_->end_by_current_exception(number_);
        }
    }
    /// and in waits they are watched.
    template <class Work>
    auto watching(Work&& work) const {
        if (!watch_) {
            return work();
        }
        const progress::Lookout looking(
            [this](double) { watch_->look(number_, stall_timeout_s_, of_); });
        return work();
    }
    /// What is a part of the task alone, and may fail without an end to it: but for an error of
    /// MPI, which is the death of a rank, if one has died.
    template <class Work>
    auto explaining(Work&& work) const {
        try {
            return work();
        } catch (const mpi::CallFailed&) {
            if (watch_) {
                watch_->end_by_current_exception(number_);
            }
            throw;
        }
    }
    /// One look at the others, for a wait of all ranks that is not the engine's. Throws what is
    /// seen or heard of them, of which the others are told.
    void look() const {
        telling([&] {
            if (watch_) {
                watch_->look(number_, stall_timeout_s_, of_);
            }
        });
    }
    /// It has been ended by what was seen or heard of others: ranks are where they are, and nothing
    /// that needs all of them works any more.
    bool ended() const { return watch_ && watch_->told_.contains(number_); }
    /// By what; nothing unless ended().
    std::optional<mpi::Failure> failure() const {
        return ended() ? std::optional(watch_->told_.at(number_)) : std::nullopt;
    }
    /// The others hear that it has ended by this, with the ranks of its communicator.
    void tell(const mpi::Failure& failure) const noexcept {
        if (watch_) {
            watch_->tell(number_, failure);
        }
    }

  private:
    std::shared_ptr<RankWatch> watch_;
    RankWatch::Number number_ = 0;
    double stall_timeout_s_ = 0;
    const char* of_ = "";
};

/// The next task of a communicator, whose limit is no shorter than is kept. Nobody is watched where
/// there is one rank. Collective and blocking at the first one of a communicator.
inline WatchedTask watched(const mpi::Comm& comm, double stall_timeout_s, const char* of) {
    return comm.serial()
               ? WatchedTask()
               : WatchedTask(RankWatch::of(comm), RankWatch::kept_limit(stall_timeout_s), of);
}

}  // namespace fluvial::move
