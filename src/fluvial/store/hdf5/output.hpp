// SPDX-License-Identifier: Apache-2.0
/// A file of HDF5, by openPMD 1.1, whose datasets are laid out before their elements are written.
#pragma once

#include "fluvial/store/hdf5/session.hpp"
#include "fluvial/store/openpmd_layout.hpp"
#include "fluvial/store/output.hpp"

namespace fluvial::store {

class Hdf5Output : public Output {
  public:
    /// Local; the file is made by the first step.
    Hdf5Output(std::string path, std::optional<std::string> pattern, Compression compression)
        : path_(std::move(path)),
          pattern_(std::move(pattern)),
          compression_(std::move(compression)) {}
    ~Hdf5Output() override;

    Places lay_out(const StepContents& step) override;
    std::vector<std::uint64_t> place(const std::vector<PackedChunk>& chunks) override;
    void finish() override;
    void give_up(std::uint64_t number) override;
    void make_without_steps(const Attributes& of_series) override;
    void close() override;

  private:
    void make_file(const Attributes& of_series);
    void make_room(const OpenPmdLayout& layout, const Places& places) const;
    void flush();

    std::string path_;
    std::optional<std::string> pattern_;
    Compression compression_;
    Hdf5Id file_;
    std::vector<std::string> names_{};  ///< of the datasets of the step that was laid out last
};

}  // namespace fluvial::store
