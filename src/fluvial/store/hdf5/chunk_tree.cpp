// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", III.A.1, Version 1 B-trees.
#include "fluvial/store/hdf5/chunk_tree.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5/front.hpp"

namespace fluvial::store {

/// Of one tree, depth first: in the order of the chunks.
class Hdf5ChunkWalk {
  public:
    Hdf5ChunkWalk(const InputFile& file, const Hdf5Sizes& sizes, const Hdf5ChunkTree& tree,
                  const std::string& what, Hdf5Chunks& chunks)
        : file_(file), sizes_(sizes), tree_(tree), what_(what), chunks_(chunks) {}

    void run();

  private:
    struct Node {
        std::uint64_t address;         ///< as the file counts
        std::uint64_t left, right;     ///< siblings
        std::vector<std::byte> bytes;  ///< the entries that are left
        std::uint64_t entries;
        std::size_t level;
    };
    struct Level {
        std::uint64_t last_node, next_node;
    };
    struct Range {
        std::uint64_t begin, end;
        friend auto operator<=>(const Range&, const Range&) = default;
    };

    Node read_node(std::uint64_t address);
    void begin(const Node& node);
    void add_chunks(const Node& node);
    std::uint64_t number_of(Front& key) const;
    void ask_for_children(const Node& node) const;
    void check_ranges();

    std::size_t key_bytes() const { return 8 + 8 * (static_cast<std::size_t>(ndim()) + 1); }
    std::size_t entry_bytes() const { return key_bytes() + sizes_.address_bytes; }
    int ndim() const { return tree_.chunk.size(); }

    [[noreturn]] void damaged(const std::string& seen, const std::string& allowed) const {
        throw DamagedFile(Problem{"the index of the chunks of " + what_ + " is damaged", seen,
                                  allowed, "Copy or write the file again"});
    }

    const InputFile& file_;
    const Hdf5Sizes& sizes_;
    const Hdf5ChunkTree& tree_;
    const std::string& what_;
    Hdf5Chunks& chunks_;
    std::vector<Level> levels_;  ///< what was seen of each
    std::vector<Range> ranges_;  ///< of nodes
};

namespace {

constexpr const char* chunk_node_signature = "TREE\1";  // and the type of chunks
constexpr std::size_t tree_depth_max = 32;

}  // namespace

Hdf5ChunkWalk::Node Hdf5ChunkWalk::read_node(std::uint64_t address) {
    const std::size_t start_bytes = 8 + 2 * sizes_.address_bytes;
    const std::uint64_t bytes = start_bytes + tree_.node_chunks * entry_bytes() + key_bytes();
    const std::uint64_t at = address + sizes_.base;
    if (at < address || bytes > file_.size() || at > file_.size() - bytes) {
        damaged(text("a node of ", bytes, " bytes at byte ", at),
                text("within the file's ", file_.size(), " bytes"));
    }
    Node node{address, 0, 0, std::vector<std::byte>(bytes), 0, 0};
    file_.read(at, node.bytes);
    Front in(node.bytes);
    if (std::memcmp(in.take(5).data(), chunk_node_signature, 5) != 0) {
        damaged(text("at byte ", at, " there is no node"), "a node of chunks");
    }
    node.level = in.number(1);
    node.entries = in.number(2);
    node.left = in.number(sizes_.address_bytes);
    node.right = in.number(sizes_.address_bytes);
    if (node.entries > tree_.node_chunks) {
        damaged(text("a node of ", node.entries, " entries"), text("up to ", tree_.node_chunks));
    }
    ranges_.push_back({at, at + bytes});
    node.bytes.erase(node.bytes.begin(), node.bytes.begin() + static_cast<int>(start_bytes));
    node.bytes.resize(node.entries * entry_bytes());
    return node;
}

/// Compares a node with its siblings.
void Hdf5ChunkWalk::begin(const Node& node) {
    Level& level = levels_[node.level];
    if (node.left != level.last_node ||
        (level.last_node != undefined_address(sizes_) && level.next_node != node.address)) {
        damaged(text("a node at ", node.address, " behind that at ", level.last_node,
                     ", which name ", node.left, " and ", level.next_node),
                "nodes that name each other");
    }
    level = {node.address, node.right};
}

/// Of the chunk of a key, behind its length and filters.
std::uint64_t Hdf5ChunkWalk::number_of(Front& key) const {
    std::uint64_t number = 0;
    for (int axis = 0; axis < ndim(); ++axis) {
        const auto chunk = static_cast<std::uint64_t>(tree_.chunk[axis]);
        const std::uint64_t first = key.number(8);
        if (first % chunk != 0 || first >= static_cast<std::uint64_t>(tree_.shape[axis])) {
            damaged(text("a chunk at ", first, " along axis ", axis),
                    text("multiples of ", chunk, " below ", tree_.shape[axis]));
        }
        number = number * static_cast<std::uint64_t>(chunks_.grid_[axis]) + first / chunk;
    }
    if (const std::uint64_t in_element = key.number(8); in_element != 0) {
        damaged(text("a chunk that begins ", in_element, " bytes inside of an element"), "0");
    }
    return number;
}

void Hdf5ChunkWalk::add_chunks(const Node& node) {
    Front in(node.bytes);
    for (std::uint64_t i = 0; i < node.entries; ++i) {
        Front key(in.take(key_bytes()));
        const auto bytes = static_cast<std::uint32_t>(key.number(4));
        const auto left_out = static_cast<std::uint32_t>(key.number(4));
        const std::uint64_t number = number_of(key);
        const std::uint64_t address = in.number(sizes_.address_bytes);
        const std::uint64_t at = address + sizes_.base;
        auto& known = chunks_.chunks_;
        if (!known.empty() && number <= known.back().number) {
            damaged(text("chunk number ", number, " behind number ", known.back().number),
                    "each chunk once, in order");
        }
        if (at < address || bytes > file_.size() || at > file_.size() - bytes || bytes == 0) {
            damaged(text("a chunk of ", bytes, " bytes at byte ", at),
                    text("chunks within the file's ", file_.size(), " bytes"));
        }
        if (tree_.whole_bytes != 0 && bytes != tree_.whole_bytes) {
            damaged(text("a chunk of ", bytes, " bytes"), text(tree_.whole_bytes));
        }
        known.push_back({number, at, bytes, left_out});
    }
}

/// The children lie all over the file: to read all at once takes no longer than to read one.
void Hdf5ChunkWalk::ask_for_children(const Node& node) const {
    Front in(node.bytes);
    for (std::uint64_t i = 0; i < node.entries; ++i) {
        in.take(key_bytes());
        const std::uint64_t at = in.number(sizes_.address_bytes) + sizes_.base;
        if (at < file_.size() && !file_.in_memory(at)) {
            file_.will_need(at, ranges_.front().end - ranges_.front().begin);
        }
    }
}

void Hdf5ChunkWalk::run() {
    const std::uint64_t nowhere = undefined_address(sizes_);
    std::vector<Node> open;
    open.push_back(read_node(tree_.root));
    if (open.back().level > tree_depth_max || (open.back().level > 0 && open.back().entries == 0)) {
        damaged(text(open.back().level, " levels with ", open.back().entries, " entries on top"),
                text("up to ", tree_depth_max, " levels, with entries"));
    }
    levels_.assign(open.back().level + 1, {nowhere, nowhere});
    begin(open.back());
    std::vector<std::uint64_t> next(levels_.size(), 0);  // entry of the open node, by level
    while (!open.empty()) {
        const Node& node = open.back();
        std::uint64_t& entry = next[node.level];
        if (node.level == 0) {
            add_chunks(node);
        } else if (entry == 0) {
            ask_for_children(node);
        }
        if (node.level == 0 || entry == node.entries) {
            entry = 0;
            open.pop_back();
            continue;
        }
        Front in(std::span<const std::byte>(node.bytes).subspan(entry++ * entry_bytes()));
        in.take(key_bytes());
        Node child = read_node(in.number(sizes_.address_bytes));
        if (child.level + 1 != node.level || child.entries == 0) {
            damaged(text("a node of level ", child.level, " with ", child.entries,
                         " entries below one of level ", node.level),
                    "nodes of the level below, with entries");
        }
        begin(child);
        open.push_back(std::move(child));
    }
    for (const Level& level : levels_) {
        if (level.next_node != nowhere) {
            damaged(text("a last node that names one behind it, at ", level.next_node),
                    "a last node of each level");
        }
    }
    check_ranges();
}

/// No byte belongs to two: neither to chunks, nor to nodes, nor to the headers that lead to them.
void Hdf5ChunkWalk::check_ranges() {
    constexpr std::uint64_t least_header = 16, least_superblock = 48;
    ranges_.push_back({sizes_.base, sizes_.base + least_superblock});
    ranges_.push_back({tree_.header, tree_.header + least_header});
    ranges_.reserve(ranges_.size() + chunks_.chunks_.size());
    for (const auto& chunk : chunks_.chunks_) {
        ranges_.push_back({chunk.offset, chunk.offset + chunk.bytes});
    }
    std::ranges::sort(ranges_);
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
        if (ranges_[i].begin < ranges_[i - 1].end) {
            damaged(text("bytes ", ranges_[i].begin, " to ", ranges_[i - 1].end, " of two things"),
                    "chunks and nodes that do not overlap");
        }
    }
}

Hdf5Chunks::Hdf5Chunks(const InputFile& file, const Hdf5Sizes& sizes, const Hdf5ChunkTree& tree,
                       const std::string& what)
    : grid_(tree.shape) {
    for (int axis = 0; axis < grid_.size(); ++axis) {
        grid_[axis] = tree.shape[axis] / tree.chunk[axis] +
                      (tree.shape[axis] % tree.chunk[axis] == 0 ? 0 : 1);
    }
    if (tree.root != undefined_address(sizes)) {
        Hdf5ChunkWalk(file, sizes, tree, what, *this).run();
    }
}

StoredChunk Hdf5Chunks::find(const Coordinates& chunk) const {
    const auto number = static_cast<std::uint64_t>(linear_index(chunk, grid_));
    // Where all were written, a chunk's number is its place.
    auto found = chunks_.begin() +
                 static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(number, chunks_.size()));
    if (found == chunks_.end() || found->number != number) {
        found = std::ranges::lower_bound(chunks_.begin(), found, number, {}, &Stored::number);
    }
    if (found == chunks_.end() || found->number != number) {
        return {};
    }
    return {{found->offset, found->bytes}, found->filters_left_out};
}

}  // namespace fluvial::store
