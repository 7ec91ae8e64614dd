// SPDX-License-Identifier: Apache-2.0
/// A file of netCDF (CDF-5) with a record for each step, whose elements any process can write.
///
/// One process writes the header, coordinates and numbers of steps. The header says how many
/// records there are, and gets a new number when a record is complete: whatever ends the writer
/// leaves whole records behind.
///
/// Source: "The NetCDF Classic Format Specification" (Unidata) and "CDF-5 file format
/// specification" (PnetCDF).
#pragma once

#include <map>
#include <string>

#include "fluvial/store/output.hpp"
#include "fluvial/store/record_layout.hpp"

namespace fluvial::store {

class NetcdfClassicOutput : public Output {
  public:
    /// Local; the file is made by the first step, which says what is in each of them.
    explicit NetcdfClassicOutput(std::string path) : path_(std::move(path)) {}
    NetcdfClassicOutput(const NetcdfClassicOutput&) = delete;
    NetcdfClassicOutput& operator=(const NetcdfClassicOutput&) = delete;
    ~NetcdfClassicOutput() override;

    Places lay_out(const StepContents& step) override;
    void finish() override;
    void give_up(std::uint64_t number) override;
    void make_without_steps(const Attributes& of_series) override;
    void close() override;

  private:
    void make_file();
    void write_header(RecordLayout layout, const Attributes& of_series);
    /// Where a variable lies; of a record that of the one being written.
    std::uint64_t begin_of(const RecordVariable& variable) const;
    void write(std::span<const std::byte> bytes, std::uint64_t at) const;

    std::string path_;
    int file_ = -1;
    std::optional<RecordLayout> layout_;  ///< of the first step
    std::map<std::string, std::uint64_t> begins_;
    std::uint64_t first_record_ = 0, record_bytes_ = 0, records_ = 0;
    bool without_steps_ = false;
};

}  // namespace fluvial::store
