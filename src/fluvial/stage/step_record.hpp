// SPDX-License-Identifier: Apache-2.0
/// What one writer rank says about one step: its datasets, their attributes, and where its chunks
/// lie in its arena.
///
/// Names, dtypes and attributes are written once, as definitions that stay in the arena, linked
/// from the first; the record of a step refers to them by number. So the cost of a step depends on
/// its chunks, not on the number of steps before it, and a reader that joins late finds every
/// definition. No rank reads another's records except readers.
///
/// A step that is kept on a disk has another record there, which stands by itself: it names its
/// datasets with all of their attributes, and those of the series.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/series.hpp"
#include "fluvial/describe/step.hpp"
#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

/// The writing side: collects a rank's chunks of a step and encodes them.
class RecordWriter {
  public:
    RecordWriter(Arena& arena, WriterCell& cell) : arena_(arena), cell_(cell) {}

    /// A later call replaces it for the steps that follow.
    void define_series(SeriesDescription series);
    void begin(const Attributes& step_attributes);
    /// From now on these are the attributes of the dataset, in the place of those of earlier steps
    /// and beside those that this step has said; also where nothing of it comes into the step.
    void say(std::string_view name, const Attributes& attributes);
    /// A chunk at `arena_offset`, or on the disk (0). Attributes are said, if there are any.
    /// Returns the number of the chunk in this step.
    std::size_t add(std::string_view name, DType dtype, const Coordinates& shape,
                    const Attributes& attributes, const Region& region, std::uint64_t arena_offset);
    /// Where the chunk that has this number is on the disk.
    void set_logged(std::size_t chunk, const BytesOfFile& block) { chunks_[chunk].logged = block; }
    bool is_logged(std::size_t chunk) const { return chunks_[chunk].logged.bytes != 0; }
    /// Nothing came of the chunk.
    void forget(std::size_t chunk) {
        chunks_[chunk].forgotten = true;
        --entries_[chunks_[chunk].entry].chunk_count;
    }
    /// The chunks that are in memory alone.
    struct Unlogged {
        std::size_t chunk;
        std::uint64_t arena_offset;
        std::uint64_t bytes;
    };
    std::vector<Unlogged> unlogged() const;
    /// The step is given up: what it has said of datasets does not hold for later ones.
    void unsay();
    /// The encoded record of the step, in a block of the arena that the caller frees with the step.
    RecordPlace finish();
    /// The record that stands by itself, once all chunks are on the disk.
    Bytes logged_record() const;

  private:
    /// The attributes of a dataset, and the step, as counted by begin(), that said them; 0: none.
    struct Said {
        Attributes attributes{};
        std::uint64_t in = 0;
        void join(const Attributes& more, std::uint64_t step);
        friend bool operator==(const Said&, const Said&) = default;
    };
    struct Definition {
        std::uint32_t number = 0;
        DType dtype = DType::UInt8;
        Said written;               ///< with the definition
        Said current;               ///< as of the last put; a difference travels with each step
        std::uint64_t used_by = 0;  ///< the step, as counted by begin(), in which ...
        std::size_t entry = 0;      ///< ... this is its entry
    };
    struct HashOfName {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const {
            return std::hash<std::string_view>{}(name);
        }
    };
    struct PutChunk {
        Region region;
        std::uint64_t arena_offset = 0;
        BytesOfFile logged{};
        std::size_t entry = 0;
        std::size_t next = 0;  ///< of the same entry
        bool forgotten = false;
    };
    struct Entry {
        const std::string* name;
        const Definition* definition;
        Coordinates shape;
        std::size_t first_chunk;
        std::size_t last_chunk;
        std::uint32_t chunk_count = 0;  ///< but for those forgotten
    };
    template <class Visit>
    void for_each_chunk(const Entry& entry, Visit visit) const {
        for (std::size_t i = entry.first_chunk;; i = chunks_[i].next) {
            if (!chunks_[i].forgotten) {
                visit(chunks_[i]);
            }
            if (i == entry.last_chunk) {
                return;
            }
        }
    }
    void append_definition(const ByteWriter& payload);
    using KnownDefinition = std::pair<const std::string, Definition>;
    /// The definition of this name; null where there is none.
    KnownDefinition* find(std::string_view name);
    KnownDefinition& define(std::string_view name, DType dtype);

    Arena& arena_;
    WriterCell& cell_;
    std::uint64_t last_definition_ = 0;
    std::uint32_t definition_count_ = 0;
    std::unordered_map<std::string, Definition, HashOfName, std::equal_to<>> definitions_;
    std::map<std::string, Said, std::less<>> said_before_;  ///< of datasets still to come
    /// What held before this step, of the datasets of which it has said something.
    std::vector<std::pair<std::string, Said>> before_step_;
    std::uint64_t steps_begun_ = 0;
    SeriesDescription series_;
    Attributes step_attributes_;
    std::vector<Entry> entries_;
    /// The definitions of entries as they followed each other in the step before, or longer ago:
    /// where a step has the same, none of them is searched for.
    std::vector<KnownDefinition*> in_order_;
    std::vector<PutChunk> chunks_;
};

/// What one writer rank has written, as processes that map its memory see it.
class RecordMemory {
  public:
    /// `arena` is that rank's memory, `bytes` long.
    RecordMemory(int rank, const std::byte* arena, std::size_t bytes)
        : rank_(rank), arena_(arena), bytes_(bytes) {}

    /// Throws Error for a place that is not in the memory.
    void check(std::uint64_t offset, std::uint64_t bytes) const;
    std::span<const std::byte> block(std::uint64_t offset, std::uint64_t bytes) const {
        check(offset, bytes);
        return {arena_ + offset, bytes};
    }
    std::span<const std::byte> record(const RecordPlace& place) const {
        return block(place.offset, place.bytes);
    }
    /// Definitions that have appeared since the last call, oldest first.
    std::vector<std::span<const std::byte>> new_definitions(std::uint64_t first_definition);
    std::size_t bytes() const { return bytes_; }

  private:
    int rank_;
    const std::byte* arena_;
    std::size_t bytes_;
    std::uint64_t last_definition_ = 0;
    std::set<std::uint64_t> seen_;  ///< offsets of the definitions
};

/// The reading side, for one writer rank; remembers the definitions it has seen.
class RecordReader {
  public:
    /// That rank's memory is `bytes` long, and chunks lie in it; without `arena` they are
    /// elsewhere.
    RecordReader(int rank, std::size_t bytes, const std::byte* arena = nullptr)
        : rank_(rank), memory_(rank, arena, bytes), in_memory_(arena != nullptr) {}

    /// A chunk of a step that was read, in the order of the record.
    struct Placed {
        const std::string* name;
        DatasetDescription* dataset;
        std::size_t chunk;
    };
    using Trail = std::vector<Placed>;
    /// A record: which datasets and chunks there are, and where the chunks lie.
    struct Parts {
        std::span<const std::byte> layout;
        std::span<const std::byte> places;
    };
    static Parts parts_of(std::span<const std::byte> record);

    /// Adds what this rank says of the step to `step`, and its chunks to `trail`. Throws Error for
    /// a corrupt record and for a dataset that ranks describe differently.
    void read(std::span<const std::byte> record, StepDescription& step, Trail* trail = nullptr);
    /// The same of a record that has the layout of the one by which `step` and `trail` were made.
    void read_places(std::span<const std::byte> record, StepDescription& step,
                     std::span<const Placed> trail) const;
    /// The same of a place in the memory, and of the definitions that have appeared since.
    void read(const RecordPlace& place, std::uint64_t first_definition, StepDescription& step);
    /// The bytes of a record in the memory.
    std::span<const std::byte> record(const RecordPlace& place) const {
        return memory_.record(place);
    }
    const SeriesDescription& series() const { return series_; }
    /// Takes in definitions that have appeared since.
    void follow_definitions(std::uint64_t first_definition);
    /// Takes in one of another host.
    void define(std::span<const std::byte> definition);

  private:
    struct Definition {
        std::string name;
        DType dtype;
        Attributes attributes;
        std::uint64_t said_in = 0;
    };
    void read_dataset(ByteReader& in, ByteReader& places, StepDescription& step, Trail* trail);
    void read_place(ByteReader& places, Chunk& chunk, const std::string& name, DType dtype) const;
    void place(Chunk& chunk, std::uint64_t offset, DType dtype) const;

    int rank_;
    RecordMemory memory_;
    bool in_memory_;
    std::deque<Definition> definitions_;  ///< their names stay where they are
    SeriesDescription series_;
};

/// Adds what `record`, which stands by itself, says of a step to `step`, and of the series to
/// `series`. Throws Error as RecordReader::read.
void read_logged_record(int rank, std::span<const std::byte> record, StepDescription& step,
                        SeriesDescription& series);

}  // namespace fluvial::stage
