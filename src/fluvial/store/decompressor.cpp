// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/decompressor.hpp"

#include "fluvial/base/assert.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

using Make = std::unique_ptr<Decompressor> (*)();

struct FilterLibrary {
    const char* filter;
    const char* option;
    Make make;  ///< null: left out
};

#ifdef FLUVIAL_WITH_DEFLATE
constexpr FilterLibrary deflate = {"deflate", "FLUVIAL_DEFLATE", make_deflate_decompressor};
constexpr FilterLibrary gzip = {"gzip", "FLUVIAL_DEFLATE", make_gzip_decompressor};
#else
constexpr FilterLibrary deflate = {"deflate", "FLUVIAL_DEFLATE", nullptr};
constexpr FilterLibrary gzip = {"gzip", "FLUVIAL_DEFLATE", nullptr};
#endif
#ifdef FLUVIAL_WITH_ZSTD
constexpr FilterLibrary zstd = {"zstd", "FLUVIAL_ZSTD", make_zstd_decompressor};
#else
constexpr FilterLibrary zstd = {"zstd", "FLUVIAL_ZSTD", nullptr};
#endif
#ifdef FLUVIAL_WITH_BLOSC
constexpr FilterLibrary blosc = {"blosc", "FLUVIAL_BLOSC", make_blosc_decompressor};
#else
constexpr FilterLibrary blosc = {"blosc", "FLUVIAL_BLOSC", nullptr};
#endif

/// Null for a filter that needs none.
const FilterLibrary* library_of(Filter::Kind kind) {
    switch (kind) {
        case Filter::Kind::Deflate:
            return &deflate;
        case Filter::Kind::Gzip:
            return &gzip;
        case Filter::Kind::Zstd:
            return &zstd;
        case Filter::Kind::Blosc:
            return &blosc;
        case Filter::Kind::Shuffle:
        case Filter::Kind::Fletcher32:
        case Filter::Kind::Crc32c:
        case Filter::Kind::Transpose:
            break;
    }
    return nullptr;
}

}  // namespace

bool compresses(Filter::Kind kind) {
    return library_of(kind) != nullptr;
}

std::string option_of(Filter::Kind kind) {
    FLUVIAL_ASSERT(compresses(kind), "no compressor's filter");
    return text("-D", library_of(kind)->option, "=ON");
}

bool is_built(Filter::Kind kind) {
    return !compresses(kind) || library_of(kind)->make != nullptr;
}

std::unique_ptr<Decompressor> make_decompressor(Filter::Kind kind) {
    FLUVIAL_ASSERT(compresses(kind), "no compressor's filter");
    const FilterLibrary& library = *library_of(kind);
    if (library.make == nullptr) {
        throw InvalidArgument(
            Problem{"chunks are encoded by a filter that this build of Fluvial leaves out",
                    library.filter, "", "Build Fluvial with " + option_of(kind)});
    }
    return library.make();
}

}  // namespace fluvial::store
