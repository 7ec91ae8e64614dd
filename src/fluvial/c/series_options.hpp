// SPDX-License-Identifier: Apache-2.0
/// Options of a series as C programs say them: words in an MPI_Info.
#pragma once

#include "fluvial/c/fluvial.h"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/series_writer.hpp"

namespace fluvial::c {

/// Throw InvalidArgument that names the option: for one that there is not, and for a value that
/// makes no sense.
stage::SeriesWriterOptions writer_options_of(MPI_Info info);
scan::SeriesOptions reader_options_of(MPI_Info info);

}  // namespace fluvial::c
