// SPDX-License-Identifier: Apache-2.0
/// Options of a series as programs say them that are not written for Fluvial's own classes: words
/// in an MPI_Info, or parameters of an ADIOS2 engine.
///
///     Series series("melt", comm, reader_options({{"start", "newest"}, {"step_timeout", "30"}}));
#pragma once

#include <map>
#include <string>

#include "fluvial/scan/series.hpp"
#include "fluvial/stage/series_writer.hpp"

namespace fluvial::scan {

/// Names are those of Python's fluvial.open(); numbers have no units (seconds, bytes), and truths
/// are "true" or "1", "false" or "0".
using NamedOptions = std::map<std::string, std::string>;

/// What becomes of options that are those of the other end: one text may say those of both.
enum class OtherEnd { Refused, Ignored };

/// Throw InvalidArgument that names the option: for one that there is not, and for a value that
/// makes no sense.
stage::SeriesWriterOptions writer_options(const NamedOptions& said,
                                          OtherEnd other = OtherEnd::Refused);
SeriesOptions reader_options(const NamedOptions& said, OtherEnd other = OtherEnd::Refused);

}  // namespace fluvial::scan
