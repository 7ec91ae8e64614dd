// SPDX-License-Identifier: Apache-2.0
/// Whether a scan copies what the page cache has or looks at it in place: which of the two is
/// faster depends on the machine, on how large the system's pages are, and on what is computed.
#pragma once

#include "fluvial/base/trial.hpp"
#include "fluvial/scan/scan.hpp"

namespace fluvial::scan {

/// Copy where this process's environment variable FLUVIAL_FILE_ACCESS says "copy", else as wanted.
/// Throws InvalidArgument when it says anything else.
Options::Access permitted(Options::Access wanted);

/// A Trial of both, in bytes. One lane's; one thread.
class AccessChoice {
  public:
    explicit AccessChoice(Options::Access access);

    /// How the next piece is to be read.
    bool in_place() const {
        return access_ == Options::Access::Chosen ? trial_.way() == way_in_place
                                                  : access_ != Options::Access::Copy;
    }
    /// What a piece cost, read as in_place() said, and computed with.
    void took(Index bytes, std::int64_t ns);

    static constexpr Index round_bytes = Index{2} << 20;
    static constexpr int rounds = 6;  ///< three of each: one may have to wait for a processor
    static constexpr Index rest_bytes = Index{512} << 20;  ///< 40 times as long as a trial

  private:
    static constexpr int way_in_place = 0;

    Options::Access access_;
    Trial trial_;
};

}  // namespace fluvial::scan
