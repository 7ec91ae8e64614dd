// SPDX-License-Identifier: Apache-2.0
/// How those that follow files know how far their writer is: a small file beside them.
///
/// | the writer                  | does to NAME.writing         | a follower finds               |
/// |-----------------------------|------------------------------|--------------------------------|
/// | opens the series            | makes and locks it           | a lock: it is being written    |
/// | begins to change what says  | makes the count of changes   | odd: it may not be whole, so   |
/// | what is in a file           | odd                          | it looks again                 |
/// | has changed that            | makes that count even again  | another count: it looks again  |
/// | has finished a step         | notes its number             | steps up to that one are there |
/// | is about to change it, and  | waits a second at most       | that it is in time: it asks    |
/// | a follower asks for a rest  |                              | for that where it was late     |
/// | closes the series           | removes it, after the files  | none: nothing more will come   |
/// | fails                       | says why, lets go of the lock| no lock: the writer is gone    |
/// | is killed                   |                              | the same                       |
///
/// The lock is one of fcntl, which the kernel lets go of with the process, and which file systems
/// that are shared between hosts carry on. A follower asks for a rest by such a lock on the second
/// byte.
#pragma once

#include <cstdint>
#include <string>

namespace fluvial::store {

/// The writer's end: of one process, from the opening of a series to its close. Where the mark
/// cannot be made, it does nothing: nor will the files be, which says so.
class ProgressMark {
  public:
    /// Throws InvalidArgument when another writer has these files.
    explicit ProgressMark(const std::string& name);
    ProgressMark(const ProgressMark&) = delete;
    ProgressMark& operator=(const ProgressMark&) = delete;
    /// Without close() before, followers are told that the writer is gone.
    ~ProgressMark();

    /// While one exists, what says what is in the files may not be whole.
    class Changing {
      public:
        explicit Changing(ProgressMark& mark);
        Changing(const Changing&) = delete;
        Changing& operator=(const Changing&) = delete;
        ~Changing();

      private:
        ProgressMark& mark_;
    };

    /// Notes a step that is finished.
    void finish(std::uint64_t number);
    /// Says that no step will follow, though the files are not what they were to be.
    void fail(const std::string& why);
    /// Says that no step follows. Idempotent.
    void close();

  private:
    std::string counts() const;
    void count() const;
    void say(const std::string& what) const;
    void rest();
    void let_go();

    std::string path_;
    int file_ = -1;
    std::uint64_t changes_ = 0;
    std::uint64_t finished_ = 0;   ///< one more than the number of the last step that is finished
    bool rested_in_vain_ = false;  ///< for longer than there is; the follower may be stopped
};

/// What a follower finds.
struct Progress {
    enum class Writer {
        Writes,
        Gone,  ///< it was killed, or failed
        None   ///< it has closed the files, or leaves no mark because it is another program
    };
    Writer writer = Writer::None;
    std::uint64_t changes = 0;
    std::uint64_t finished = 0;  ///< one more than the number of the last step that is finished
    std::string said{};          ///< which program writes, or why it failed

    /// Whether what says what is in the files is not just being changed.
    bool whole() const { return changes % 2 == 0; }
    friend bool operator==(const Progress&, const Progress&) = default;
};

/// What the writer of these files has left beside them. Local.
Progress progress_of(const std::string& name);

/// While one exists, a writer on this or another host begins no change for up to a second; what it
/// had begun is waited for, for half of that.
class WriterRests {
  public:
    explicit WriterRests(const std::string& name);
    WriterRests(const WriterRests&) = delete;
    WriterRests& operator=(const WriterRests&) = delete;
    ~WriterRests();

  private:
    int file_;  ///< -1: there is no mark, or there are no locks, and the writer goes on
};

}  // namespace fluvial::store
