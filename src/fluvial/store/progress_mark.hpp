// SPDX-License-Identifier: Apache-2.0
/// How programs that follow files know how far their writer is: a small file beside them,
/// NAME.writing. The table of what writers do and followers find is in
/// python/fluvial/store/progress_mark.py, which does the same from Python.
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

}  // namespace fluvial::store
