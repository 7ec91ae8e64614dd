// SPDX-License-Identifier: Apache-2.0
/// Steps as records along an axis of time: what is in each of them, and what is there once. Formats
/// of labelled arrays (netCDF) have it so: a dataset gets an axis of time in front, and the
/// coordinates of its other axes are variables of their own, which do not change.
///
/// | what was put                                  | what it becomes                        |
/// |-----------------------------------------------|----------------------------------------|
/// | a dataset                                     | a variable with the axis of time       |
/// | one of one axis that is called like that axis | the coordinate of the axis, there once |
/// | gridSpacing, gridGlobalOffset of a mesh       | the coordinates of its axes, there once|
/// | an attribute of the step that is a number     | a variable of one number a step        |
/// | attributes of the series and of datasets      | the file's, and the variables'         |
///
/// Names of axes are those of the attribute axisLabels; without it each dataset has its own. The
/// time of a step has the units that the step says by timeUnits and timeCalendar.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/store/output.hpp"

namespace fluvial::store {

inline constexpr const char* record_axis = "time";
/// Marks a variable of one number a step that is an attribute of the step.
inline constexpr const char* step_attribute = "step_attribute";

/// A variable of a file whose steps are records.
struct RecordVariable {
    std::string name;
    DType dtype = DType::Float64;
    std::vector<std::string> dimensions;  ///< of one record, without the axis of time
    Coordinates shape;
    Attributes attributes;
    bool by_record = true;  ///< whether it has the axis of time; else it is there once
    /// Of what one process writes: coordinates, and numbers of a step. None: a dataset.
    std::optional<std::vector<std::byte>> values;
};

struct RecordLayout {
    std::vector<std::pair<std::string, Index>> dimensions;  ///< without the axis of time
    std::vector<RecordVariable> variables;

    const RecordVariable* find(const std::string& name) const;
};

/// What a file needs to hold a step. Throws InvalidArgument: an axis has two lengths or is called
/// "time", a dataset is called like an attribute of the step, an attribute of the step is no
/// number.
RecordLayout record_layout(const StepContents& step);

/// Attributes of a series, but for those that say where openPMD has its iterations, of which there
/// are none.
Attributes record_series_attributes(const Attributes& said);

/// Throws InvalidArgument, with the name of what is missing, new or different, where a step has not
/// what the first one had.
void check_alike(const RecordLayout& first, const RecordLayout& step, std::uint64_t number);

}  // namespace fluvial::store
