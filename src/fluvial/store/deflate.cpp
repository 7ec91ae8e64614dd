// SPDX-License-Identifier: Apache-2.0
#include <new>

#include <libdeflate.h>

#include "fluvial/store/decompressor.hpp"

namespace fluvial::store {
namespace {

/// What is wrong with a stream of which libdeflate says this.
const char* wrong_of(libdeflate_result result, const char* format) {
    switch (result) {
        case LIBDEFLATE_SUCCESS:
            return "";
        case LIBDEFLATE_BAD_DATA:
            return format;
        case LIBDEFLATE_SHORT_OUTPUT:
            return "a stream of fewer bytes";
        case LIBDEFLATE_INSUFFICIENT_SPACE:
            break;
    }
    return "a stream of more bytes";
}

class Libdeflate {
  public:
    /// Throws std::bad_alloc.
    libdeflate_decompressor* get() const {
        if (tool_ == nullptr) {
            throw std::bad_alloc();
        }
        return tool_.get();
    }

  private:
    std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> tool_{
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor};
};

class Deflate final : public Decompressor {
  public:
    Outcome run(std::span<const std::byte> in, std::span<std::byte> out, bool exact) override {
        std::size_t got = out.size();
        const auto result = libdeflate_zlib_decompress(
            library_.get(), in.data(), in.size(), out.data(), out.size(), exact ? nullptr : &got);
        return {got, wrong_of(result, "bytes that are no zlib stream")};
    }

  private:
    Libdeflate library_;
};

class Gzip final : public Decompressor {
  public:
    /// A stream has one member, or several one behind the other.
    Outcome run(std::span<const std::byte> in, std::span<std::byte> out, bool exact) override {
        std::size_t read = 0, got = 0;
        do {
            std::size_t in_member = 0, of_member = 0;
            const auto result = libdeflate_gzip_decompress_ex(
                library_.get(), in.data() + read, in.size() - read, out.data() + got,
                out.size() - got, &in_member, &of_member);
            if (result != LIBDEFLATE_SUCCESS) {
                return {0, wrong_of(result, "bytes that are no gzip stream")};
            }
            read += in_member;
            got += of_member;
        } while (read < in.size());
        if (exact && got < out.size()) {
            return {0, wrong_of(LIBDEFLATE_SHORT_OUTPUT, "")};
        }
        return {got};
    }

  private:
    Libdeflate library_;
};

}  // namespace

std::unique_ptr<Decompressor> make_deflate_decompressor() {
    return std::make_unique<Deflate>();
}

std::unique_ptr<Decompressor> make_gzip_decompressor() {
    return std::make_unique<Gzip>();
}

}  // namespace fluvial::store
