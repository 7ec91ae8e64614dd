// SPDX-License-Identifier: Apache-2.0
/// What ranks of one job that share a host bring from other hosts: each window once. The first rank
/// that wants a window claims it, brings it, and lays it into memory that all of them see; the
/// others copy it from there. No rank waits for one that wants nothing.
///
// clang-format off
/// | event                         | finds                           | what happens                                   |
/// |-------------------------------|---------------------------------|------------------------------------------------|
/// | a rank wants a window         | nothing                         | it claims the window: Coming                   |
/// |                               | Coming, and the claimant moves  | it waits, and looks again                      |
/// |                               | Coming, the claimant stands     | as nothing: it claims the window again         |
/// |                               | Ready                           | it copies it; the last rank to do so frees it  |
/// |                               | Noted: another had it by itself | as nothing, and from now on ranks share        |
/// |                               | no room                         | room of earlier steps; none: it is not shared  |
/// | the claimant has brought it   | Coming                          | Ready                                          |
/// | the claimant gives up         | Coming                          | it is free: the next rank claims the window    |
/// | a rank has ended a step       | it was the last of those alive  | what is Ready or Noted of it and earlier: free |
/// | a rank is dead, or stopped    | what it claimed is Coming       | stays: it may go on, and write there           |
/// | a rank is dead                | what is Ready                   | is not kept for it                             |
/// | a rank that copies is stopped | its room may serve another one  | it sees that by the version, and brings it     |
/// | a rank stops inside the lock  | any                             | the others share nothing any more              |
// clang-format on
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fluvial/host/memory_file.hpp"
#include "fluvial/move/claim_table.hpp"

namespace fluvial::move {

class SharedClaims {
  public:
    static constexpr int ranks_max = ClaimTable::ranks_max;

    /// The memory for ranks of one host. Throws SystemError.
    static host::MemoryFile create(const ClaimLimits& limits = {}) {
        return ClaimTable::create(limits);
    }
    /// This process is rank `number` of them. Throws Error when another one is.
    SharedClaims(host::MemoryFile file, int number);
    /// Leaves.
    ~SharedClaims();
    SharedClaims(const SharedClaims&) = delete;
    SharedClaims& operator=(const SharedClaims&) = delete;

    enum class State { Nothing, Coming, Ready, Mine };
    struct Found {
        State state = State::Nothing;
        std::uint32_t entry = 0;
        std::uint64_t version = 0;
        std::uint64_t behind = 0;  ///< the beginning of what is there
    };
    enum class Want {
        Look,   ///< changes nothing
        Claim,  ///< what is Nothing becomes Mine, where there is room
        Note,   ///< what is Nothing is noted as one that this rank has by itself
    };
    Found find(const Stretch& wanted, Want want);
    /// What is Ready to `to`. False: it was given to another window meanwhile.
    bool copy(const Found& ready, std::uint64_t bytes, std::byte* to);
    /// What is Mine is brought: all of the stretch.
    void publish(const Found& mine, const std::byte* data);
    void give_up(const Found& mine);

    /// This rank reads, and got something so long ago.
    void moved(double silent_s = 0);
    /// Changes when something is Ready, or free.
    std::uint32_t ticket() const;
    void wait(std::uint32_t ticket, std::int64_t timeout_ns) const;
    /// Looks whether claimants are dead.
    void look_for_dead();

    /// Windows of this step are worth sharing: two ranks wanted the same one a few steps ago, or
    /// these are the first steps.
    bool shares(std::uint64_t step);
    /// Two ranks wanted the same window, at most a few steps ago.
    bool overlapped(std::uint64_t step) const;
    /// This rank reads nothing of this step and earlier ones any more.
    void pass(std::uint64_t step);
    /// It reads nothing at all any more. May be repeated.
    void leave();

    int number() const { return static_cast<int>(rank_); }
    /// Ranks that are there.
    int ranks() const { return table_.header().ranks.count(); }
    /// Bytes that are claimed, shared or noted.
    std::uint64_t bytes_in_use();

  private:
    using Entry = ClaimTable::Entry;
    class Lock;

    bool moves(std::uint32_t owner, std::int64_t now) const;
    void lose(std::uint32_t rank);
    void note_overlap(std::uint64_t step);

    ClaimTable table_;
    std::uint32_t rank_;
    std::atomic<bool> off_ = false;  ///< a process was stopped inside the lock
};

}  // namespace fluvial::move
