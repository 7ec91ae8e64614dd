// SPDX-License-Identifier: Apache-2.0
/// Options of a series as they are said by their names: words in an MPI_Info, parameters of an
/// ADIOS2 engine, lines of a job script.
///
///     Series series("melt", comm, reader_options({{"start", "next"}, {"step_timeout", "30"}}));
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fluvial/stage/series_options.hpp"

namespace fluvial::stage {

/// Names are those of Python's fluvial.open(). Times are seconds; bytes are a number, or have a
/// unit ("2 GiB"); truths are "true" or "1", "false" or "0"; `retain` is a folder, or "true" for
/// that of the contact file, and `follow` a truth, or SeriesReaderOptions::until.
using NamedOptions = std::map<std::string, std::string>;

/// What becomes of options that are those of the other end: one text may say those of both.
enum class OtherEnd { Refused, Ignored };

/// Throw InvalidArgument that names the option: for one that there is not, and for a value that
/// makes no sense.
SeriesWriterOptions writer_options(const NamedOptions& said, OtherEnd other = OtherEnd::Refused);
SeriesReaderOptions reader_options(const NamedOptions& said, OtherEnd other = OtherEnd::Refused);

/// Take what is said for those options that are as they are by default; options of the other end
/// are left aside. Throw as writer_options.
void fill_in(SeriesWriterOptions& options, const NamedOptions& said);
void fill_in(SeriesReaderOptions& options, const NamedOptions& said);

/// Of both ends, sorted.
std::vector<std::string> option_names();

}  // namespace fluvial::stage
