// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_claims.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

/// The lock is held for microseconds.
constexpr double lock_timeout_s = 0.5;
/// For so many steps ranks share what they bring, until it is known whether they want the same.
constexpr std::uint64_t trial_steps = 4;

}  // namespace

class SharedClaims::Lock {
  public:
    explicit Lock(SharedClaims& claims) : claims_(claims) {
        if (claims.off_) {
            return;
        }
        try {
            claims.table_.header().mutex.lock(lock_timeout_s);
            held_ = true;
        } catch (const PeerStalled&) {
            claims.off_ = true;
        }
    }
    ~Lock() {
        if (held_) {
            claims_.table_.header().mutex.unlock();
        }
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    bool held() const { return held_; }

  private:
    SharedClaims& claims_;
    bool held_ = false;
};

SharedClaims::SharedClaims(host::MemoryFile file, int number)
    : table_(std::move(file)), rank_(static_cast<std::uint32_t>(number)) {
    ClaimTable::RankSet& ranks = table_.header().ranks;
    const Lock lock(*this);
    if (!lock.held() || number < 0 || number >= ranks_max || ranks.has(rank_)) {
        throw Error(text("rank ", number, " of this host cannot share what it reads"));
    }
    table_.cell(rank_).process = host::own_process();
    table_.cell(rank_).passed = 0;
    moved();
    ranks.set(rank_, true);
}

SharedClaims::~SharedClaims() {
    leave();
}

bool SharedClaims::moves(std::uint32_t owner, std::int64_t now) const {
    const auto patience_ns = static_cast<std::int64_t>(table_.header().limits.patience_s * 1e9);
    return table_.header().ranks.has(owner) && now - table_.cell(owner).moved_ns < patience_ns;
}

SharedClaims::Found SharedClaims::find(const Stretch& wanted, Want want) {
    const std::uint64_t tag = ClaimTable::tag_of(wanted.window);
    const std::int64_t now = now_ns();
    const Lock lock(*this);
    if (!lock.held()) {
        return {};
    }
    Found coming;
    bool noted = false;
    for (std::uint32_t i = 0; i < table_.size(); ++i) {
        if (!table_.holds(i, tag, wanted)) {
            continue;
        }
        const Entry& entry = table_.entry(i);
        if (entry.owner != rank_ && !wanted.for_all) {
            note_overlap(wanted.window.step);
        }
        if (entry.state == Entry::Ready) {
            return {State::Ready, i, entry.version, wanted.first - entry.stretch.first};
        }
        if (entry.state == Entry::Coming && moves(entry.owner, now)) {
            coming = {State::Coming, i, entry.version, 0};
        }
        noted = noted || entry.state == Entry::Noted;
    }
    if (coming.state == State::Coming || want == Want::Look || (want == Want::Note && noted)) {
        return coming;
    }
    if (want == Want::Note) {
        table_.enter(wanted, 0, rank_, Entry::Noted);
        return {};
    }
    moved();
    const std::uint32_t mine = table_.enter(wanted, wanted.bytes, rank_, Entry::Coming);
    return mine == ClaimTable::no_entry ? Found{}
                                        : Found{State::Mine, mine, table_.entry(mine).version, 0};
}

bool SharedClaims::copy(const Found& ready, std::uint64_t bytes, std::byte* to) {
    Entry& entry = table_.entry(ready.entry);
    std::memcpy(to, table_.data_of(ready.entry) + ready.behind, bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entry.version != ready.version) {
        return false;
    }
    const Lock lock(*this);
    if (lock.held() && entry.version == ready.version) {
        entry.taken.set(rank_, true);
        if (table_.taken_by_all(entry)) {
            table_.free(ready.entry);
        }
    }
    return true;
}

void SharedClaims::publish(const Found& mine, const std::byte* data) {
    Entry& entry = table_.entry(mine.entry);
    std::byte* const to = table_.writable_data_of(mine.entry);
    if (to == nullptr) {
        give_up(mine);
        return;
    }
    std::memcpy(to, data, entry.stretch.bytes);
    {
        const Lock lock(*this);
        if (!lock.held()) {
            return;
        }
        entry.taken.set(rank_, true);
        entry.state = Entry::Ready;
        if (table_.taken_by_all(entry) || entry.stretch.window.step < table_.passed_by_all()) {
            table_.free(mine.entry);
        }
    }
    table_.header().bell.ring();
}

void SharedClaims::give_up(const Found& mine) {
    {
        const Lock lock(*this);
        if (!lock.held()) {
            return;
        }
        table_.free(mine.entry);
    }
    table_.header().bell.ring();
}

void SharedClaims::moved(double silent_s) {
    table_.cell(rank_).moved_ns = now_ns() - static_cast<std::int64_t>(silent_s * 1e9);
}

std::uint32_t SharedClaims::ticket() const {
    return table_.header().bell.ticket();
}

void SharedClaims::wait(std::uint32_t ticket, std::int64_t timeout_ns) const {
    table_.header().bell.wait(ticket, timeout_ns, 0);
}

void SharedClaims::look_for_dead() {
    ClaimTable::RankSet claimants;
    {
        const Lock lock(*this);
        for (std::uint32_t i = 0; lock.held() && i < table_.size(); ++i) {
            if (!table_.is_free(i) && table_.entry(i).state == Entry::Coming) {
                claimants.set(table_.entry(i).owner, true);
            }
        }
    }
    for (std::uint32_t rank = 0; rank < ClaimTable::ranks_max; ++rank) {
        if (claimants.has(rank) && table_.header().ranks.has(rank) &&
            !host::is_alive(table_.cell(rank).process)) {
            lose(rank);
        }
    }
}

/// The rank is dead, or leaves. What it claimed is not touched: that would be wrong if it were not
/// dead, and another thread may be in the middle of it.
void SharedClaims::lose(std::uint32_t rank) {
    {
        const Lock lock(*this);
        if (!lock.held()) {
            return;
        }
        table_.header().ranks.set(rank, false);
        const std::uint64_t passed = table_.passed_by_all();
        table_.sweep([&](const Entry& entry) {
            return entry.stretch.window.step < passed ||
                   (entry.state == Entry::Noted ? entry.owner == rank : table_.taken_by_all(entry));
        });
    }
    table_.header().bell.ring();
}

void SharedClaims::note_overlap(std::uint64_t step) {
    std::atomic<std::uint64_t>& end = table_.header().overlap_end;
    end = std::max(end.load(), step + 1);
}

bool SharedClaims::shares(std::uint64_t step) {
    std::uint64_t first = ClaimTable::no_step;
    table_.header().first_step.compare_exchange_strong(first, step);
    first = std::min(first, step);
    return !off_ && (step < first + trial_steps || overlapped(step));
}

bool SharedClaims::overlapped(std::uint64_t step) const {
    const std::uint64_t end = table_.header().overlap_end;
    return !off_ && end > 0 && step < end + trial_steps;
}

void SharedClaims::pass(std::uint64_t step) {
    std::atomic<std::uint64_t>& passed = table_.cell(rank_).passed;
    passed = std::max(passed.load(), step + 1);
    if (table_.header().used == 0) {
        return;
    }
    const Lock lock(*this);
    if (lock.held()) {
        const std::uint64_t all = table_.passed_by_all();
        table_.sweep([&](const Entry& entry) { return entry.stretch.window.step < all; });
    }
}

void SharedClaims::leave() {
    if (table_.header().ranks.has(rank_)) {
        lose(rank_);
    }
}

std::uint64_t SharedClaims::bytes_in_use() {
    const Lock lock(*this);
    return lock.held() ? table_.bytes_in_use() : 0;
}

}  // namespace fluvial::move
