// SPDX-License-Identifier: Apache-2.0
/// What the system holds of a file in its page cache, looked at in place: no copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// A window that slides over files; one thread at a time. Pages that go while they are looked at (a
/// file cut short, a failing disk) make a bus error: a handler that every process with a window has
/// puts zeros in their place and tells this window. Errors elsewhere go to the handler before ours.
class MappedWindow {
  public:
    /// Local. Maps nothing yet. `bytes`: mapped at once, from where is asked; more where more is.
    explicit MappedWindow(std::uint64_t bytes);
    MappedWindow(const MappedWindow&) = delete;
    MappedWindow& operator=(const MappedWindow&) = delete;
    ~MappedWindow();

    /// Where bytes [offset, offset + bytes) of `file`, some at least, are in memory; valid until
    /// the next call. None where the system cannot map them, does not say whether it has them
    /// already, or does not have them: then they are to be read. What is written to this memory
    /// does not come into the file. Local.
    const std::byte* map(const InputFile& file, std::uint64_t offset, std::uint64_t bytes);
    /// Whether windows get in no other code's way: there is no handler of bus errors but ours.
    /// Where there is one, a window is for callers alone that ask for it. Local.
    static bool disturbs_no_handler();
    /// Whether any memory that was given out has become zeros. Local.
    bool broken() const;

  private:
    struct Slot;
    friend class BusErrors;

    void unmap();

    std::uint64_t bytes_;
    Slot* slot_;  ///< none: too many windows at once
    std::uint64_t device_ = 0, inode_ = 0;
    std::uint64_t begin_ = 0, end_ = 0;  ///< in the file
    std::byte* memory_ = nullptr;        ///< of begin_
};

}  // namespace fluvial::store
