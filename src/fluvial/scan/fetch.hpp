// SPDX-License-Identifier: Apache-2.0
/// Brings boxes of one input from disk into memory: each byte once, in file order.
#pragma once

#include <vector>

#include "fluvial/scan/chunk_fetch.hpp"
#include "fluvial/scan/read_ahead.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {

/// Owned by one lane; one thread.
class Fetch {
  public:
    /// `input` and `stats` must outlive this object.
    Fetch(const Input& input, const Selection& selection, Index buffer_bytes,
          Index read_ahead_bytes, Index window_bytes, Stats& stats);
    Fetch(const Fetch&) = delete;
    Fetch& operator=(const Fetch&) = delete;

    /// Announces the units that fetch() will be called for next, and puts them into the order of
    /// the file. For the input that the grid was made of; others fetch what they are told.
    void expect(std::vector<Unit>& units);
    /// The elements of the unit's box, as stored (maybe swapped). Valid until the next call.
    /// Blocking. Throws DamagedFile, SystemError. `in_place`: as they are in the system's memory
    /// where it has them and can show them.
    ArrayView fetch(const Unit& unit, bool in_place);
    /// Whether the last fetch() looked at the system's memory.
    bool was_in_place() const { return was_in_place_; }
    /// To be called when what fetch() gave has been used. Throws DamagedFile when it was cut off
    /// meanwhile.
    void check() const { reader_.check(); }

  private:
    ArrayView affine(const store::InputFile& file, DType dtype, const store::Affine& layout,
                     const Coordinates& first, const Coordinates& extent);
    ArrayView by_library(const store::Dataset& dataset, const Region& inside);

    const Input& input_;
    Selection selection_;
    std::vector<Index> begins_;
    Index buffer_bytes_;
    ReadAhead reader_;
    ChunkFetch chunks_;
    std::vector<std::byte> buffer_;
    bool in_place_ = false, was_in_place_ = false;  ///< wanted and had
};

}  // namespace fluvial::scan
