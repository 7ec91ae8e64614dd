// SPDX-License-Identifier: Apache-2.0
/// Whether a scan copies what the page cache has or looks at it in place: which of the two is
/// faster depends on the machine, on how large the system's pages are, and on what is computed.
#pragma once

#include <array>

#include "fluvial/scan/scan.hpp"

namespace fluvial::scan {

/// Copy where this process's environment variable FLUVIAL_FILE_ACCESS says "copy", else as wanted.
/// Throws InvalidArgument when it says anything else.
Options::Access permitted(Options::Access wanted);

/// Tries both in turn for some MiB, stays with the faster one for much longer, and tries again. One
/// lane's; one thread.
class AccessChoice {
  public:
    explicit AccessChoice(Options::Access access);

    /// How the next piece is to be read.
    bool in_place() const { return in_place_; }
    /// What a piece cost, read as in_place() said, and computed with.
    void took(Index bytes, std::int64_t ns);

    static constexpr Index round_bytes = Index{2} << 20;
    static constexpr int rounds = 6;  ///< of a trial, every other one in place
    static constexpr Index rest_bytes = Index{512} << 20;

  private:
    bool fixed_;
    bool in_place_;
    int round_ = 0;  ///< of the trial; `rounds`: it is over
    Index bytes_ = 0;
    std::int64_t ns_ = 0;
    std::array<double, 2> best_{};  ///< ns a byte of the fastest round, copied and in place
};

}  // namespace fluvial::scan
