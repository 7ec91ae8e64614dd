// SPDX-License-Identifier: Apache-2.0
/// A series of steps, whether they come from a stream or lie in files: one call opens either, and
/// what is done with a step is the same.
///
///     Series series("run.h5", comm);  // or "data%T.h5", "run.nc", "run.zarr", or a stream: "melt"
///     while (const auto step = series.next()) {
///         const Variable e = step->variable("meshes/E/x");
///         e.where(Comparison::Greater, 0).reduce({"mean", "max"}, {}, comm);
///     }
///     series.close();
///
/// Several files are one series, joined along the axis of their records, in the order of a list or
/// sorted by name for a pattern; all of a variable is one scan, whatever files it lies in:
///
///     const Series year("t_2026-*.nc", comm);     // or {"jan.nc", "feb.nc"}: 365 steps
///     year.variable("t").groupby("time", month).reduce({"mean"}, {"time"}, comm);
///
/// The steps of a stream are those of stage::Reader, as they come; of files, those that
/// StoredSteps finds (stored_steps.hpp), or, with SeriesOptions::follow, each as it is finished.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fluvial/base/movable.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/series_step.hpp"
#include "fluvial/stage/series_options.hpp"
#include "fluvial/store/file_names.hpp"

namespace fluvial::scan {

using SeriesOptions = stage::SeriesReaderOptions;

/// Move-only; calls of one that has been moved from throw InvalidArgument.
class Series {
  public:
    /// Collective over `comm`, whose ranks open the same: a stream as stage::Reader does, files
    /// each for itself. A list and a pattern are files. Throws on every rank what stage::Reader,
    /// store::FileNames::paths and store::open_file throw, and InvalidArgument for an engine that
    /// there is not, or that does not read what was found, for a list of files that are to be
    /// followed, and where ranks see different files or numbers of steps; and what
    /// stage::with_job_options throws.
    Series(const store::FileNames& name, const mpi::Comm& comm, const SeriesOptions& options = {});

    Series(Series&&) noexcept;
    Series& operator=(Series&&) noexcept;
    ~Series();

    bool live() const;
    /// Those that hold: the program's, and for the rest its job script's.
    const SeriesOptions& options() const;
    /// The next step; none at the end. Of a stream it waits, and ends the step before; errors are
    /// those of stage::Reader::next. Of files that are followed it waits, too, and is collective:
    /// TimedOut when no step comes, PeerLost when the writer is gone. Of other files local.
    /// `timeout_s` is how long it waits here, in place of what the options say.
    std::optional<SeriesStep> next(std::optional<double> timeout_s = {});
    /// Of files: how many steps there are. Throws InvalidArgument for a stream, and for files that
    /// are followed.
    std::size_t size() const;
    /// Of files: the step at a position. Throws InvalidArgument outside of them, and as size().
    SeriesStep at(std::size_t position) const;
    /// Of files: a variable of all steps together, with the axis of the records; of openPMD, by the
    /// name that it has in the file, "data/0/meshes/E/x". Throws InvalidArgument as size(), for
    /// numbered files, and as Variable::open.
    Variable variable(const std::string& name) const;
    /// The attributes of the whole series; of files that are followed, as they are with the step
    /// that was given last.
    Attributes attributes() const;
    /// Leaves a stream; next() throws InvalidArgument behind it. Collective of a stream and of
    /// files that are followed.
    void close();

  private:
    struct State;
    Movable<State> state_;
};

}  // namespace fluvial::scan
