// SPDX-License-Identifier: Apache-2.0
/// The iterations of an openPMD file, each as a file of its own.
///
///     for (const Iteration& iteration : iterations_of(open_file("run.h5"))) {
///         iteration.contents->dataset("meshes/E/x");
///     }
///
/// openPMD 1.1, "Iterations and Time Series": all of them in groups /data/%T/ of one file
/// ("groupBased"), one a file ("fileBased"), or a single one without a group of its own
/// ("variableBased").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/store/file.hpp"

namespace fluvial::store {

struct Iteration {
    std::uint64_t index = 0;
    /// Its datasets by their names in the iteration, such as "meshes/E/x"; attributes are those of
    /// the iteration: time, dt, timeUnitSI. Messages name datasets by their path in the file.
    std::shared_ptr<const File> contents;
};

bool is_openpmd(const File& file);

/// Whether what a group has are components of one record, such as "meshes/E": none of them is a
/// coordinate of another. By openPMD's attributes of a mesh, or by the path in a step.
bool is_record(const File& file, const std::string& group);

/// In ascending order; none where the file has none yet. Throws InvalidArgument for a file that is
/// not openPMD, or whose basePath cannot be used; DamagedFile.
std::vector<Iteration> iterations_of(const std::shared_ptr<const File>& file);

}  // namespace fluvial::store
