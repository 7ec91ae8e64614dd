// SPDX-License-Identifier: Apache-2.0
#include <new>

#include <zstd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/decompressor.hpp"

namespace fluvial::store {
namespace {

class Zstd final : public Decompressor {
  public:
    Outcome run(std::span<const std::byte> in, std::span<std::byte> out, bool exact) override {
        if (tool_ == nullptr) {
            throw std::bad_alloc();
        }
        const std::size_t got =
            ZSTD_decompressDCtx(tool_.get(), out.data(), out.size(), in.data(), in.size());
        if (ZSTD_isError(got) != 0) {
            return {0, ZSTD_getErrorName(got)};
        }
        if (exact && got != out.size()) {
            return {0, text(got, " bytes")};
        }
        return {got};
    }

  private:
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> tool_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() {
    return std::make_unique<Zstd>();
}

}  // namespace fluvial::store
