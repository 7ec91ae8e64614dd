// SPDX-License-Identifier: Apache-2.0
/// What the tasks of a pool can compute: functions that all ranks know by the same names.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/flow/request.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::flow {

/// One call of a function, on one rank of the task's team.
struct Call {
    TaskId task = 0;
    const mpi::Comm& team;  ///< the task's own; of a task on one rank it is serial
    std::vector<std::span<const std::byte>> inputs;  ///< the same on all ranks of the team
};

/// Returns the task's result, which is that of the team's rank 0.
using Function = std::function<Bytes(const Call&)>;

/// Whether nobody waits any more for the task that this thread runs: the program has cancelled it,
/// it has outlived its limit, or another rank of its team has failed. False outside of tasks. A
/// task that computes for long asks now and then, and throws or returns; the ranks of a team do so
/// where none waits for another. Waits of the library throw TaskCancelled by themselves, but for
/// those of a team whose communicator later tasks will have (TaskOptions::fresh): what one rank
/// broke off there, another would take for a part of the next task. Costs a look for messages.
bool task_cancelled();

/// For a handler of the signal that a task gets which is cancelled (PoolOptions::cancel_signal),
/// once it can end the task that this thread runs: true when that is wanted, and has not been taken
/// yet. False when the task has ended meanwhile, and outside of tasks. Local, a few nanoseconds.
bool take_cancellation();

/// For as long as it exists, this thread runs a task that is cancelled when `cancelled` says so.
class RunningTask {
  public:
    /// Then `broke_off` becomes true when a wait is broken off; null: none is. `signalled` is what
    /// take_cancellation() takes; null: nothing.
    RunningTask(const std::function<bool()>& cancelled, bool* broke_off,
                std::atomic<bool>* signalled);
    ~RunningTask();
    RunningTask(const RunningTask&) = delete;
    RunningTask& operator=(const RunningTask&) = delete;

  private:
    const std::function<bool()>* before_;
    std::atomic<bool>* signalled_before_;
    std::optional<ThreadInterruptCheck> check_;
};

/// Whether a function may run on more than one rank.
enum class Runs { Serial, Parallel };

/// To be filled alike on all ranks.
class Functions {
  public:
    struct Entry {
        std::string name;
        Function function;
        Runs runs = Runs::Serial;
    };

    /// Throws InvalidArgument for a name that is there already.
    void add(const std::string& name, Function function, Runs runs = Runs::Serial);
    /// Throws UnknownName.
    std::uint32_t number_of(const std::string& name) const;
    const Entry& at(std::uint32_t number) const { return entries_.at(number); }
    std::size_t size() const { return entries_.size(); }

  private:
    std::vector<Entry> entries_;
};

/// Why a task has no result.
struct TaskFailure {
    std::string kind;     ///< Error::kind(); "Error" for what does not derive from fluvial::Error
    std::string message;  ///< what()
    int rank = -1;        ///< in the pool; -1: none
    Bytes details;        ///< of a FunctionFailed

    void write(ByteWriter& out) const;
    static TaskFailure read(ByteReader& in);
    /// Throws the class that `kind` names.
    [[noreturn]] void raise() const;
};

/// Of a task that did not begin.
TaskFailure cancelled_before_it_began();

/// To be thrown by a function whose caller wants to know more than a message.
class FunctionFailed : public Error {
  public:
    FunctionFailed(const std::string& message, Bytes details)
        : Error(message), details_(std::move(details)) {}
    const Bytes& details() const { return details_; }

  private:
    Bytes details_;
};

/// To be thrown by a function whose result other tasks will make: the program that leads is given
/// `message` and says which task makes the result (Pool::follow). The ranks are free meanwhile.
struct Continuation {
    Bytes message;
};

}  // namespace fluvial::flow
