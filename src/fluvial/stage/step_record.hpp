// SPDX-License-Identifier: Apache-2.0
/// What one writer rank says about one step: its datasets, their attributes, and where its chunks
/// lie in its arena.
///
/// Names, dtypes and attributes are written once, as definitions that stay in the arena, linked
/// from the first; the record of a step refers to them by number. So the cost of a step depends on
/// its chunks, not on the number of steps before it, and a reader that joins late finds every
/// definition. No rank reads another's records except readers.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/control_block.hpp"

namespace fluvial::stage {

/// A hyperslab of a dataset and whose memory holds it.
struct Chunk {
    Region region;
    int rank = 0;                     ///< of the writer
    const std::byte* data = nullptr;  ///< row-major, contiguous
};

/// A dataset of one step as the reader sees it: the chunks of all writer ranks.
struct DatasetRecord {
    DType dtype = DType::UInt8;
    Coordinates shape;
    Attributes attributes;
    std::vector<Chunk> chunks;
};

struct StepRecord {
    Attributes attributes;
    std::map<std::string, DatasetRecord> datasets;
};

/// The writing side: collects a rank's chunks of a step and encodes them.
class RecordWriter {
  public:
    RecordWriter(Arena& arena, WriterCell& cell) : arena_(arena), cell_(cell) {}

    /// Series attributes; a later call replaces them for the steps that follow.
    void define_series(const Attributes& attributes);
    void begin(const Attributes& step_attributes);
    /// A chunk at `arena_offset`. Attributes are merged into those that the dataset has so far.
    void add(const std::string& name, DType dtype, const Coordinates& shape,
             const Attributes& attributes, const Region& region, std::uint64_t arena_offset);
    /// The encoded record of the step, in a block of the arena that the caller frees with the step.
    RecordPlace finish();

  private:
    struct Definition {
        std::uint32_t number;
        DType dtype;
        Attributes attributes;  ///< as written with the definition
        Attributes current;     ///< as of the last put; a difference travels with each step
    };
    struct Entry {
        const Definition* definition;
        Coordinates shape;
        ByteWriter chunks;
        std::uint32_t chunk_count = 0;
    };
    void append_definition(const ByteWriter& payload);
    Definition& define(const std::string& name, DType dtype, const Attributes& attributes);

    Arena& arena_;
    WriterCell& cell_;
    std::uint64_t last_definition_ = 0;
    std::uint32_t definition_count_ = 0;
    std::map<std::string, Definition> definitions_;
    Attributes step_attributes_;
    std::vector<Entry> entries_;
};

/// The reading side, for one writer rank; remembers the definitions it has seen.
class RecordReader {
  public:
    /// `arena` is that rank's memory, `bytes` long.
    RecordReader(int rank, const std::byte* arena, std::size_t bytes)
        : rank_(rank), arena_(arena), bytes_(bytes) {}

    /// Adds what this rank says of the step to `step`. Throws Error for a corrupt record and for a
    /// dataset that ranks describe differently.
    void read(const RecordPlace& place, std::uint64_t first_definition, StepRecord& step);
    const Attributes& series_attributes() const { return series_attributes_; }
    /// Takes in definitions that have appeared since.
    void follow_definitions(std::uint64_t first_definition);

  private:
    struct Definition {
        std::string name;
        DType dtype;
        Attributes attributes;
    };
    std::span<const std::byte> block(std::uint64_t offset, std::uint64_t bytes) const;
    void read_dataset(ByteReader& in, StepRecord& step);

    int rank_;
    const std::byte* arena_;
    std::size_t bytes_;
    std::uint64_t last_definition_ = 0;
    std::set<std::uint64_t> seen_;  ///< offsets of the definitions
    std::vector<Definition> definitions_;
    Attributes series_attributes_;
};

}  // namespace fluvial::stage
