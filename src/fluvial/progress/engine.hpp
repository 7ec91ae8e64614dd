// SPDX-License-Identifier: Apache-2.0
/// The one loop in which this library waits: the rank that waits serves.
///
/// A thread that waits for one verb (a stage that is full, a scan that others have not finished, a
/// collective operation of MPI) does meanwhile what others wait for of it in other verbs: it
/// processes the elements of its streams and answers their queries. So a verb may be used inside
/// another's operation.
///
// clang-format off
/// | event                           | finds                    | what happens                                    |
/// |---------------------------------|--------------------------|-------------------------------------------------|
/// | a call of a verb begins         | another thread serves it | waits until that has returned                   |
/// |                                 | any                      | this thread serves it from now on               |
/// | a wait finds nothing            | what this thread serves  | is served once; the wait looks again            |
/// |                                 | what others serve        | is left to them                                 |
/// | what is served throws           |                          | its verb keeps it for its own next call         |
/// | Ctrl-C in what is served, in a  | any                      | ends the waits there and all around it          |
/// | wait or a function of Python    |                          |                                                 |
/// | a wait during Setup             | any                      | nothing is served: a rank that was still        |
/// |                                 |                          | serving would keep others from what MPI can     |
/// |                                 |                          | only do blocking (a split), while they keep it  |
/// |                                 |                          | from coming                                     |
/// | Setup::look throws              | a wait of the set-up     | ends the wait                                   |
/// | a verb ends                     | another thread serves it | waits until that has returned                   |
/// | fork()                          | any                      | the child serves nothing                        |
// clang-format on
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fluvial/progress/back_off.hpp"

namespace fluvial::progress {

/// A part of a verb that threads serve while they wait for something else: for as long as it
/// exists, by the thread that made it or was Inside last. The last member of its owner, or else to
/// be ended before what it uses goes.
class Served {
  public:
    /// `serve` does not block, begins nothing collective, and throws nothing but what its verb has
    /// kept for its next call; it returns true when something moved. Where it waits itself, it is
    /// called again inside of that wait, and does what else there is. With `calls_mpi` it is not
    /// served where MPI lets the program's threads take turns (MPI_THREAD_SERIALIZED): whose turn
    /// it is the program alone knows.
    Served(std::function<bool()> serve, bool calls_mpi);
    ~Served();
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    /// No thread serves it from now on. Waits for a thread that is serving it.
    void end();
    /// From its construction to its destruction no other thread serves it, and afterwards this
    /// thread does. May nest.
    class Inside;

    struct Entry;

  private:
    friend bool serve_others(const Served* own);
    friend bool serves_others(const Served* own);
    std::shared_ptr<Entry> entry_;
};

class Served::Inside {
  public:
    explicit Inside(Served& served);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    std::shared_ptr<Entry> entry_;
};

/// Serves, once, what this thread serves apart from `own`. True when something moved.
bool serve_others(const Served* own = nullptr);
/// There is such a thing, and it may be served now. A few nanoseconds where there is none.
bool serves_others(const Served* own = nullptr);

/// While one exists, waits of this thread call `look` (may be empty) ten times a second with the
/// seconds that they have lasted; what it throws ends the wait. May nest.
class Lookout {
  public:
    explicit Lookout(std::function<void(double waited_s)> look);
    ~Lookout();
    Lookout(const Lookout&) = delete;
    Lookout& operator=(const Lookout&) = delete;

  private:
    friend void look_out(double waited_s);
    std::function<void(double)> look_;
    Lookout* outer_;
};

/// The same while this thread sets something up together with other ranks, by collective calls that
/// all of them are about to make: its waits serve nothing.
class Setup : public Lookout {
  public:
    explicit Setup(std::function<void(double waited_s)> look = {});
    ~Setup();
};

/// A limit for each wait: TimedOut, "WHAT in time".
std::function<void(double)> time_limit(double timeout_s, std::string what);

/// check_interrupt(), and what Lookouts look for: throws what ends a wait.
void look_out(double waited_s);

/// Something that is waited for.
class Waiting {
  public:
    enum class Seen { Nothing, Movement, End };

    virtual ~Waiting() = default;
    /// Looks, and may do a part of the work. Does not block for long.
    virtual Seen look() = 0;
    /// About ten times a second. What it throws ends the wait.
    virtual void look_around(double waited_s) { look_out(waited_s); }
    /// Passes the time after a look that found nothing; not for long when there are others to be
    /// `serving`.
    virtual void rest(BackOff& back_off, bool serving) { back_off.rest(serving); }
};

/// Blocking until `waiting` sees its end. `own` is what the wait itself serves.
void wait(Waiting& waiting, BackOff& back_off, const Served* own = nullptr);

/// A turn of a wait in another language: blocking for `seconds`, in which this thread serves what
/// it has, at least once.
void serve_for(double seconds);

}  // namespace fluvial::progress
