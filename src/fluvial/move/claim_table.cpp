// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/claim_table.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "fluvial/base/hash.hpp"
#include "fluvial/base/page.hpp"

namespace fluvial::move {
namespace {

struct Layout {
    std::size_t cells, tags, entries, data, all;
};

std::size_t whole_lines(std::size_t bytes) {
    constexpr std::size_t line = 64;
    return (bytes + line - 1) / line * line;
}

Layout layout_of(const ClaimLimits& limits) {
    Layout at{};
    at.cells = whole_lines(sizeof(ClaimTable::Header));
    at.tags = at.cells + ClaimTable::ranks_max * sizeof(ClaimTable::Cell);
    at.entries = whole_lines(at.tags + limits.blocks * sizeof(std::uint64_t));
    at.data = whole_pages(at.entries + limits.blocks * sizeof(ClaimTable::Entry));
    at.all = at.data + std::size_t{limits.blocks} * limits.block_bytes;
    return at;
}

}  // namespace

void ClaimTable::RankSet::set(std::uint32_t rank, bool in) {
    const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
    words_[rank / 64] = in ? words_[rank / 64] | bit : words_[rank / 64] & ~bit;
}

bool ClaimTable::RankSet::contains(const RankSet& others) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
        if ((others.words_[i] & ~words_[i]) != 0) {
            return false;
        }
    }
    return true;
}

int ClaimTable::RankSet::count() const {
    int count = 0;
    for (const std::uint64_t word : words_) {
        count += std::popcount(word);
    }
    return count;
}

host::MemoryFile ClaimTable::create(const ClaimLimits& limits) {
    host::MemoryFile file = host::MemoryFile::create("claims", layout_of(limits).all);
    const host::Mapping mapping = file.map(host::Access::ReadWrite);
    auto* header = new (mapping.data()) Header{};  // what follows is zero: free, nobody there
    header->limits = limits;
    header->mutex.initialise();
    header->first_step = no_step;
    return file;
}

ClaimTable::ClaimTable(host::MemoryFile file)
    : file_(std::move(file)), mapping_(file_.map(host::Access::ReadWrite)) {
    std::byte* const begin = mapping_.data();
    header_ = reinterpret_cast<Header*>(begin);
    const Layout at = layout_of(header_->limits);
    cells_ = reinterpret_cast<Cell*>(begin + at.cells);
    tags_ = reinterpret_cast<std::uint64_t*>(begin + at.tags);
    entries_ = reinterpret_cast<Entry*>(begin + at.entries);
    data_ = at.data;
}

std::uint64_t ClaimTable::tag_of(const WindowKey& window) {
    return hash_of(std::as_bytes(std::span(&window, 1))) | 1;
}

bool ClaimTable::holds(std::uint32_t number, std::uint64_t tag, const Stretch& wanted) const {
    if (tags_[number] != tag || is_free(number)) {
        return false;
    }
    const Stretch& there = entries_[number].stretch;
    return there.window == wanted.window && there.first <= wanted.first &&
           there.first + there.bytes >= wanted.first + wanted.bytes;
}

std::byte* ClaimTable::data_of(std::uint32_t number) const {
    return mapping_.data() + data_ + std::size_t{number} * header_->limits.block_bytes;
}

std::byte* ClaimTable::writable_data_of(std::uint32_t number) const {
    std::byte* const data = data_of(number);
    const auto at = static_cast<std::size_t>(data - mapping_.data());
    return mapping_.populate(at, entries_[number].stretch.bytes) ? data : nullptr;
}

std::uint32_t ClaimTable::enter(const Stretch& wanted, std::uint64_t bytes, std::uint32_t owner,
                                Entry::Is state) {
    const std::uint32_t number = allocate(bytes, wanted.window.step);
    if (number == no_entry) {
        return number;
    }
    Entry& entry = entries_[number];
    entry.owner = owner;
    entry.stretch = wanted;
    entry.taken = {};
    tags_[number] = tag_of(wanted.window);
    ++header_->used;
    entry.state = state;
    return number;
}

/// The first of so many free blocks.
std::uint32_t ClaimTable::first_fit(std::uint32_t blocks) const {
    std::uint32_t run = 0;
    for (std::uint32_t i = 0; i < size();) {
        if (!is_free(i)) {
            i += entries_[i].blocks;
            run = 0;
        } else if (++i, ++run == blocks) {
            return i - blocks;
        }
    }
    return no_entry;
}

std::uint32_t ClaimTable::allocate(std::uint64_t bytes, std::uint64_t step) {
    const std::uint64_t block = header_->limits.block_bytes;
    const std::uint64_t blocks = std::max<std::uint64_t>(1, (bytes + block - 1) / block);
    if (blocks > size()) {
        return no_entry;
    }
    std::uint32_t found = 0;
    do {
        found = first_fit(static_cast<std::uint32_t>(blocks));
    } while (found == no_entry && give_older(step));
    if (found != no_entry) {
        entries_[found].state = Entry::Free;  // of one that a process died in the middle of freeing
        entries_[found].blocks = static_cast<std::uint32_t>(blocks);
    }
    return found;
}

/// The room of the oldest step before `step`; false when it has none.
bool ClaimTable::give_older(std::uint64_t step) {
    std::uint64_t oldest = step;
    for (std::uint32_t i = 0; i < size(); ++i) {
        if (tags_[i] != 0 && entries_[i].rests()) {
            oldest = std::min(oldest, entries_[i].stretch.window.step);
        }
    }
    sweep([&](const Entry& entry) { return oldest < step && entry.stretch.window.step == oldest; });
    return oldest < step;
}

void ClaimTable::free(std::uint32_t number) {
    Entry& entry = entries_[number];
    ++entry.version;  // before its blocks change
    tags_[number] = 0;
    const std::uint32_t kept = header_->limits.kept_blocks;
    if (entry.state != Entry::Noted && number + entry.blocks > kept) {
        const std::uint32_t first = std::max(number, kept);
        const std::size_t block = header_->limits.block_bytes;
        file_.release(data_ + first * block, (number + entry.blocks - first) * block);
    }
    entry.state = Entry::Free;
    --header_->used;
}

std::uint64_t ClaimTable::passed_by_all() const {
    std::uint64_t least = no_step;
    for (std::uint32_t rank = 0; rank < ranks_max; ++rank) {
        if (header_->ranks.has(rank)) {
            least = std::min(least, cells_[rank].passed.load());
        }
    }
    return least;
}

std::uint64_t ClaimTable::bytes_in_use() const {
    std::uint64_t blocks = 0;
    for (std::uint32_t i = 0; i < size(); ++i) {
        blocks += is_free(i) ? 0 : entries_[i].blocks;
    }
    return blocks * header_->limits.block_bytes;
}

}  // namespace fluvial::move
