// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", III.D, Disk Format: Level 1D - Local Heaps.
#include <cstring>
#include <vector>

#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/hdf5/guard/heaps.hpp"

namespace fluvial::store {

const char* check_local_heap(const InputFile& file, const Hdf5Sizes& sizes,
                             std::span<const std::byte> begin) {
    constexpr std::uint64_t last = 1;  // in place of the next free block
    if (begin.size() < 5 || std::memcmp(begin.data(), "HEAP\0", 5) != 0) {
        return nullptr;  // the names; or libhdf5 says so itself
    }
    Front in(begin.subspan(5));
    in.take(3);
    const auto bytes = in.number(sizes.length_bytes);
    auto free_at = in.number(sizes.length_bytes);
    const auto address = in.number(sizes.address_bytes);
    if (!in.good() || bytes == 0) {
        return nullptr;
    }
    const std::uint64_t at = address + sizes.base;
    if (at < address || bytes > file.size() || at > file.size() - bytes) {
        return "a heap of names that does not lie in the file";
    }
    std::vector<std::byte> names(bytes);
    file.read(at, names);
    std::uint64_t blocks_left = bytes / (2 * sizes.length_bytes);
    while (free_at != last) {
        if (free_at >= bytes || blocks_left-- == 0) {
            return "a heap of names whose free space makes no sense";
        }
        Front block(std::span<const std::byte>(names).subspan(free_at));
        free_at = block.number(sizes.length_bytes);
        block.number(sizes.length_bytes);
        if (!block.good()) {
            return "a heap of names whose free space makes no sense";
        }
    }
    return nullptr;
}

}  // namespace fluvial::store
