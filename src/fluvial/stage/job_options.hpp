// SPDX-License-Identifier: Apache-2.0
/// Options of series that a job script says, without touching the program: in a file of TOML or
/// JSON, or in text of either. Those of all series come first; a table [series.NAME] has those of
/// the series that the program calls NAME, and `path` in it is what is opened in its place.
///
///     queue_steps = 8              # of all series
///
///     [series.melt]                # of the series that the program calls "melt"
///     engine = "hdf5"
///     path = "out/melt%T.h5"
///
/// What the program says itself holds before it: an option that is not as it is by default.
/// Python's fluvial.open() has the same (python/fluvial/base/job_options.py).
#pragma once

#include <optional>
#include <string>

#include "fluvial/stage/series_options.hpp"

namespace fluvial::stage {

/// A series as the program and its job script say it together.
template <class Options>
struct Choice {
    std::optional<std::string> path{};  ///< what the job script says is opened in its place
    Options options{};
    /// An option that Python alone has, and the job script says of files: "zarr_format of
    /// FLUVIAL_OPTIONS"; empty: none.
    std::string of_python{};
};

/// `name` is that of the series in the program; none: it has none. Local. Throw NoSuchFile for a
/// file that is not there, UnknownName for an option that there is not, of any series,
/// InvalidArgument for what is neither TOML nor JSON, and for values that make no sense.
Choice<SeriesWriterOptions> with_job_options(const std::optional<std::string>& name,
                                             const SeriesWriterOptions& options);
Choice<SeriesReaderOptions> with_job_options(const std::optional<std::string>& name,
                                             const SeriesReaderOptions& options);

/// Throws InvalidArgument where files would be opened without an option that the job script says.
void refuse_options_of_python(const std::string& of_python);

}  // namespace fluvial::stage
