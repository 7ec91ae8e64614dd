// SPDX-License-Identifier: Apache-2.0
/// What a child process that was made by fork() may do with the objects that it inherited: nothing.
/// The child has a copy of each, but neither its threads nor its place among the peers, and what it
/// did to shared memory would happen to its parent's stream.
///
/// A fork is noticed by pthread_atfork, so asking costs no system call. vfork and posix_spawn do
/// not count: such a child runs another program at once, and every descriptor is closed on exec.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace fluvial {

/// The same number in a process for as long as it lives; another one in each child of it.
std::uint32_t fork_generation();

/// Member of an object that belongs to one process: knows which.
class MadeHere {
  public:
    MadeHere();
    /// True in a child of the process that made the object.
    bool inherited() const { return generation_ != fork_generation(); }
    /// Throws InvalidArgument in a child; `what` is the object, as in "the series 'melt'".
    void check(const char* what) const;

  private:
    std::uint32_t generation_;
    std::int64_t process_;
};

/// Deletes what this process made. In a child it stays as it is: its destructor would join threads
/// that do not exist there, or give up what is the parent's.
struct DeleteWhereMade {
    MadeHere made = {};
    template <class T>
    void operator()(T* object) const {
        if (!made.inherited()) {
            delete object;
        }
    }
};

template <class T>
using UniqueWhereMade = std::unique_ptr<T, DeleteWhereMade>;

template <class T, class... Arguments>
std::shared_ptr<T> make_shared_where_made(Arguments&&... arguments) {
    return {new T(std::forward<Arguments>(arguments)...), DeleteWhereMade{}};
}

/// While one exists, this process does not fork: a thread that wants to waits. May nest.
class ForkPause {
  public:
    ForkPause();
    ~ForkPause();
    ForkPause(const ForkPause&) = delete;
    ForkPause& operator=(const ForkPause&) = delete;
};

/// Calls `work` in every child process while it exists, before the child's fork() returns. Other
/// threads may have been in the middle of anything: `work` takes no lock.
class ForkHook {
  public:
    explicit ForkHook(std::function<void()> work);
    ~ForkHook();
    ForkHook(const ForkHook&) = delete;
    ForkHook& operator=(const ForkHook&) = delete;
    /// True in a child, once `work` was called there.
    bool called() const { return made_.inherited(); }

  private:
    friend void call_fork_hooks();
    MadeHere made_;
    std::function<void()> work_;
};

}  // namespace fluvial
