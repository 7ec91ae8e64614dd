// SPDX-License-Identifier: Apache-2.0
/// The libraries that undo a compressor's filter. A build may leave them out (CMake's options
/// FLUVIAL_DEFLATE, FLUVIAL_ZSTD and FLUVIAL_BLOSC).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "fluvial/store/layout.hpp"

namespace fluvial::store {

/// Keeps what its library needs from one stream to the next; one a thread.
class Decompressor {
  public:
    struct Outcome {
        std::size_t bytes = 0;
        std::string wrong = {};  ///< what the stream is instead; empty: it was sound
    };

    virtual ~Decompressor() = default;
    /// Undoes the stream `in` into the front of `out`. `exact`: it stands for out.size() bytes, no
    /// fewer. Throws std::bad_alloc.
    virtual Outcome run(std::span<const std::byte> in, std::span<std::byte> out, bool exact) = 0;
};

/// Whether it is the filter of a compressor, whose library undoes it.
bool compresses(Filter::Kind kind);
/// "-DFLUVIAL_DEFLATE=ON": what builds the library of a compressor's filter in.
std::string option_of(Filter::Kind kind);
/// Whether this build can undo the filter.
bool is_built(Filter::Kind kind);

/// A decompressor of Deflate, Gzip, Zstd or Blosc. Throws InvalidArgument with the option of CMake
/// when the build leaves it out.
std::unique_ptr<Decompressor> make_decompressor(Filter::Kind kind);

// deflate.cpp, zstd.cpp and blosc.cpp, where they are built.
std::unique_ptr<Decompressor> make_deflate_decompressor();
std::unique_ptr<Decompressor> make_gzip_decompressor();
std::unique_ptr<Decompressor> make_zstd_decompressor();
std::unique_ptr<Decompressor> make_blosc_decompressor();

}  // namespace fluvial::store
