// SPDX-License-Identifier: Apache-2.0
/// How the folders that know nothing of progress (mpi, host) wait for something outside of this
/// process. The engine (progress/), which can do something useful meanwhile, takes these waits
/// over.
#pragma once

#include <functional>
#include <string_view>

#include "fluvial/base/clock.hpp"

namespace fluvial {

/// Serve: what others wait for of this thread may go on meanwhile. Nothing: it may not, because a
/// call follows that blocks, and to which the ranks that are served would have to come.
enum class Meanwhile { Serve, Nothing };

/// Blocking until `done` returns true. At the deadline throws TimedOut, "WHAT in time" (`what` such
/// as "MPI did not receive a message"); what check_interrupt throws ends the wait too. Local.
void wait_until(const std::function<bool()>& done, const Deadline& deadline, std::string_view what,
                Meanwhile meanwhile = Meanwhile::Serve);
void wait_until(const std::function<bool()>& done, std::string_view what,
                Meanwhile meanwhile = Meanwhile::Serve);

/// The same where it is no error to be late: false at the deadline.
bool came_in_time(const std::function<bool()>& done, const Deadline& deadline,
                  Meanwhile meanwhile = Meanwhile::Serve);

/// Throws the TimedOut of wait_until().
[[noreturn]] void throw_late(std::string_view what);

using WaitUntil = void (*)(const std::function<bool()>& done, const Deadline& deadline,
                           std::string_view what, Meanwhile meanwhile);
/// From now on wait_until() is `wait`. To be set once, when the program is loaded.
void set_wait_until(WaitUntil wait);

}  // namespace fluvial
