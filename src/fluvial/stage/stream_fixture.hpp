// SPDX-License-Identifier: Apache-2.0
/// A control block without any process behind it, and the calls of one writer rank and one reader
/// rank on it: for the tests of the queue and of the membership.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {

struct Stream {
    explicit Stream(const WriterOptions& options, int writer_ranks = 1)
        : control(ControlBlock::create("test", "here", writer_ranks, options)) {}

    /// A reading job of `size` ranks, attached at once; its cells in order of rank.
    std::vector<int> join(int size = 1, const Begin& begin = Start::Oldest) {
        const int group = open_group(control, size, begin);
        std::vector<int> cells;
        for (int rank = 0; rank < size; ++rank) {
            cells.push_back(
                open_reader(control, group, rank, static_cast<std::uint32_t>(1000 + rank)));
            activate_reader(control, cells.back());
        }
        return cells;
    }

    /// All writer ranks write `step` with `bytes` each. False when it was discarded.
    bool write(std::uint64_t step, std::uint64_t bytes = 0) {
        bool kept = true;
        for (int rank = 0; rank < control.writer_ranks(); ++rank) {
            const auto admission = admit(control, step);
            REQUIRE(admission.has_value());
            bool accepted = admission->accepted;
            if (accepted && bytes > 0) {
                const Grant grant = grant_bytes(control, admission->slot, bytes);
                REQUIRE((grant == Grant::Given || grant == Grant::Discarded));
                accepted = grant == Grant::Given;
            }
            finish_writing(control, admission->slot, rank, {}, false);
            kept = kept && accepted;
        }
        return kept;
    }

    std::uint64_t step_in(int slot) const { return control.slots()[slot].step.load(); }

    /// Takes a step, and finishes it without a view.
    std::optional<std::uint64_t> read(int cell) {
        const int slot = take(control, cell);
        if (slot < 0) {
            return std::nullopt;
        }
        const std::uint64_t step = step_in(slot);
        finish_reading(control, cell, slot);
        release_lease(control, cell, slot);
        return step;
    }

    const Counters& counters() const { return control.header().counters; }
    const GroupCell& group_of(int cell) const {
        return control.group(static_cast<int>(control.reader(cell).group));
    }

    ControlBlock control;
};

}  // namespace fluvial::stage
