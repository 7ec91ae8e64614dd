// SPDX-License-Identifier: Apache-2.0
/// Files that are laid out by one process, and whose elements any number of processes write.
///
///     auto output = make_output("hdf5", "run.h5");           one process
///     const Places places = output->lay_out(contents);
///     write_part(file, *places.begins[0], shape, region, view);  each process, with a descriptor
///     output->finish();                                      one process, when all have written
///
/// So parallel output needs no parallel library of the format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/store/packing.hpp"

namespace fluvial::store {

/// All that the ranks of a job have put into one step, but its elements.
struct StepContents {
    std::uint64_t number = 0;  ///< of the iteration
    Attributes attributes;     ///< of the step and of groups (group_attributes.hpp)
    Attributes of_series;
    std::vector<DatasetDescription> datasets;  ///< chunks say which rank has what, without places
};

/// Where the elements of a step are written; entries are those of the step's datasets.
struct Places {
    /// The byte at which the first element lies; none of a dataset without elements.
    std::vector<std::optional<std::uint64_t>> begins;
    /// Datasets that are there already, and must have the same elements again; empty: none is.
    std::vector<bool> kept;
    /// Datasets that are compressed, whose chunks get their places one by one; empty: none is.
    std::vector<std::optional<Packing>> packings;
    bool big_endian = false;
};

/// A chunk of a compressed dataset, as it will lie in the file.
struct PackedChunk {
    std::size_t dataset = 0;  ///< its position in the step
    Coordinates offset;       ///< of its first element
    std::uint64_t bytes = 0;
    std::uint32_t filters_left_out = 0;  ///< bit i: filter i was not applied
};

/// A new file to which steps are added. One process has it. Every method throws SystemError where
/// the disk has no room or the file cannot be written.
class Output {
  public:
    virtual ~Output() = default;
    /// Makes the objects of a step, with all their room, and says where it is. The first step makes
    /// the file. Throws InvalidArgument where the format has no place for what was put.
    virtual Places lay_out(const StepContents& step) = 0;
    /// Makes room for chunks of compressed datasets of the step that was laid out last, and says at
    /// which byte each begins.
    virtual std::vector<std::uint64_t> place(const std::vector<PackedChunk>& chunks);
    /// Makes the step that was laid out last a part of the file, now that it is written.
    virtual void finish() = 0;
    /// Takes a step out again that could not be written.
    virtual void give_up(std::uint64_t number) = 0;
    /// Makes the file of a series that has attributes alone; no step was laid out.
    virtual void make_without_steps(const Attributes& of_series) = 0;
    /// Idempotent.
    virtual void close() = 0;
};

/// The engines that write files from C++.
bool writes_files(const std::string& engine);

/// `pattern`: that of the names of files of one iteration each, such as "data%T.h5". Throws
/// InvalidArgument for an engine that is none of these, or that this build was made without, and
/// for a compression that it does not have.
std::unique_ptr<Output> make_output(const std::string& engine, const std::string& path,
                                    const std::optional<std::string>& pattern = {},
                                    const std::string& compression = {});

/// Writes bytes of a file. Local. Throws SystemError, which names `path`.
void write_at(int file, const std::string& path, std::span<const std::byte> data, std::uint64_t at);

/// Writes a part of a dataset whose first element lies at the byte `begin` of a file. Elements that
/// are one piece both in memory and in the file go in one call; others are copied row by row first.
/// Local. Throws SystemError, which names `path`.
void write_part(int file, const std::string& path, std::uint64_t begin, const Coordinates& shape,
                const Region& region, const ArrayView& elements);

/// Whether such a part is what the file has there. Local. Throws SystemError.
bool has_part(int file, const std::string& path, std::uint64_t begin, const Coordinates& shape,
              const Region& region, const ArrayView& elements);

/// Has the file system set blocks aside up to the byte `end`, so that no write finds the disk full.
/// Throws SystemError when there is no room.
void take_room(int file, const std::string& path, std::uint64_t end);

}  // namespace fluvial::store
