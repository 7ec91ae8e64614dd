// SPDX-License-Identifier: Apache-2.0
/// A stream with one writer rank that writes steps of datasets, for tests of how they reach readers
/// elsewhere.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/step_record.hpp"
#include "fluvial/stage/stream_fixture.hpp"

namespace fluvial::stage {

/// The memory of a single rank, as a host serves it.
inline std::vector<host::Mapping> mapped(const Arena& arena) {
    std::vector<host::Mapping> arenas;
    arenas.push_back(arena.file().map(host::Access::ReadOnly));
    return arenas;
}

struct WrittenSteps {
    explicit WrittenSteps(const WriterOptions& options) : stream(options) {}

    /// Writes a step with `count` numbers in each dataset, that of its index everywhere. False when
    /// the queue has no room for it.
    bool write(const std::vector<std::string>& names, Index count) {
        const auto admission = admit(stream.control, steps);
        if (!admission) {
            return false;
        }
        for (const std::uint64_t offset : blocks[admission->slot]) {
            arena.free(offset);
        }
        blocks[admission->slot].clear();
        writer.begin({{"time", static_cast<double>(steps)}});
        std::uint64_t bytes = 0;
        for (const std::string& name : names) {
            const auto size = static_cast<std::uint64_t>(count) * sizeof(double);
            const std::uint64_t offset = arena.allocate(size);
            blocks[admission->slot].push_back(offset);
            std::fill_n(reinterpret_cast<double*>(arena.at(offset)), count,
                        static_cast<double>(steps));
            writer.add(name, DType::Float64, {count}, {{"of", name}}, {{0}, {count}}, offset);
            bytes += size;
        }
        REQUIRE(grant_bytes(stream.control, admission->slot, bytes) == Grant::Given);
        const RecordPlace record = writer.finish();
        blocks[admission->slot].push_back(record.offset);
        finish_writing(stream.control, admission->slot, 0, record, false);
        ++steps;
        return true;
    }

    Stream stream;
    Arena arena{"test", 1 << 26, 1 << 20};
    RecordWriter writer{arena, stream.control.writer(0)};
    std::uint64_t steps = 0;
    std::map<int, std::vector<std::uint64_t>> blocks;  ///< of the arena, by slot
};

}  // namespace fluvial::stage
