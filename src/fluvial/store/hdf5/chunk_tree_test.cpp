// SPDX-License-Identifier: Apache-2.0
// Against trees that this test makes with libhdf5, whole and damaged.
#include "fluvial/store/hdf5/chunk_tree.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>

#include <doctest/doctest.h>
#include <hdf5.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/file.hpp"
#include "fluvial/store/memory_file.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

using Values = std::vector<std::int32_t>;

struct Made {
    std::string whole;  ///< the bytes of a file
    Values values;      ///< what libhdf5 reads of "x"
};

/// A file with a dataset "x" in chunks of 4 by 5, written by `fill`.
Made made(hsize_t rows, hsize_t columns, const std::function<void(hid_t)>& fill) {
    const auto path = (std::filesystem::temp_directory_path() /
                       text("fluvial_chunk_tree_test_", ::getpid(), ".h5"))
                          .string();
    const hsize_t extent[] = {rows, columns}, most[] = {H5S_UNLIMITED, H5S_UNLIMITED};
    const hsize_t chunk[] = {4, 5};
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 2, chunk);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, extent, most);
    const hid_t x =
        H5Dcreate2(file, "x", H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    REQUIRE(x >= 0);
    fill(x);
    const hid_t filled = H5Dget_space(x);
    Values values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(filled)));
    REQUIRE(H5Dread(x, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Dclose(x);
    H5Sclose(filled);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
    std::ifstream in(path, std::ios::binary);
    std::string whole{std::istreambuf_iterator<char>(in), {}};
    std::filesystem::remove(path);
    return {whole, values};
}

/// Element i is i + 1.
void write_all(hid_t x) {
    const hid_t space = H5Dget_space(x);
    Values values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<std::int32_t>(i) + 1;
    }
    REQUIRE(H5Dwrite(x, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    H5Sclose(space);
}

/// All of "x"; nothing when it is refused.
std::optional<Values> read(const std::string& whole) {
    const MemoryFile memory(std::as_bytes(std::span(whole)));
    try {
        const auto x = open_hdf5(memory.path())->dataset("x");
        Values values(static_cast<std::size_t>(volume_of(x->shape())));
        x->read(fluvial::whole(x->shape()),
                {reinterpret_cast<std::byte*>(values.data()), DType::Int32, x->shape(),
                 contiguous_strides(x->shape(), sizeof values[0])});
        return values;
    } catch (const DamagedFile&) {
        return std::nullopt;
    }
}

std::string flipped(std::string whole, std::size_t at, int bit) {
    whole[at] = static_cast<char>(whole[at] ^ 1 << bit);
    return whole;
}

constexpr std::size_t header_bytes = 24, key_bytes = 32, entry_bytes = key_bytes + 8;

}  // namespace

TEST_CASE("no bit of a key, nor of a node's header, gives wrong numbers") {
    const auto [whole, truth] = made(13, 17, write_all);  // 16 chunks: all there can be
    REQUIRE(read(whole) == truth);
    const std::size_t node = whole.find(std::string("TREE\1\0", 6));
    REQUIRE(node != std::string::npos);
    std::size_t refused = 0;
    for (std::size_t at = node; at < node + header_bytes + 16 * entry_bytes; ++at) {
        const bool key =
            at >= node + header_bytes && (at - node - header_bytes) % entry_bytes < key_bytes;
        const bool fewer = at == node + 6 || at == node + 7;  // entries: not all need be there
        if ((!key && at >= node + header_bytes) || fewer) {
            continue;
        }
        for (int bit = 0; bit < 8; ++bit) {
            const auto got = read(flipped(whole, at, bit));
            if (got && *got != truth) {
                FAIL_CHECK("byte ", at - node, " of the node, bit ", bit);
            }
            refused += got ? 0 : 1;
        }
    }
    // Without filters nothing depends on the masks that say which were left out.
    CHECK(refused == 8 * (header_bytes - 2 + 16 * (key_bytes - 4)));
}

TEST_CASE("a chunk that lies where another one or the tree does is refused") {
    const std::string whole = made(13, 17, write_all).whole;
    const std::size_t node = whole.find(std::string("TREE\1\0", 6));
    const std::size_t first = node + header_bytes + key_bytes, second = first + entry_bytes;
    const auto with = [&](std::size_t at, std::uint64_t address) {
        std::string changed = whole;
        for (std::size_t i = 0; i < 8; ++i) {
            changed[at + i] = static_cast<char>(address >> 8 * i & 0xff);
        }
        return changed;
    };
    std::uint64_t address = 0;
    for (std::size_t i = 8; i-- > 0;) {
        address = address << 8 | static_cast<unsigned char>(whole[first + i]);
    }
    CHECK(read(with(first, address)));
    CHECK_FALSE(read(with(second, address)));       // the first chunk twice
    CHECK_FALSE(read(with(second, address + 40)));  // half of it
    CHECK_FALSE(read(with(second, node)));
    CHECK_FALSE(read(with(second, 0)));
    CHECK_FALSE(read(with(second, whole.size() - 40)));
    CHECK_FALSE(read(with(second, ~std::uint64_t{0})));
}

TEST_CASE("a tree of several levels") {
    const auto scattered = [](hid_t x) {  // in no order, so that nodes are split everywhere
        const hid_t space = H5Dget_space(x);
        for (std::uint64_t i = 0; i < 40 * 30; ++i) {
            const std::uint64_t cell = i * 7919 % (40 * 30);
            if (cell % 11 == 3) {
                continue;
            }
            const hsize_t at[] = {cell / 30 * 4, cell % 30 * 5};
            const auto value = static_cast<std::int32_t>(cell) + 1;
            REQUIRE(H5Sselect_elements(space, H5S_SELECT_SET, 1, at) >= 0);
            const hid_t one = H5Screate(H5S_SCALAR);
            REQUIRE(H5Dwrite(x, H5T_NATIVE_INT32, one, space, H5P_DEFAULT, &value) >= 0);
            H5Sclose(one);
        }
        H5Sclose(space);
    };
    const auto [whole, truth] = made(160, 150, scattered);
    REQUIRE(read(whole) == truth);
    SUBCASE("no child is forgotten, none is read twice") {
        const std::size_t root = whole.find(std::string("TREE\1\1", 6));
        REQUIRE(root != std::string::npos);
        const int entries = static_cast<unsigned char>(whole[root + 6]);
        for (int fewer = 0; fewer < entries; ++fewer) {
            std::string changed = whole;
            changed[root + 6] = static_cast<char>(fewer);
            CHECK_FALSE(read(changed));
        }
        std::string twice = whole;
        twice.replace(root + header_bytes + key_bytes, 8,
                      whole.substr(root + header_bytes + key_bytes + entry_bytes, 8));
        CHECK_FALSE(read(twice));
    }
    SUBCASE("made smaller, whole chunks of it, and parts") {
        using Extents = std::array<hsize_t, 2>;
        for (const Extents& extent : {Extents{160, 71}, Extents{57, 150}, Extents{61, 33},
                                      Extents{4, 5}, Extents{1, 1}, Extents{0, 150}}) {
            CAPTURE(extent[0]);
            const Made smaller = made(160, 150, [&](hid_t x) {
                scattered(x);
                REQUIRE(H5Dset_extent(x, extent.data()) >= 0);
            });
            CHECK(read(smaller.whole) == smaller.values);
        }
    }
}
