// SPDX-License-Identifier: Apache-2.0
/// Chunks of one input: located, read in the order of the file, decoded once.
#pragma once

#include <optional>
#include <vector>

#include "fluvial/scan/read_ahead.hpp"
#include "fluvial/scan/units.hpp"
#include "fluvial/store/chunk_decoder.hpp"

namespace fluvial::scan {

/// Owned by one lane; one thread. Memory: the read buffer, a stored and a decoded chunk.
class ChunkFetch {
  public:
    ChunkFetch(const Input& input, Index buffer_bytes, ReadAhead& reader, Stats& stats)
        : input_(input), buffer_bytes_(buffer_bytes), reader_(reader), stats_(stats) {}

    /// Sorts units, one a chunk, by where their chunks lie; neighbours are read in one go.
    void expect(std::vector<Unit>& units);
    /// The selected elements of `inside`, a region of the part, every stride-th along each axis. A
    /// view into what was decoded of the chunk, or a gathered copy when several chunks hold them.
    /// Regions of one chunk, one after the other, have it read once.
    /// `in_place`: the stored chunk is decoded from the system's memory where that has it.
    ArrayView fetch(int part, const Region& inside, const Coordinates& stride, bool in_place);
    /// Whether the last chunk came from there.
    bool was_in_place() const { return was_in_place_; }
    /// To be called when the reader looks elsewhere: a chunk may be kept in place.
    void forget_place();

    /// Elements that are read without their chunk: where they are, and the first of them.
    struct Direct {
        const store::InputFile& file;  ///< until the next call of anything
        store::Affine layout;
        Coordinates first;
    };
    /// Of a region inside of one chunk, if that is stored without filters and longer than a buffer;
    /// it is then for the caller to read. Throws DamagedFile.
    std::optional<Direct> direct(int part, const Region& inside);

  private:
    struct Expected {
        int part = 0;
        Coordinates cell;
        store::StoredChunk place;
    };

    const store::Chunked& layout(int part) const;
    const store::StoredChunk& locate(int part, const Coordinates& cell);
    /// The file that has a chunk, open until the next call.
    const store::InputFile& file_of(int part, const store::StoredChunk& place);
    void check_inside_file(int part, const store::StoredChunk& place,
                           const store::InputFile& file) const;
    /// The elements of `inside` of a chunk, as stored; valid until the next call.
    ArrayView chunk(int part, const Coordinates& cell, const Region& inside);
    std::span<const std::byte> stored_bytes(int part, const store::StoredChunk& place);
    ArrayView fill_view(int part, const Coordinates& extent) const;
    ArrayView gather(int part, const Region& inside, const Coordinates& first,
                     const Coordinates& last);

    const Input& input_;
    Index buffer_bytes_;
    ReadAhead& reader_;
    Stats& stats_;
    std::optional<store::ChunkDecoder> decoder_;  ///< of decoder_part_
    int decoder_part_ = -1;
    std::vector<Expected> expected_;            ///< in file order
    std::size_t next_ = 0;                      ///< of expected_
    Expected located_{-1, {}, {}};              ///< the last one
    std::optional<store::InputFile> own_file_;  ///< of the last chunk that has one
    std::vector<std::byte> raw_;                ///< bytes raw_begin_… of raw_file_ of raw_part_
    int raw_part_ = -1;
    std::string raw_file_;
    std::uint64_t raw_begin_ = 0, raw_end_ = 0;
    int cached_part_ = -1;  ///< what the decoder's result is of
    Coordinates cached_cell_;
    std::vector<std::byte> gathered_;
    bool in_place_ = false, was_in_place_ = false;  ///< wanted and had
};

}  // namespace fluvial::scan
