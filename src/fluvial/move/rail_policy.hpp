// SPDX-License-Identifier: Apache-2.0
/// Whether a read comes sooner over all rails or over one alone. Where the networks are the limit
/// it is all of them; where the cores are that serve them, more rails are only more work. It
/// depends on how much is read, and on what else the machine does, so both are tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fluvial/base/trial.hpp"

namespace fluvial::move {

/// A Trial for reads of about the same size: five of them each way by turns, then the way of the
/// fastest, and the other once in a while, ever more seldom while it stays slower.
class RailPolicy {
  public:
    enum class Over { All, One };  ///< the ways of the Trials, in their order

    RailPolicy();
    /// For the next read of so many bytes.
    Over next(std::uint64_t bytes) const;
    /// Such a read goes on over one rail, which has brought so much in that time: clearly less than
    /// all would have, so they had better help.
    bool hopeless(std::uint64_t bytes, std::uint64_t brought, double seconds) const;
    /// So much of such a read took so long. Of one that others had to help, for which
    /// the first trial is enough to know: what had come until then. What did not go as next() said
    /// does not count.
    void took(Over over, std::uint64_t bytes, std::uint64_t brought, double seconds);

  private:
    std::vector<Trial> trials_;  ///< in reads, whose cost is seconds a byte
};

}  // namespace fluvial::move
