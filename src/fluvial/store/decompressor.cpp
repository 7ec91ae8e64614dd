// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/decompressor.hpp"

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

using Make = std::unique_ptr<Decompressor> (*)();

struct Library {
    const char* filter;
    const char* option;
    Make make;  ///< null: left out
};

#ifdef FLUVIAL_WITH_DEFLATE
constexpr Library deflate = {"deflate", "FLUVIAL_DEFLATE", make_deflate_decompressor};
#else
constexpr Library deflate = {"deflate", "FLUVIAL_DEFLATE", nullptr};
#endif
#ifdef FLUVIAL_WITH_ZSTD
constexpr Library zstd = {"zstd", "FLUVIAL_ZSTD", make_zstd_decompressor};
#else
constexpr Library zstd = {"zstd", "FLUVIAL_ZSTD", nullptr};
#endif

const Library& library_of(Filter::Kind kind) {
    return kind == Filter::Kind::Deflate ? deflate : zstd;
}

}  // namespace

bool is_built(Filter::Kind kind) {
    const bool needs_none = kind == Filter::Kind::Shuffle || kind == Filter::Kind::Fletcher32;
    return needs_none || library_of(kind).make != nullptr;
}

std::unique_ptr<Decompressor> make_decompressor(Filter::Kind kind) {
    const Library& library = library_of(kind);
    if (library.make == nullptr) {
        throw InvalidArgument(
            Problem{"chunks are encoded by a filter that this build of Fluvial leaves out",
                    library.filter, "", text("Build Fluvial with -D", library.option, "=ON")});
    }
    return library.make();
}

}  // namespace fluvial::store
