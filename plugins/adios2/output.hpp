// SPDX-License-Identifier: Apache-2.0
/// The writing end: puts of an ADIOS2 program become parts of a series' datasets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <adios2/cxx/IO.h>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "parameters.hpp"
#include "part.hpp"

namespace fluvial::adios2_engine {

/// The series' step begins with the first put of an array, or at EndStep, so that attributes of no
/// variable that are defined before that are in it; of those that come later, the next step has
/// them. Single values, texts and attributes of variables are put when the step ends.
class Output {
  public:
    /// Collective over `comm`.
    Output(adios2::IO io, const Parameters& parameters, mpi::Comm comm);
    ~Output();

    int rank() const { return comm_.rank(); }
    int ranks() const { return comm_.size(); }
    void begin_step();
    /// The present one, or else the last; from 0.
    std::uint64_t step() const { return ended_ - (in_step_ || ended_ == 0 ? 0 : 1); }
    void put(const Part& part, const void* data);
    /// Once the puts are performed; `data` stays as it is until then.
    void put_later(Part part, const void* data) { later_.emplace_back(std::move(part), data); }
    void put_text(const std::string& name, std::string value);
    void perform_puts();
    void end_step();
    void close();

  private:
    /// A single value, or a text.
    struct Kept {
        Part part;
        std::string bytes;
        bool is_text = false;
    };
    using ByVariable = std::map<std::string, Attributes>;

    stage::SeriesWriteStep& open_step();
    /// Throws InvalidArgument where another variable has the same one.
    std::string dataset_of(const std::string& variable);
    Attributes attributes_of_no_variable();
    ByVariable attributes_of_variables();
    void put_kept(const ByVariable& attributes);
    void say_of_arrays(const ByVariable& attributes);
    bool is_new(const std::string& name, const Attributes& attributes) const;
    void note_said(const std::string& name, const Attributes& attributes);
    void give_up_step();
    void forget_step();
    std::string names_unsaid();

    adios2::IO io_;
    mpi::Comm comm_;
    stage::SeriesWriter series_;
    std::optional<stage::SeriesWriteStep> step_;
    std::deque<std::pair<Part, const void*>> later_;
    std::map<std::string, std::string> variables_;  ///< by the names of their datasets
    std::map<std::string, Part> arrays_;            ///< put in this step, the last part of each
    std::map<std::string, Kept> kept_;              ///< of this step
    ByVariable said_;                               ///< so far, of variables
    std::optional<Attributes> of_series_;           ///< once they are said
    Attributes of_step_;       ///< the last: of no variable, beside those of the series
    std::uint64_t ended_ = 0;  ///< steps
    bool in_step_ = false;     ///< between BeginStep and EndStep
};

}  // namespace fluvial::adios2_engine
