// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/stage/stream_fixture.hpp"
#include "fluvial/stage/yielding_groups.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// Makes random calls of several writer ranks and reader jobs on one control block and keeps its
/// own record of what each reader must get: all steps that completed since it joined, in order, but
/// for discarded steps. Some jobs have a policy of their own.
class Game {
  public:
    Game(unsigned seed, FullPolicy full)
        : random_(seed),
          stream_(options(random_, full), 1 + static_cast<int>(random_() % 3)),
          writers_(static_cast<std::size_t>(stream_.control.writer_ranks())) {}

    void play(int moves) {
        for (int move = 0; move < moves; ++move) {
            const auto dice = random_() % 100;
            if (dice < 40) {
                write(random_() % writers_.size());
            } else if (dice < 45 && jobs_.size() < 4) {
                join();
            } else if (dice < 47 && !jobs_.empty()) {
                leave(random_() % jobs_.size());
            } else if (!jobs_.empty()) {
                read(jobs_[random_() % jobs_.size()]);
            }
            check_bounds();
        }
        for (Job& job : jobs_) {
            check_books(job);
        }
        read_all();
    }

  private:
    static WriterOptions options(std::mt19937& random, FullPolicy full) {
        const auto steps = 1 + static_cast<std::int64_t>(random() % 4);
        return {.queue_steps = steps,
                .reserve = static_cast<std::int64_t>(random() % 4) % steps,
                .queue_bytes = 1000,
                .full = full};
    }

    struct Writer {
        std::uint64_t step = 0;
        int slot = -1;  ///< of the open step
    };
    struct Rank {
        int cell;
        int open = -1;
        std::vector<int> views;
        std::vector<std::uint64_t> seen;
    };
    struct Job {
        std::vector<Rank> ranks;
        std::uint64_t from = 0;  ///< complete steps from here on are wanted
        std::optional<FullPolicy> full{};
    };

    void write(std::size_t rank) {
        Writer& writer = writers_[rank];
        if (writer.slot < 0) {
            if (const auto admission = admit(stream_.control, writer.step)) {
                writer.slot = admission->slot;
            }
            return;
        }
        const auto bytes = random_() % 200;
        const Grant grant = grant_bytes(stream_.control, writer.slot, bytes);
        if (grant == Grant::Wait || grant == Grant::NeverFits) {
            if (grant == Grant::Wait) {
                REQUIRE(stream_.control.header().full == FullPolicy::Block);
            }
            if (random_() % 2 == 0) {
                return;
            }
        }
        const bool spoiled = random_() % 20 == 0;
        if (spoiled) {
            spoiled_.insert(writer.step);
        }
        if (finish_writing(stream_.control, writer.slot, static_cast<int>(rank), {}, spoiled)) {
            REQUIRE((complete_.empty() || complete_.back() < writer.step));
            complete_.push_back(writer.step);
        }
        writer = {writer.step + 1, -1};
    }

    void join() {
        const Start start = random_() % 2 == 0 ? Start::Oldest : Start::Next;
        Job job;
        if (random_() % 2 == 0) {
            job.full = random_() % 2 == 0 ? FullPolicy::DiscardOldest : FullPolicy::DiscardNewest;
        }
        const Begin begin(start, 0, job.full);
        for (const int cell : stream_.join(1 + static_cast<int>(random_() % 3), begin)) {
            job.ranks.push_back({cell, -1, {}, {}});
        }
        job.from = stream_.group_of(job.ranks[0].cell).next_step;
        jobs_.push_back(job);
    }

    void read(Job& job) {
        Rank& rank = job.ranks[random_() % job.ranks.size()];
        if (!rank.views.empty() && random_() % 3 == 0) {
            release_lease(stream_.control, rank.cell, rank.views.back());
            rank.views.pop_back();
        } else if (rank.open >= 0) {
            REQUIRE(stream_.step_in(rank.open) == rank.seen.back());
            finish_reading(stream_.control, rank.cell, rank.open);
            rank.views.push_back(rank.open);
            rank.open = -1;
        } else if (may_take(rank) && (rank.open = take(stream_.control, rank.cell)) >= 0) {
            const std::uint64_t step = stream_.step_in(rank.open);
            REQUIRE((rank.seen.empty() || rank.seen.back() < step));
            rank.seen.push_back(step);
        }
        for (const Rank& other : job.ranks) {  // all ranks get the same steps
            const std::size_t both = std::min(rank.seen.size(), other.seen.size());
            REQUIRE(std::equal(rank.seen.begin(), rank.seen.begin() + static_cast<long>(both),
                               other.seen.begin()));
        }
        for (const int slot : rank.views) {
            REQUIRE(stream_.control.slots()[slot].state.load() == SlotState::Complete);
        }
    }

    /// More memory beside the queue is an error, which yielding_groups_test.cpp looks at.
    bool may_take(const Rank& rank) const {
        return stream_.group_of(rank.cell).yields == 0 ||
               (kept_beside(stream_.control).steps < kept_steps_max(stream_.control) &&
                kept_beside(stream_.control).bytes <= stream_.control.header().queue_bytes);
    }

    /// All ranks of a job close the stream, with what they have open and look at.
    void leave(std::size_t index) {
        for (Rank& rank : jobs_[index].ranks) {
            if (rank.open >= 0) {
                finish_reading(stream_.control, rank.cell, rank.open);
            }
            stage::leave(stream_.control, rank.cell);
            vacate(stream_.control, rank.cell);
        }
        jobs_.erase(jobs_.begin() + static_cast<long>(index));
    }

    /// The readers that are still there take all their steps; then nothing is kept for any of them.
    void read_all() {
        for (Job& job : jobs_) {
            for (Rank& rank : job.ranks) {
                if (rank.open >= 0) {
                    finish_reading(stream_.control, rank.cell, rank.open, true);
                }
                for (const int slot : rank.views) {
                    release_lease(stream_.control, rank.cell, slot);
                }
            }
        }
        for (Job& job : jobs_) {
            bool more = true;
            while (std::exchange(more, false)) {  // no rank gets far ahead of the others
                for (Rank& rank : job.ranks) {
                    while ((rank.open = take(stream_.control, rank.cell)) >= 0) {
                        finish_reading(stream_.control, rank.cell, rank.open, true);
                        more = true;
                    }
                }
            }
        }
        for (const Slot& slot : stream_.control.slots()) {
            REQUIRE((slot.state.load() != SlotState::Complete ||
                     std::all_of(std::begin(slot.need), std::end(slot.need),
                                 [](std::uint32_t ranks) { return ranks == 0; })));
        }
    }

    void check_bounds() {
        REQUIRE(queue_depth(stream_.control) <=
                static_cast<int>(stream_.control.header().queue_steps));
        REQUIRE(bytes_in_use(stream_.control) <= 2 * stream_.control.header().queue_bytes);
        REQUIRE(kept_beside(stream_.control).bytes <= 3 * stream_.control.header().queue_bytes);
        if (stream_.control.header().full == FullPolicy::Block) {
            REQUIRE(stream_.counters().steps_discarded == 0);
        }
    }

    /// Every complete step was seen, is waiting, or is counted as discarded.
    void check_books(const Job& job) {
        const GroupCell& group = stream_.group_of(job.ranks[0].cell);
        const auto most = std::max_element(
            job.ranks.begin(), job.ranks.end(),
            [](const Rank& a, const Rank& b) { return a.seen.size() < b.seen.size(); });
        std::uint64_t waiting = 0;
        const int g = static_cast<int>(stream_.control.reader(job.ranks[0].cell).group);
        for (const Slot& slot : stream_.control.slots()) {
            waiting += slot.state.load() == SlotState::Complete && slot.need[g] != 0 &&
                       slot.step.load() >= group.next_step;
        }
        const auto wanted = static_cast<std::uint64_t>(
            std::count_if(complete_.begin(), complete_.end(),
                          [&](std::uint64_t step) { return step >= job.from; }));
        REQUIRE(most->seen.size() + waiting <= wanted);
        // Steps that were discarded before they completed are in the count, too.
        REQUIRE(wanted <= most->seen.size() + waiting + group.steps_discarded);
        std::uint64_t missing = 0;  // between those that it has had
        for (std::size_t i = 1; i < most->seen.size(); ++i) {
            for (std::uint64_t step = most->seen[i - 1] + 1; step < most->seen[i]; ++step) {
                missing += spoiled_.contains(step) ? 0 : 1;
            }
        }
        REQUIRE(missing <= group.steps_discarded);
        if (!job.full) {
            REQUIRE(group.steps_discarded <= stream_.counters().steps_discarded);
        }
    }

    std::mt19937 random_;
    Stream stream_;
    std::vector<Writer> writers_;
    std::vector<Job> jobs_;
    std::vector<std::uint64_t> complete_;
    std::set<std::uint64_t> spoiled_;
};

}  // namespace

TEST_CASE(
    "whatever writers and readers do, each reader gets its steps in order and the books agree") {
    const unsigned first = test_seed(1);
    for (const auto full :
         {FullPolicy::Block, FullPolicy::DiscardNewest, FullPolicy::DiscardOldest}) {
        for (unsigned seed = first; seed != first + 40; ++seed) {
            CAPTURE(seed);
            CAPTURE(static_cast<int>(full));
            Game(seed, full).play(3000);
        }
    }
}
