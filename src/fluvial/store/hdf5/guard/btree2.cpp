// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", III.A.2, Version 2 B-trees.
#include <bit>
#include <cstring>
#include <set>

#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/hdf5/guard/fractal_heap.hpp"

namespace fluvial::store {

namespace {

constexpr const char* senseless = "an index of attributes or links that makes no sense";
constexpr std::uint64_t node_bytes_max = 1 << 20;
constexpr std::size_t btree2_depth_max = 16;
constexpr std::size_t frame_bytes = 10;  // signature, version, type, and checksum of a node

/// Bytes that hold numbers up to this one.
std::size_t bytes_for(std::uint64_t number) {
    return number == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(number)) - 1) / 8 + 1;
}

struct Node {
    std::uint64_t address, records;
    std::size_t depth;  ///< 0: a leaf
};

/// Widths of the numbers that nodes have, which follow from how many records can lie below.
struct Tree {
    std::uint64_t node_bytes = 0, record_bytes = 0;
    std::size_t count_bytes = 0;                  ///< of the records of one node
    std::vector<std::uint64_t> records_max = {};  ///< of a node, by depth
    std::vector<std::size_t> total_bytes = {};    ///< of the records below a node, by depth

    Tree(std::uint64_t node, std::uint64_t record, std::size_t depth, std::size_t address_bytes)
        : node_bytes(node), record_bytes(record) {
        records_max.push_back((node - frame_bytes) / record);
        total_bytes.push_back(0);
        count_bytes = bytes_for(records_max[0]);
        std::uint64_t below = records_max[0];
        for (std::size_t level = 1; level <= depth; ++level) {
            const std::uint64_t pointer = address_bytes + count_bytes + total_bytes[level - 1];
            const std::uint64_t room = node - frame_bytes;
            records_max.push_back(room < pointer ? 0 : (room - pointer) / (record + pointer));
            std::uint64_t total = 0;
            if (__builtin_mul_overflow(records_max[level] + 1, below, &total) ||
                __builtin_add_overflow(total, records_max[level], &total)) {
                total = ~std::uint64_t{0};
            }
            below = total;
            total_bytes.push_back(bytes_for(below));
        }
    }
};

}  // namespace

const char* for_each_record(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                            const std::function<const char*(std::span<const std::byte>)>& use) {
    const std::size_t a = sizes.address_bytes;
    std::vector<std::byte> header(18 + a + sizes.length_bytes);
    if (header.size() > file.size() || address > file.size() - header.size()) {
        return senseless;
    }
    file.read(address, header);
    Front in(header);
    const auto signature = in.take(5);
    if (std::memcmp(signature.data(), "BTHD", 4) == 0 && signature[4] > std::byte{0}) {
        return nullptr;
    }
    if (std::memcmp(signature.data(), "BTHD\0", 5) != 0) {
        return senseless;
    }
    in.take(1);
    const auto node_bytes = in.number(4), record_bytes = in.number(2), depth = in.number(2);
    in.take(2);
    const auto root = in.number(a), records = in.number(2);
    if (records == 0) {
        return nullptr;
    }
    if (node_bytes <= frame_bytes || node_bytes > node_bytes_max || record_bytes == 0 ||
        depth > btree2_depth_max) {
        return senseless;
    }
    const Tree tree(node_bytes, record_bytes, depth, a);
    std::vector<Node> open{{root, records, static_cast<std::size_t>(depth)}};
    std::set<std::uint64_t> seen;
    std::vector<std::byte> bytes(node_bytes);
    while (!open.empty()) {
        const Node node = open.back();
        open.pop_back();
        const std::uint64_t at = node.address + sizes.base;
        if (node.records > tree.records_max[node.depth] || node_bytes > file.size() ||
            at > file.size() - node_bytes || !seen.insert(at).second) {
            return senseless;
        }
        file.read(at, bytes);
        Front of(bytes);
        if (std::memcmp(of.take(5).data(), node.depth == 0 ? "BTLF\0" : "BTIN\0", 5) != 0) {
            return senseless;
        }
        of.take(1);
        for (std::uint64_t i = 0; i < node.records; ++i) {
            const auto record = of.take(record_bytes);
            if (const char* reason = of.good() ? use(record) : senseless) {
                return reason;
            }
        }
        for (std::uint64_t i = 0; node.depth > 0 && i <= node.records; ++i) {
            const auto child = of.number(a), below = of.number(tree.count_bytes);
            of.take(tree.total_bytes[node.depth - 1]);
            if (!of.good()) {
                return senseless;
            }
            open.push_back({child, below, node.depth - 1});
        }
    }
    return nullptr;
}

}  // namespace fluvial::store
