// SPDX-License-Identifier: Apache-2.0
/// Several threads on one handle (a Writer, a Reader): they take turns. A thread that waits for the
/// stream or copies data lets the others go on meanwhile, and the thread that closes waits until
/// the others have left. Both serve (progress/engine.hpp) while they wait for a call of another
/// thread to end, because that call may need what only this thread can do. Only for its turn a
/// thread waits without serving: no thread keeps that while it waits.
///
/// | event                | finds                  | leaves                                      |
/// |----------------------|------------------------|---------------------------------------------|
/// | a call begins        | open                   | one more call under way, its turn           |
/// |                      | closing, closed        | InvalidArgument                             |
/// |                      | a child by fork        | InvalidArgument                             |
/// | it works outside()   | its turn               | under way, without the turn                 |
/// | it comes back        | open                   | its turn                                    |
/// |                      | closing                | InvalidArgument                             |
/// | it ends              | its turn               | one call less under way                     |
/// | close() begins       | open                   | closing; it wakes those that wait, and has  |
/// |                      |                        | the turn once no call is under way          |
/// |                      | closing, by another    | waits until that has closed                 |
/// |                      | closed                 | nothing to do                               |
/// |                      | a call of this thread, | InvalidArgument: it would wait for itself   |
/// |                      | or its close(), in     |                                             |
/// |                      | which it serves        |                                             |
/// | Ctrl-C while close() | closing                | open                                        |
/// | waits for calls      |                        |                                             |
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "fluvial/base/fork.hpp"

namespace fluvial::stage {

class HandleLock {
  public:
    class Call;
    class Closing;

    /// In a child that inherited the handle. Everything but the end of the handle is an error then.
    bool inherited() const { return made_.inherited(); }
    /// Throws InvalidArgument in a child.
    void check_process() const { made_.check("the series"); }
    bool is_open() const;
    /// The turn, whether the handle is closed or not; not to be kept while waiting. Throws
    /// InvalidArgument in a child.
    std::unique_lock<std::mutex> turn() const;
    /// While this thread has the turn: some other call is under way.
    bool others_inside() const;

  private:
    enum class State { Open, Closing, Closed };
    class Leaving;

    /// Blocking until `done()`, which is asked with the turn, whenever a call ends. Serves.
    void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& done);
    bool inside() const;
    void check_open(const char* what) const;

    mutable std::mutex mutex_;
    std::condition_variable left_;
    State state_ = State::Open;
    std::vector<std::thread::id> inside_;
    std::thread::id closer_;
    MadeHere made_;
};

/// One call of one thread, from its construction to its destruction.
class HandleLock::Call {
  public:
    /// Throws InvalidArgument (which begins with `what`, a literal) once a thread closes or has
    /// closed, or in a child.
    Call(HandleLock& handle, const char* what);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Does `work` while others have their turns. Throws as the constructor, and what `work`
    /// throws; the turn is this call's again in any case.
    template <class Work>
    void outside(Work work) {
        leave();
        try {
            work();
        } catch (...) {
            regain();
            throw;
        }
        enter();
    }
    /// The same in steps. enter() throws as the constructor, with the turn.
    bool inside() const { return lock_.owns_lock(); }
    void leave() { lock_.unlock(); }
    void enter() {
        lock_.lock();
        handle_.check_open(what_);
    }
    void regain() {
        if (!inside()) {
            lock_.lock();
        }
    }
    /// Lets others go on until `done()`, which is asked with the turn, whenever a call ends. Throws
    /// as outside(), and what ends a wait (progress::look_out).
    void wait_for(const std::function<bool()>& done);

  private:
    HandleLock& handle_;
    const char* what_;
    std::unique_lock<std::mutex> lock_;
};

/// The call that closes. It has the turn, and no other call is under way, from construction to
/// destruction; afterwards the handle is closed if done() was called, and open otherwise.
class HandleLock::Closing {
  public:
    /// `allow`, called first and with the turn, throws when the handle cannot be closed; `wake`
    /// makes the calls that wait look. What ends a wait (progress::look_out) is thrown, too.
    Closing(HandleLock& handle, const std::function<void()>& allow,
            const std::function<void()>& wake);
    ~Closing();
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;

    /// False: it was closed already.
    bool is_mine() const { return mine_; }
    void done() { done_ = true; }

  private:
    void end();

    HandleLock& handle_;
    std::unique_lock<std::mutex> lock_;
    bool mine_ = false;
    bool done_ = false;
};

}  // namespace fluvial::stage
