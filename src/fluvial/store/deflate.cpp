// SPDX-License-Identifier: Apache-2.0
#include <new>

#include <libdeflate.h>

#include "fluvial/store/decompressor.hpp"

namespace fluvial::store {
namespace {

class Deflate final : public Decompressor {
  public:
    Outcome run(std::span<const std::byte> in, std::span<std::byte> out, bool exact) override {
        if (tool_ == nullptr) {
            throw std::bad_alloc();
        }
        std::size_t got = out.size();
        switch (libdeflate_zlib_decompress(tool_.get(), in.data(), in.size(), out.data(),
                                           out.size(), exact ? nullptr : &got)) {
            case LIBDEFLATE_SUCCESS:
                return {got};
            case LIBDEFLATE_BAD_DATA:
                return {0, "bytes that are no zlib stream"};
            case LIBDEFLATE_SHORT_OUTPUT:
                return {0, "a stream of fewer bytes"};
            case LIBDEFLATE_INSUFFICIENT_SPACE:
                break;
        }
        return {0, "a stream of more bytes"};
    }

  private:
    std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> tool_{
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor};
};

}  // namespace

std::unique_ptr<Decompressor> make_deflate_decompressor() {
    return std::make_unique<Deflate>();
}

}  // namespace fluvial::store
