// SPDX-License-Identifier: Apache-2.0
/// For tests: folders of Zarr that are made by hand, of either version.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "fluvial/describe/index_walk.hpp"
#include "fluvial/store/chunk_packer.hpp"
#include "fluvial/store/zarr/metadata.hpp"

namespace fluvial::store {

struct MadeArray {
    DType dtype = DType::Float64;
    Coordinates shape, chunk;
    std::vector<std::string> dimensions = {};
    std::string attributes = "";  ///< members of the object, without its braces
    std::string fill_value = "0";
    bool big_endian = false;
    bool packed = false;   ///< by shuffle and zlib
    bool turned = false;   ///< the axes of a chunk from the last to the first: order F
    bool slashes = false;  ///< between the numbers of a chunk's key
    std::function<bool(const Coordinates&)> left_out = {};  ///< chunks that have no file
};

/// Deleted with the object; the same name in a folder of each process.
class ZarrFixture {
  public:
    explicit ZarrFixture(int version, const std::string& name = "made.zarr") : version_(version) {
        static int count = 0;
        const auto folder = text("fluvial_zarr_", ::getpid(), "_", count++);
        above_ = std::filesystem::temp_directory_path() / folder;
        path_ = above_ / name;
        group("");
    }
    ZarrFixture(const ZarrFixture&) = delete;
    ZarrFixture& operator=(const ZarrFixture&) = delete;
    ~ZarrFixture() { std::filesystem::remove_all(above_); }

    std::string path() const { return path_.string(); }

    /// A file below the folder.
    void write(const std::string& file, std::string_view content) const {
        std::filesystem::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file, std::ios::binary)
            .write(content.data(), static_cast<std::streamsize>(content.size()));
    }
    void remove(const std::string& file) const { std::filesystem::remove(path_ / file); }

    void group(const std::string& name, const std::string& attributes = "") const {
        const std::string folder = name.empty() ? "" : name + "/";
        if (version_ == 3) {
            write(
                folder + "zarr.json",
                R"({"zarr_format": 3, "node_type": "group", "attributes": {)" + attributes + "}}");
        } else {
            write(folder + ".zgroup", R"({"zarr_format": 2})");
            write(folder + ".zattrs", "{" + attributes + "}");
        }
    }

    /// `value`: of each element by its number in row-major order.
    void array(const std::string& name, const MadeArray& made,
               const std::function<double(Index)>& value) const {
        if (version_ == 3) {
            write(name + "/zarr.json", metadata3(made));
        } else {
            write(name + "/.zarray", metadata2(made));
            write(name + "/.zattrs", attributes2(made));
        }
        Coordinates cells = made.shape;
        for (int axis = 0; axis < cells.size(); ++axis) {
            cells[axis] = (cells[axis] + made.chunk[axis] - 1) / made.chunk[axis];
        }
        const ZarrChunkKeys keys{version_ == 3, made.slashes ? '/' : '.'};
        for_each_index(cells, [&](const Coordinates& cell) {
            if (!made.left_out || !made.left_out(cell)) {
                write(name + "/" + keys.of(cell), chunk(made, cell, value));
            }
        });
    }

    /// As JSON has them, for tests that change a part of it.
    std::string metadata3(const MadeArray& made) const {
        Coordinates axes = made.shape;
        for (int axis = 0; axis < axes.size(); ++axis) {
            axes[axis] = axes.size() - 1 - axis;
        }
        return text(
            R"({"zarr_format": 3, "node_type": "array", "shape": )", list(made.shape),
            R"(, "data_type": ")", name_of(made.dtype),
            R"(", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": )",
            list(made.chunk),
            R"(}}, "chunk_key_encoding": {"name": "default", "configuration": {"separator": ")",
            made.slashes ? "/" : ".", R"("}}, "fill_value": )", made.fill_value, R"(, "codecs": [)",
            made.turned
                ? text(R"({"name": "transpose", "configuration": {"order": )", list(axes), "}}, ")
                : "",
            R"({"name": "bytes", "configuration": {"endian": ")",
            made.big_endian ? "big" : "little", R"("}})",
            made.packed
                ? text(R"(, {"name": "numcodecs.shuffle", "configuration": {"elementsize": )",
                       size_of(made.dtype), R"(}}, {"name": "numcodecs.zlib"})")
                : "",
            R"(], "attributes": {)", made.attributes, "}, ", R"("dimension_names": )",
            names(made.dimensions), "}");
    }
    std::string metadata2(const MadeArray& made) const {
        const std::string_view name = name_of(made.dtype);
        const char kind = name[0];
        const std::size_t bytes = size_of(made.dtype);
        return text(
            R"({"zarr_format": 2, "shape": )", list(made.shape), R"(, "chunks": )",
            list(made.chunk), R"(, "dtype": ")",
            bytes == 1        ? "|"
            : made.big_endian ? ">"
                              : "<",
            kind, bytes, R"(", "fill_value": )", made.fill_value, R"(, "order": ")",
            made.turned ? "F" : "C", R"(", "filters": )",
            made.packed ? text(R"([{"id": "shuffle", "elementsize": )", bytes, "}]") : "null",
            R"(, "compressor": )", made.packed ? R"({"id": "zlib", "level": 6})" : "null",
            R"(, "dimension_separator": ")", made.slashes ? "/" : ".", R"("})");
    }

  private:
    static std::string list(const Coordinates& numbers) {
        std::string words = text(numbers);
        words.front() = '[';
        words.erase(words.size() - 1);
        if (words.ends_with(',')) {
            words.pop_back();
        }
        return words + "]";
    }
    static std::string names(const std::vector<std::string>& dimensions) {
        std::string words;
        for (const std::string& name : dimensions) {
            words += text(words.empty() ? "\"" : ", \"", name, "\"");
        }
        return dimensions.empty() ? "null" : "[" + words + "]";
    }
    static std::string attributes2(const MadeArray& made) {
        const std::string dimensions =
            made.dimensions.empty() ? "" : R"("_ARRAY_DIMENSIONS": )" + names(made.dimensions);
        const bool both = !dimensions.empty() && !made.attributes.empty();
        return "{" + made.attributes + (both ? ", " : "") + dimensions + "}";
    }

    /// What lies behind the edge of the array is zero.
    static std::string chunk(const MadeArray& made, const Coordinates& cell,
                             const std::function<double(Index)>& value) {
        const std::size_t bytes = size_of(made.dtype);
        std::string elements(static_cast<std::size_t>(volume_of(made.chunk)) * bytes, '\0');
        for_each_index(made.chunk, [&](const Coordinates& inside) {
            Coordinates at = inside, turned = inside, extent = made.chunk;
            bool outside = false;
            for (int axis = 0; axis < at.size(); ++axis) {
                at[axis] += cell[axis] * made.chunk[axis];
                outside = outside || at[axis] >= made.shape[axis];
            }
            if (made.turned) {
                std::reverse(turned.begin(), turned.end());
                std::reverse(extent.begin(), extent.end());
            }
            char* const to =
                elements.data() + static_cast<std::size_t>(linear_index(turned, extent)) * bytes;
            if (!outside) {
                put(made, value(linear_index(at, made.shape)), to);
            }
        });
        if (!made.packed) {
            return elements;
        }
        const auto packed = ChunkPacker(6).pack(std::as_bytes(std::span(elements)), bytes);
        const std::string stream(reinterpret_cast<const char*>(packed.bytes.data()),
                                 packed.bytes.size());
        return packed.filters_left_out == 0 ? stream : stored_by_zlib(stream);
    }
    /// A stream of zlib that has up to 65535 bytes as they are.
    static std::string stored_by_zlib(const std::string& bytes) {
        std::uint32_t low = 1, high = 0;  // Adler-32
        for (const char byte : bytes) {
            low = (low + static_cast<unsigned char>(byte)) % 65521;
            high = (high + low) % 65521;
        }
        const int length = static_cast<int>(bytes.size());
        std::string stream = "\x78\x01\x01";
        for (const int half : {length, ~length}) {
            stream += static_cast<char>(half & 0xff);
            stream += static_cast<char>(half >> 8 & 0xff);
        }
        stream += bytes;
        for (const std::uint32_t half : {high, low}) {
            stream += static_cast<char>(half >> 8);
            stream += static_cast<char>(half & 0xff);
        }
        return stream;
    }
    static void put(const MadeArray& made, double value, char* to) {
        dispatch(made.dtype, [&]<class T>() {
            if constexpr (std::is_arithmetic_v<T>) {
                const T element = static_cast<T>(value);
                std::memcpy(to, &element, sizeof element);
            } else {
                const T element(static_cast<float>(value));
                std::memcpy(to, &element, sizeof element);
            }
        });
        const std::size_t part = size_of(made.dtype) / (is_complex(made.dtype) ? 2 : 1);
        for (std::size_t first = 0; made.big_endian && first < size_of(made.dtype); first += part) {
            std::reverse(to + first, to + first + part);
        }
    }

    int version_;
    std::filesystem::path above_, path_;
};

}  // namespace fluvial::store
