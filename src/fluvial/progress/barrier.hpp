// SPDX-License-Identifier: Apache-2.0
/// Where all ranks come together before collective work, each of which may fail until then.
///
/// Until all are here any rank may leave: an operation throws, the user breaks off. But then some
/// may have seen that all were here, and would wait for ever in what is collective. So there is a
/// second step, and a rank stays in it to the end. Then no operation may begin any more, for it
/// could wait for a rank that is through; but one that began before may still be under way, and
/// wait for what others' operations do. So all vote on the end, as often as is needed.
///
// clang-format off
/// | event                                      | in                | what the rank does                                |
/// |--------------------------------------------|-------------------|---------------------------------------------------|
/// | pass() begins                              | no barrier        | says that it has come, and waits for all: step 1  |
/// | its wait throws: an error, an interrupt,   | step 1            | leaves: tells all that it comes to no barrier any |
/// | a failure that another rank told of        |                   | more, and throws                                  |
/// | all have come                              | step 1            | says that it stays, and waits for all: step 2     |
/// | its turn throws                            | step 2, vote      | keeps that, tells all that it stays nevertheless, |
/// |                                            |                   | and begins nothing more                           |
/// | another rank has failed, and stays         | step 2, vote      | begins nothing more, and goes on to the end       |
/// | another rank has left                      | step 2, vote      | throws that rank's failure                        |
/// | a rank is lost, or nothing moves in time   | step 2, vote      | leaves as above: some rank does not come to the   |
/// |                                            |                   | end                                               |
/// | all stay                                   | step 2            | votes: a failed rank, the purpose, and whether    |
/// |                                            |                   | no operation has asked since the vote before      |
/// | an operation waits that had not begun      | step 2, vote      | asks all to work on, once a vote, and votes       |
/// | before the barrier                         |                   | against the end the next time                     |
/// | others are asked to work on                | that vote         | begin operations again until it is counted        |
/// | the same, and nothing moves on any rank    | all have come     | in_vain(): the owner throws in that operation     |
/// | a vote is counted: a rank has failed       | vote              | waits until it is told how, and throws that       |
/// |   the purposes differ                      |                   | throws InvalidArgument, as all do                 |
/// |   an operation has asked                   |                   | votes once more                                   |
/// |   none of these                            |                   | is through, as all are                            |
// clang-format on
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <span>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/failure.hpp"
#include "fluvial/progress/control_messages.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/progress/quiescence.hpp"

namespace fluvial::progress {

/// To all ranks: what an operation threw, or which rank is lost.
inline constexpr Topic topic_failed("barrier: a rank has failed");
/// To all ranks at the end of a barrier: an operation is still under way.
inline constexpr Topic topic_work_on("barrier: work on", Topic::Of::Observation);

/// What the ranks do whose barrier it is, and what they know.
class BarrierOwner {
  public:
    /// Step 1: blocking until `done` returns true. Throws the failure that is known, and whatever
    /// else ends the wait early. `purpose` completes "Fluvial could not …".
    virtual void wait_for_all(const char* purpose, const std::function<bool()>& done) = 0;
    /// A turn of the work, control messages included, by a rank that only waits; it begins
    /// operations where it `may_begin` some. True when something moved. Throws the failure that is
    /// known, and that of the turn.
    virtual bool turn(bool may_begin) = 0;
    /// True when something moved.
    virtual bool take_control_messages() = 0;
    /// Throws when another rank is dead or stopped, once it has called stop_staying(), and leave()
    /// with that failure.
    virtual void look_for_the_lost() = 0;
    /// Of this rank, further up the stack.
    virtual int operations_under_way() const = 0;

    /// Of any rank: nothing can be done together any more.
    virtual const std::optional<mpi::Failure>& known_failure() const = 0;
    /// Knows `failed` from now on. Tells no rank.
    virtual void know(const mpi::Failure& failed) noexcept = 0;
    /// Unless a failure is known: know() what was thrown, and Barrier::tell().
    virtual void fail(std::exception_ptr thrown) noexcept = 0;
    /// Throws the failure that is known, or what else forbids all calls.
    virtual void check_usable() const = 0;

  protected:
    ~BarrierOwner() = default;
};

struct BarrierOptions {
    const char* of;                         ///< what the ranks belong to: "channel"
    std::span<const char* const> purposes;  ///< their names, by number: "attach a stream"
    const char* same_order;                 ///< what to try where purposes differ
    double timeout_s;                       ///< without movement, from step 2 on
    double ranks_per_core = 1;
    const Served* own = nullptr;  ///< what the owner's turns serve
};

/// One rank's part of all barriers of its owner, one after the other.
class Barrier {
  public:
    /// Takes the messages of its topics. All that is referred to outlives it.
    Barrier(BarrierOwner& owner, const mpi::Comm& comm, ControlMessages& control,
            Quiescence& quiescence, const BarrierOptions& options);
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;

    /// Blocking until all ranks have called it, with the owner's turns in between: it returns on
    /// all ranks, or throws on all (unless one dies). What ends the wait early is the owner's
    /// failure; so is another purpose on another rank. Not while one is under way. Two barriers of
    /// MPI and an allreduce of 32 bytes, at least.
    void pass(int purpose);

    /// Of the barrier that is under way.
    std::optional<int> purpose() const { return purpose_; }
    const char* name_of(int purpose) const {
        return options_.purposes[static_cast<std::size_t>(purpose)];
    }
    /// From step 2 on: whatever happens, this rank comes to the end. The others begin no operations
    /// by themselves.
    bool staying() const { return staying_; }
    /// After a failure: some rank comes to no barrier any more.
    bool left() const { return left_; }
    /// That this rank has given in all barriers so far: ranks that have given equally many are on
    /// their way to the same barrier.
    Index votes() const { return votes_; }
    /// What InvalidArgument says where the purposes of ranks differ.
    mpi::Failure different_purposes(int one, int other, int rank) const;

    /// To be called after each turn of an operation's wait, and of any other, that moved nothing.
    void ask_others_to_work_on();
    /// All have come, so no program goes on, only operations do; one of this rank waits, and it is
    /// certain that nothing moves any more. This rank does nothing but wait, with `mine`.
    bool in_vain(const Movement& mine);

    /// Tells all ranks the failure that is known, and whether this rank still comes to the end.
    void tell() noexcept { announce(!staying_); }
    /// This rank, or another, does not come to the end.
    void stop_staying() { staying_ = false; }
    /// Tells all ranks the failure that is known, and that this rank comes to no barrier any more;
    /// unless they know that of some rank already.
    void leave() noexcept;

  private:
    class UnderWay;
    class Stays;
    void come(const char* name);
    void stay(mpi::Request& step, std::exception_ptr& thrown, bool votes);
    void conclude(int purpose, std::exception_ptr& thrown);
    void throw_together(std::exception_ptr thrown);
    void announce(bool is_leaving) noexcept;
    bool operation_waits() const;

    BarrierOwner& owner_;
    const mpi::Comm& comm_;
    const int rank_;
    const int ranks_;
    ControlMessages& control_;
    Quiescence& quiescence_;
    const BarrierOptions options_;
    std::optional<int> purpose_;
    mpi::Request coming_;  ///< step 1
    bool staying_ = false;
    bool left_ = false;
    Index votes_ = 0;
    Index asked_vote_ = -1;   ///< before this vote this rank asked the others to work on
    Index wanted_vote_ = -1;  ///< before this vote another rank did
    int operations_ = 0;      ///< under way when it began: those that it was called from
};

}  // namespace fluvial::progress
