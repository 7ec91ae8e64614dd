// SPDX-License-Identifier: Apache-2.0
/// A file of netCDF-4 with a record for each step, whose elements any process can write: a file of
/// HDF5 whose dimensions are scales.
///
/// A record has its room when it is laid out, and is one of the file when it is finished: what
/// libhdf5 knows of it is written then.
///
/// Source: "NetCDF-4 Format Specification" (Unidata) and "HDF5 Dimension Scale Specification".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/store/hdf5/session.hpp"
#include "fluvial/store/output.hpp"
#include "fluvial/store/packing.hpp"
#include "fluvial/store/record_layout.hpp"

namespace fluvial::store {

class Netcdf4Output : public Output {
  public:
    /// Local; the file is made by the first step, which says what is in each of them.
    Netcdf4Output(std::string path, Compression compression)
        : path_(std::move(path)), compression_(std::move(compression)) {}
    ~Netcdf4Output() override;

    Places lay_out(const StepContents& step) override;
    std::vector<std::uint64_t> place(const std::vector<PackedChunk>& chunks) override;
    void finish() override;
    void give_up(std::uint64_t number) override;
    void make_without_steps(const Attributes& of_series) override;
    void close() override;

  private:
    /// A variable of the file.
    struct Stored {
        Hdf5Id dataset;
        Coordinates shape;                    ///< of a record, or all of it
        std::uint64_t bytes = 0;              ///< of that
        std::uint64_t records_per_chunk = 0;  ///< 0: it is there once, or compressed
        std::uint64_t chunk_begin = 0;        ///< of the chunk that was begun last
        std::optional<Packing> packing{};
    };

    void make_file(const RecordLayout& layout, const StepContents& step);
    void make_variable(const RecordVariable& variable, const StepContents& step, bool borrowed);
    void make_dimensions(const RecordLayout& layout);
    Hdf5Id make_scale(const std::string& name, Index length);
    void make_room(const RecordLayout& layout);
    void begin_chunks();
    void extend(std::uint64_t records);
    std::uint64_t begin_of(const std::string& name) const;
    void write(std::span<const std::byte> bytes, std::uint64_t at) const;
    void forget();

    std::string path_;
    Compression compression_;
    Hdf5Id file_;
    std::optional<RecordLayout> layout_{};  ///< of the first step
    std::map<std::string, Stored> stored_{};
    Hdf5Id scale_of_records_;           ///< where steps have no time: then the axis has no variable
    std::vector<std::string> names_{};  ///< of the datasets of the step that was laid out last
    std::uint64_t records_ = 0;
    bool without_steps_ = false;
};

}  // namespace fluvial::store
