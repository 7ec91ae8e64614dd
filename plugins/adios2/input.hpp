// SPDX-License-Identifier: Apache-2.0
/// The reading end: datasets of a series' step become variables of an ADIOS2 program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <adios2/common/Selection.h>
#include <adios2/cxx/IO.h>

#include "attributes.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/series.hpp"
#include "parameters.hpp"
#include "part.hpp"

namespace fluvial::adios2_engine {

/// With each step the variables of the IO become what the step has: those that are new are defined,
/// shapes are set, and of those that it has not, none that came from here stays. So do attributes.
/// Elements of float16 are read as float32.
class Input {
  public:
    /// Collective over `comm`.
    Input(adios2::IO io, const Parameters& parameters, mpi::Comm comm);
    ~Input();

    int rank() const { return comm_.rank(); }
    int ranks() const { return comm_.size(); }
    /// Waits for as long as `step_timeout` says where the time is negative; NotReady when it is
    /// over. Collective where it is not negative.
    adios2::StepStatus begin_step(float timeout_s);
    std::uint64_t step() const { return begun_ - (begun_ == 0 ? 0 : 1); }
    void get(const Part& part, void* data) const;
    std::string get_text(const std::string& name) const;
    /// The part of a variable that a selection means. Throws InvalidArgument for those by blocks
    /// and in other memory.
    template <class T>
    Part selected(const adios2::Variable<T>& variable, const adios2::core::Selection& by) const;
    void end_step();
    void close();

  private:
    enum class Found : std::uint8_t { Step, End, NotYet };
    Found next_of_all(double timeout_s);
    Found next(std::optional<double> timeout_s);
    const scan::SeriesStep& present() const;
    const std::string& dataset_of(const std::string& variable) const;
    void define_all();
    void define_attributes(Attributes all, const AttributeTypes& types);

    adios2::IO io_;
    mpi::Comm comm_;
    scan::Series series_;
    std::optional<scan::SeriesStep> step_;
    std::map<std::string, std::string> datasets_;  ///< of the step, by the names of variables
    Attributes attributes_;                        ///< that came from here, by whole names
    AttributeTypes types_;                         ///< of these
    std::uint64_t begun_ = 0;                      ///< steps
};

template <class T>
Part Input::selected(const adios2::Variable<T>& variable, const adios2::core::Selection& by) const {
    const Coordinates shape = coordinates_from(variable.Shape());
    Part part{variable.Name(), dtype_of<T>(), whole(shape), shape, false, false};
    if (by.HasBlockSelection() || by.HasMemorySelection()) {
        throw InvalidArgument(Problem{text("this selection of '", part.name, "' is not read"),
                                      by.HasBlockSelection() ? "a block" : "a part of the memory",
                                      "a box of the global array", "Select it by start and count"});
    }
    if (by.GetSelectionType() == adios2::SelectionType::BoundingBox) {
        part.region = {coordinates_from(by.GetStart()), coordinates_from(by.GetCount())};
        check_inside(part.region, part.shape, {"a part of", part.name.c_str()});
    }
    return part;
}

}  // namespace fluvial::adios2_engine
