// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", III.E, Disk Format: Level 1E - Global Heap.
#include <cstring>
#include <set>
#include <vector>

#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/hdf5/guard/heaps.hpp"

namespace fluvial::store {

namespace {

/// libhdf5 keeps what it puts into heaps at multiples of 8.
std::size_t heap_header_bytes(const Hdf5Sizes& sizes) {
    return (8 + sizes.length_bytes + 7) / 8 * 8;
}

}  // namespace

const char* check_heap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                       std::span<const std::byte> begin) {
    const std::size_t header = heap_header_bytes(sizes);  // of the heap, and of each entry
    if (begin.size() < header || std::memcmp(begin.data(), "GCOL\1", 5) != 0) {
        return nullptr;  // libhdf5 looks at that itself, or the rest of what was looked at before
    }
    const std::uint64_t bytes = little_endian(begin.subspan(8, sizes.length_bytes));
    if (bytes < header || bytes > file.size() || address > file.size() - bytes) {
        return "a heap that does not lie in the file";
    }
    std::vector<std::byte> whole;
    if (bytes > begin.size()) {
        whole.resize(bytes);
        file.read(address, whole);
        begin = whole;
    }
    auto rest = begin.subspan(header, bytes - header);
    std::set<std::uint64_t> numbers;
    while (rest.size() >= header) {
        const std::uint64_t number = little_endian(rest.first(2));
        const std::uint64_t length = little_endian(rest.subspan(8, sizes.length_bytes));
        if (length > rest.size() || (number == 0 && length < header)) {
            return "a heap with an entry of impossible length";
        }
        if (number != 0 && !numbers.insert(number).second) {
            return "a heap with two entries of one number";
        }
        const std::uint64_t step = number == 0 ? length : header + (length + 7) / 8 * 8;
        if (step > rest.size()) {
            return "a heap with an entry of impossible length";
        }
        rest = rest.subspan(step);
    }
    return nullptr;
}

const char* find_in_heap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t index, std::vector<std::byte>& object) {
    constexpr const char* none = "a reference to a heap that is not there";
    object.clear();
    const std::size_t header = heap_header_bytes(sizes);
    const std::uint64_t at = address + sizes.base;
    if (at < address || at > file.size() || file.size() - at < header) {
        return none;
    }
    std::vector<std::byte> heap(header);
    file.read(at, heap);
    if (std::memcmp(heap.data(), "GCOL", 4) == 0 && heap[4] > std::byte{1}) {
        return nullptr;  // newer
    }
    if (std::memcmp(heap.data(), "GCOL\1", 5) != 0) {
        return none;
    }
    if (const char* reason = check_heap(file, sizes, at, heap)) {
        return reason;
    }
    heap.resize(little_endian(std::span(heap).subspan(8, sizes.length_bytes)));
    file.read(at, heap);
    auto rest = std::span<const std::byte>(heap).subspan(header);
    while (rest.size() >= header) {
        const std::uint64_t number = little_endian(rest.first(2));
        const std::uint64_t length = little_endian(rest.subspan(8, sizes.length_bytes));
        if (number != 0 && number == index) {
            const auto found = rest.subspan(header, length);
            object.assign(found.begin(), found.end());
            return nullptr;
        }
        rest = rest.subspan(number == 0 ? length : header + (length + 7) / 8 * 8);
    }
    return "a reference to an object that its heap does not have";
}

}  // namespace fluvial::store
