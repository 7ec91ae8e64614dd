// SPDX-License-Identifier: Apache-2.0
#include <blosc.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/decompressor.hpp"

namespace fluvial::store {
namespace {

class Blosc final : public Decompressor {
  public:
    Outcome run(std::span<const std::byte> in, std::span<std::byte> out, bool exact) override {
        std::size_t bytes = 0;  // as the header says
        if (blosc_cbuffer_validate(in.data(), in.size(), &bytes) != 0) {
            return {0, "bytes that are no whole buffer of blosc"};
        }
        if (bytes > out.size() || (exact && bytes < out.size())) {
            return {0, text("a buffer of ", bytes, " bytes")};
        }
        constexpr int threads = 1;  // each of ours decodes chunks
        const int got = blosc_decompress_ctx(in.data(), out.data(), out.size(), threads);
        if (got < 0 || static_cast<std::size_t>(got) != bytes) {
            return {0, "blocks that cannot be undone"};
        }
        return {bytes};
    }
};

}  // namespace

std::unique_ptr<Decompressor> make_blosc_decompressor() {
    return std::make_unique<Blosc>();
}

}  // namespace fluvial::store
