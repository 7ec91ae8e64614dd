// SPDX-License-Identifier: Apache-2.0
/// What a program may choose of a series, whether it is a stream or lies in files.
///
/// What it leaves as it is here, its job script may say, without touching the program: in the file
/// that FLUVIAL_OPTIONS names, or `job` (stage/job_options.hpp).
#pragma once

#include <optional>
#include <string>

#include "fluvial/stage/options.hpp"

namespace fluvial::stage {

struct SeriesWriterOptions {
    /// "stage" for streams, "hdf5" for files of openPMD 1.1 in HDF5, "netcdf" (CDF-5) and "netcdf4"
    /// for labelled arrays, a record for each step (store/record_layout.hpp). Empty: as the job
    /// script says, or FLUVIAL_ENGINE, or else as the name says: files where it has the suffix of a
    /// format, a "/" or a "%".
    std::string engine{};
    /// Of files, as FileWriterOptions::compression; without effect on a stream.
    std::string compression{};
    /// Of files, as FileWriterOptions::aggregators; without effect on a stream.
    std::optional<int> aggregators{};
    /// Of a stream; of these files have `step_timeout_s` and `stall_timeout_s`.
    WriterOptions stream{};
    /// Options of the job script: a path, or text of TOML or JSON; none: FLUVIAL_OPTIONS.
    std::optional<std::string> job{};
};

struct SeriesReaderOptions {
    /// "stage" for streams; "hdf5", "netcdf", "zarr" or "raw" for files of it. Empty: as the job
    /// script says, or FLUVIAL_ENGINE, or else as the name says: files where one of this name
    /// exists, or it has the suffix of a format, a "/" or a "%".
    std::string engine{};
    /// Files that are still being written: next() waits for steps, until their writer has closed
    /// them. Those of a pattern are joined as they appear, and only `until` says that no more will.
    /// Without effect on streams, which are always followed.
    bool follow = false;
    /// A file that somebody makes when no step will come, for files of programs that do not say.
    std::string until{};
    /// Of a stream. Of files that are followed `rendezvous_timeout_s` is how long they are waited
    /// for, and `step_timeout_s` how long a further step is.
    ReaderOptions stream{};
    /// As SeriesWriterOptions::job.
    std::optional<std::string> job{};
};

}  // namespace fluvial::stage
