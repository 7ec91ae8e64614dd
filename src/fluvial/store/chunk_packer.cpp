// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/chunk_packer.hpp"

#include <algorithm>
#include <new>

#ifdef FLUVIAL_WITH_DEFLATE
#include <libdeflate.h>
#endif

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint32_t deflate_left_out = 1U << 1;  // the second filter
constexpr std::size_t block = 4096;                  // elements whose bytes stay in the cache

/// The width is known when this is compiled, so that the loop over it is unrolled.
template <std::size_t width>
void shuffle_elements(const std::byte* elements, std::size_t count, std::byte* planes) {
    for (std::size_t begin = 0; begin < count; begin += block) {
        const std::size_t end = std::min(begin + block, count);
        for (std::size_t byte = 0; byte < width; ++byte) {
            std::byte* const plane = planes + byte * count;
            for (std::size_t i = begin; i < end; ++i) {
                plane[i] = elements[i * width + byte];
            }
        }
    }
}

}  // namespace

void shuffle(std::span<const std::byte> elements, std::size_t element_bytes,
             std::span<std::byte> planes) {
    const std::size_t count = elements.size() / element_bytes;
    switch (element_bytes) {
        case 2:
            shuffle_elements<2>(elements.data(), count, planes.data());
            break;
        case 4:
            shuffle_elements<4>(elements.data(), count, planes.data());
            break;
        case 8:
            shuffle_elements<8>(elements.data(), count, planes.data());
            break;
        case 16:
            shuffle_elements<16>(elements.data(), count, planes.data());
            break;
        default:
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t byte = 0; byte < element_bytes; ++byte) {
                    planes[byte * count + i] = elements[i * element_bytes + byte];
                }
            }
    }
    const std::size_t done = count * element_bytes;
    std::copy(elements.begin() + static_cast<std::ptrdiff_t>(done), elements.end(),
              planes.begin() + static_cast<std::ptrdiff_t>(done));
}

#ifdef FLUVIAL_WITH_DEFLATE

struct ChunkPacker::Library {
    explicit Library(int level)
        : tool(libdeflate_alloc_compressor(level), &libdeflate_free_compressor) {
        if (tool == nullptr) {
            throw std::bad_alloc();
        }
    }
    std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> tool;
};

ChunkPacker::ChunkPacker(int level) : library_(std::make_unique<Library>(level)) {}

ChunkPacker::Packed ChunkPacker::pack(std::span<const std::byte> elements,
                                      std::size_t element_bytes) {
    shuffled_.resize(elements.size());
    shuffle(elements, element_bytes, shuffled_);
    Packed packed;
    packed.bytes.resize(elements.size());
    const std::size_t bytes =
        libdeflate_zlib_compress(library_->tool.get(), shuffled_.data(), shuffled_.size(),
                                 packed.bytes.data(), packed.bytes.size());
    if (bytes == 0) {  // it needs more room than the elements themselves
        packed.bytes = shuffled_;
        packed.filters_left_out = deflate_left_out;
    } else {
        packed.bytes.resize(bytes);
        packed.bytes.shrink_to_fit();
    }
    return packed;
}

#else

struct ChunkPacker::Library {};

ChunkPacker::ChunkPacker(int level) {
    throw InvalidArgument(Problem{"this build of Fluvial does not deflate", text("level ", level),
                                  "no compression", "Build it with FLUVIAL_DEFLATE=ON"});
}

ChunkPacker::Packed ChunkPacker::pack(std::span<const std::byte>, std::size_t) {
    return {};
}

#endif

ChunkPacker::~ChunkPacker() = default;

}  // namespace fluvial::store
