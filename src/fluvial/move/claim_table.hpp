// SPDX-License-Identifier: Apache-2.0
/// The table behind shared_claims.hpp, in memory that ranks of one host share: which windows are
/// claimed, and blocks of memory for what is in them. What changes it is called with its lock.
///
/// A process may die between any two stores: an entry is what its state says, which is stored last.
/// What is to be read without the lock is read before a look at the version, which changes before
/// the blocks of an entry serve another one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/host/doorbell.hpp"
#include "fluvial/host/memory_file.hpp"
#include "fluvial/host/process.hpp"
#include "fluvial/host/shared_lock.hpp"

namespace fluvial::move {

/// Which window: a slab of a chunk that lies at a place of a host, in a step.
struct WindowKey {
    std::uint64_t step = 0;
    std::uint64_t offset = 0;  ///< of the place ...
    std::uint64_t bytes = 0;
    std::uint32_t region = 0;  ///< ... whose key this is
    std::uint32_t host = 0;
    std::array<Index, std::size_t{2} * ndim_max> slab{};  ///< offset and extent along each axis
    friend bool operator==(const WindowKey&, const WindowKey&) = default;
};

/// Bytes of a window, which has them in row-major order.
struct Stretch {
    WindowKey window;
    std::uint64_t first = 0;
    std::uint64_t bytes = 0;
    bool for_all = false;  ///< every rank wants it, whatever else it wants
};

struct ClaimLimits {
    /// What is shared at a time, for all ranks of the host; taken from the system as it is needed.
    std::uint32_t blocks = 4096;
    std::uint32_t block_bytes = 64 * 1024;
    std::uint32_t kept_blocks = 512;  ///< that stay with the ranks when they are free
    double patience_s = 2;            ///< a claimant that has not moved for so long stands
};

class ClaimTable {
  public:
    static constexpr std::uint32_t ranks_max = 256;
    static constexpr std::uint32_t no_entry = ~std::uint32_t{0};
    static constexpr std::uint64_t no_step = ~std::uint64_t{0};

    class RankSet {
      public:
        void set(std::uint32_t rank, bool in);
        bool has(std::uint32_t rank) const { return (words_[rank / 64] >> (rank % 64) & 1) != 0; }
        bool contains(const RankSet& others) const;
        int count() const;

      private:
        std::array<std::uint64_t, ranks_max / 64> words_{};
    };

    struct Entry {
        enum Is : std::uint32_t { Free, Noted, Coming, Ready };
        std::atomic<std::uint32_t> state;
        std::uint32_t owner;
        std::uint32_t blocks;  ///< from the one with the number of this entry on
        std::atomic<std::uint64_t> version;
        RankSet taken;
        Stretch stretch;
        /// Neither Free, nor on its way.
        bool rests() const { return state == Ready || state == Noted; }
    };

    struct Header {
        ClaimLimits limits;
        host::SharedMutex mutex;
        host::Doorbell bell;
        RankSet ranks;                    ///< that are there
        std::atomic<std::uint32_t> used;  ///< entries
        std::atomic<std::uint64_t> first_step;
        std::atomic<std::uint64_t> overlap_end;  ///< behind the last step in which ranks wanted the
                                                 ///< same
    };

    struct alignas(64) Cell {
        host::Process process;
        std::atomic<std::int64_t> moved_ns;
        std::atomic<std::uint64_t> passed;  ///< steps before this one
    };

    /// Throws SystemError.
    static host::MemoryFile create(const ClaimLimits& limits);
    explicit ClaimTable(host::MemoryFile file);

    Header& header() const { return *header_; }
    Cell& cell(std::uint32_t rank) const { return cells_[rank]; }
    Entry& entry(std::uint32_t number) const { return entries_[number]; }
    std::uint32_t size() const { return header_->limits.blocks; }
    bool is_free(std::uint32_t number) const {
        return tags_[number] == 0 || entries_[number].state == Entry::Free;
    }
    /// A number by which most of the others are passed over; not 0.
    static std::uint64_t tag_of(const WindowKey& window);
    /// The entry is not free, and has all of the stretch.
    bool holds(std::uint32_t number, std::uint64_t tag, const Stretch& wanted) const;
    /// The memory of an entry. Of one that is to be written it is taken from the system: none when
    /// there is too little.
    std::byte* data_of(std::uint32_t number) const;
    std::byte* writable_data_of(std::uint32_t number) const;

    /// A new entry for the stretch, with memory for `bytes`; no_entry when there is no room. What
    /// rests of earlier steps makes room.
    std::uint32_t enter(const Stretch& wanted, std::uint64_t bytes, std::uint32_t owner,
                        Entry::Is state);
    void free(std::uint32_t number);
    /// Frees what rests and `unwanted` says so.
    template <class Unwanted>
    void sweep(Unwanted unwanted) {
        for (std::uint32_t i = 0; i < size(); ++i) {
            if (tags_[i] != 0 && entries_[i].rests() && unwanted(entries_[i])) {
                free(i);
            }
        }
    }
    bool taken_by_all(const Entry& entry) const { return entry.taken.contains(header_->ranks); }
    /// The first step that some rank may still read.
    std::uint64_t passed_by_all() const;
    std::uint64_t bytes_in_use() const;

  private:
    std::uint32_t first_fit(std::uint32_t blocks) const;
    std::uint32_t allocate(std::uint64_t bytes, std::uint64_t step);
    bool give_older(std::uint64_t step);

    host::MemoryFile file_;
    host::Mapping mapping_;
    Header* header_;
    Cell* cells_;
    std::uint64_t* tags_;  ///< by entry; 0: free
    Entry* entries_;
    std::size_t data_;  ///< where the blocks begin
};

}  // namespace fluvial::move
