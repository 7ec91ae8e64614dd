// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/chunk_decoder.hpp"

#include <algorithm>
#include <map>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/store/crc32c.hpp"
#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/fletcher32.hpp"
#include "fluvial/store/unshuffle.hpp"

namespace fluvial::store {

struct ChunkDecoder::Tools {
    struct Scratch {
        std::unique_ptr<std::byte[]> memory;
        std::size_t bytes = 0;
    };
    Scratch scratch[2];
    std::map<Filter::Kind, std::unique_ptr<Decompressor>> of_filter;  ///< where it needs one
};

namespace {

constexpr std::size_t checksum_bytes = 4;

[[noreturn]] void damaged(const std::string& what, Filter::Kind filter, const std::string& seen,
                          const std::string& wanted) {
    throw DamagedFile(Problem{text(what, " is damaged (filter ", name_of(filter), ")"), seen,
                              wanted, "Copy or write the file again"});
}

/// How many bytes a compressor's stream can stand for. Throws before memory is taken for more.
std::size_t bytes_wanted(std::size_t stored, std::size_t bytes, bool exact, Filter::Kind filter,
                         const std::string& what) {
    // Deflate: 258 bytes in 2 bits (RFC 1951, section 3.2.5). Zstd: a block of 128 KiB in 4 bytes
    // (RFC 8878, section 3.1.1.2).
    // Blosc's blocks are zstd at the most.
    const bool zstd = filter == Filter::Kind::Zstd || filter == Filter::Kind::Blosc;
    const std::size_t ratio = zstd ? 32768 : 1032;
    const std::size_t most = stored * ratio;
    if (exact && bytes > most) {
        damaged(what, filter, text("a stream of ", stored, " bytes"),
                text("one that is long enough for ", bytes, " bytes"));
    }
    return std::min(bytes, most);
}

bool left_out(std::uint32_t filters_left_out, std::size_t filter) {
    return filter < 32 && (filters_left_out >> filter & 1) != 0;
}

bool is_checksum(Filter::Kind kind) {
    return kind == Filter::Kind::Fletcher32 || kind == Filter::Kind::Crc32c;
}

/// What the checksum behind them covers.
std::span<const std::byte> checked(std::span<const std::byte> in, Filter::Kind kind,
                                   const std::string& what) {
    if (in.size() < checksum_bytes) {
        damaged(what, kind, text(in.size(), " bytes"), "a checksum of 4 bytes behind the data");
    }
    const auto data = in.first(in.size() - checksum_bytes);
    std::uint32_t stored = 0;
    for (std::size_t i = 0; i < checksum_bytes; ++i) {
        stored |= std::to_integer<std::uint32_t>(in[data.size() + i]) << (8 * i);
    }
    const bool fletcher = kind == Filter::Kind::Fletcher32;
    const std::uint32_t sum = fletcher ? fletcher32(data) : crc32c(data);
    // HDF5 up to 1.6.2 swapped the bytes of both halves on little-endian machines, and newer
    // versions accept that.
    const std::uint32_t old_sum = (sum & 0x00ff00ffU) << 8 | (sum >> 8 & 0x00ff00ffU);
    if (stored != sum && !(fletcher && stored == old_sum)) {
        damaged(what, kind, text("checksum ", stored, " in the file"),
                text(sum, " as its data have it"));
    }
    return data;
}

}  // namespace

const char* name_of(Filter::Kind kind) {
    switch (kind) {
        case Filter::Kind::Deflate:
            return "deflate";
        case Filter::Kind::Shuffle:
            return "shuffle";
        case Filter::Kind::Fletcher32:
            return "fletcher32";
        case Filter::Kind::Zstd:
            return "zstd";
        case Filter::Kind::Gzip:
            return "gzip";
        case Filter::Kind::Blosc:
            return "blosc";
        case Filter::Kind::Crc32c:
            return "crc32c";
        case Filter::Kind::Transpose:
            return "transpose";
    }
    return "unknown";
}

ChunkDecoder::ChunkDecoder(const Chunked& layout, DType dtype)
    : filters_(layout.filters),
      chunk_(layout.chunk),
      dtype_(dtype),
      chunk_bytes_(static_cast<std::size_t>(volume_of(layout.chunk)) * size_of(dtype)),
      element_bytes_(size_of(dtype)),
      tools_(std::make_unique<Tools>()) {
    for (const Filter& filter : filters_) {
        if (compresses(filter.kind)) {
            tools_->of_filter.try_emplace(filter.kind, make_decompressor(filter.kind));
        }
    }
}

ChunkDecoder::ChunkDecoder(ChunkDecoder&&) noexcept = default;
ChunkDecoder& ChunkDecoder::operator=(ChunkDecoder&&) noexcept = default;
ChunkDecoder::~ChunkDecoder() = default;

std::span<const std::byte> ChunkDecoder::decode(std::span<const std::byte> stored,
                                                std::uint32_t filters_left_out,
                                                const std::string& what) {
    return undo(stored, filters_left_out, 0, what);
}

void ChunkDecoder::decode_apart(std::span<const std::byte> stored, std::uint32_t filters_left_out,
                                const std::string& what) {
    shuffled_ = !filters_.empty() && filters_[0].kind == Filter::Kind::Shuffle &&
                filters_[0].element_bytes == element_bytes_ && !left_out(filters_left_out, 0);
    apart_ = undo(stored, filters_left_out, shuffled_ ? 1 : 0, what);
}

std::span<const std::byte> ChunkDecoder::elements(std::size_t first, std::size_t count) {
    const std::size_t bytes = count * element_bytes_;
    if (!shuffled_) {
        return apart_.subspan(first * element_bytes_, bytes);
    }
    const auto out = other_scratch(apart_, bytes);
    unshuffle_part(apart_, element_bytes_, first, count, out.data());
    return out;
}

std::span<const std::byte> ChunkDecoder::undo(std::span<const std::byte> stored,
                                              std::uint32_t filters_left_out, std::size_t kept,
                                              const std::string& what) {
    // Lengths before each filter, as the writer had them.
    std::vector<Length> before;
    before.reserve(filters_.size());
    Length length{chunk_bytes_, true};
    for (std::size_t i = 0; i < filters_.size(); ++i) {
        before.push_back(length);
        const Filter::Kind kind = filters_[i].kind;
        if (left_out(filters_left_out, i) || !(compresses(kind) || is_checksum(kind))) {
            continue;
        }
        length = is_checksum(kind) ? Length{length.bytes + checksum_bytes, length.exact}
                                   : Length{length.bytes + length.bytes / 256 + 1024, false};
    }
    std::span<const std::byte> now = stored;
    for (std::size_t i = filters_.size(); i-- > kept;) {
        if (left_out(filters_left_out, i)) {
            continue;
        }
        switch (filters_[i].kind) {
            case Filter::Kind::Deflate:
            case Filter::Kind::Gzip:
            case Filter::Kind::Zstd:
            case Filter::Kind::Blosc:
                now = decompress(now, before[i], filters_[i].kind, what);
                break;
            case Filter::Kind::Fletcher32:
            case Filter::Kind::Crc32c:
                now = checked(now, filters_[i].kind, what);
                break;
            case Filter::Kind::Transpose:
                now = in_order(now, filters_[i], what);
                break;
            case Filter::Kind::Shuffle:
                if (now.size() > before[i].bytes) {
                    damaged(what, Filter::Kind::Shuffle, text(now.size(), " bytes"),
                            text(before[i].bytes));
                }
                const auto out = other_scratch(now, now.size());
                unshuffle(now, filters_[i].element_bytes, out);
                now = out;
                break;
        }
    }
    check_whole(now, what);
    return now;
}

void ChunkDecoder::check_whole(std::span<const std::byte> decoded, const std::string& what) const {
    if (decoded.size() != chunk_bytes_) {
        throw DamagedFile(Problem{what + " is damaged", text(decoded.size(), " bytes"),
                                  text(chunk_bytes_, " bytes, a whole chunk"),
                                  "Copy or write the file again"});
    }
}

std::span<const std::byte> ChunkDecoder::in_order(std::span<const std::byte> stored,
                                                  const Filter& filter, const std::string& what) {
    check_whole(stored, what);
    Coordinates extent = chunk_;  // as it is stored
    for (int axis = 0; axis < extent.size(); ++axis) {
        extent[axis] = chunk_[static_cast<int>(filter.axes[axis])];
    }
    const Coordinates steps = contiguous_strides(extent, element_bytes_);
    Coordinates strides = steps;
    for (int axis = 0; axis < extent.size(); ++axis) {
        strides[static_cast<int>(filter.axes[axis])] = steps[axis];
    }
    const auto out = other_scratch(stored, stored.size());
    copy(ArrayView(stored.data(), dtype_, chunk_, strides),
         {out.data(), dtype_, chunk_, contiguous_strides(chunk_, element_bytes_)});
    return out;
}

std::span<const std::byte> ChunkDecoder::decompress(std::span<const std::byte> in, Length out,
                                                    Filter::Kind kind, const std::string& what) {
    const auto to = other_scratch(in, bytes_wanted(in.size(), out.bytes, out.exact, kind, what));
    const auto got = tools_->of_filter.at(kind)->run(in, to, out.exact);
    if (!got.wrong.empty()) {
        const char* const stream = kind == Filter::Kind::Deflate ? "a zlib stream of "
                                   : kind == Filter::Kind::Gzip  ? "a gzip stream of "
                                   : kind == Filter::Kind::Zstd  ? "a zstd frame of "
                                                                 : "a buffer of blosc of ";
        damaged(what, kind, got.wrong, text(stream, out.bytes, " bytes"));
    }
    return to.first(got.bytes);
}

std::span<std::byte> ChunkDecoder::other_scratch(std::span<const std::byte> than,
                                                 std::size_t bytes) {
    const std::byte* first = tools_->scratch[0].memory.get();
    const bool in_first = first != nullptr && than.data() == first;
    Tools::Scratch& scratch = tools_->scratch[in_first ? 1 : 0];
    if (scratch.bytes < bytes || scratch.memory == nullptr) {
        scratch.memory.reset();
        scratch.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
        scratch.bytes = bytes;
    }
    return {scratch.memory.get(), bytes};
}

}  // namespace fluvial::store
