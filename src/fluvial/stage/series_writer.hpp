// SPDX-License-Identifier: Apache-2.0
/// The writing end of a series, whether it is a stream or lies in files: one call opens either, and
/// what is done with a step is the same, so that a job script can switch, by the name or by its
/// options (stage/job_options.hpp).
///
///     SeriesWriter series("run.h5", comm);          // or "data%T.h5", or a stream: "melt"
///     for (…) {
///         auto step = series.begin_step({{"time", t}});
///         step.put("meshes/E/x", ArrayView(e, DType::Float64, {n}), {offset}, {n_total});
///         step.end();
///     }
///     series.close();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/series_options.hpp"
#include "fluvial/stage/writer.hpp"

namespace fluvial::stage {

/// A step being written by this rank. Going out of scope without end() gives the step up on all
/// ranks; of files that waits for them.
class SeriesWriteStep {
  public:
    std::uint64_t index() const;
    /// False when the policy of a stream's queue discarded the step; files take all.
    bool accepted() const;
    /// As WriteStep::put and FileWriteStep::put. Local.
    void put(const std::string& name, const ArrayView& data, const Coordinates& offset,
             const Coordinates& shape, const Attributes& attributes = {});
    /// As WriteStep::span and FileWriteStep::span. Local.
    MutableArrayView span(const std::string& name, DType dtype, const Region& region,
                          const Coordinates& shape, const Attributes& attributes = {});
    /// Offers the step to readers, local; or writes it into the file, collective. Errors are those
    /// of WriteStep::end and FileWriteStep::end.
    void end();
    void abandon();

  private:
    friend class SeriesWriter;
    explicit SeriesWriteStep(std::variant<WriteStep, FileWriteStep> step)
        : step_(std::move(step)) {}
    std::variant<WriteStep, FileWriteStep> step_;
};

/// What a step says beside its attributes.
struct StepSaid {
    /// Number of the step for its readers, as openPMD's iterations have it; numbers ascend in
    /// files. Without it, one more than the last.
    std::optional<std::uint64_t> iteration{};
    /// Attributes of species, records and all meshes by their paths, such as "particles/e".
    GroupAttributes groups{};
};

class SeriesWriter {
  public:
    /// Collective over `comm`. Throws on every rank what Writer and FileWriter throw, and
    /// InvalidArgument for an engine that there is not, or where ranks mean different ones or
    /// different files, and what with_job_options (stage/job_options.hpp) throws.
    SeriesWriter(const std::string& name, const mpi::Comm& comm,
                 const SeriesWriterOptions& options = {});

    /// Whether it is a stream.
    bool live() const { return std::holds_alternative<Writer>(writer_); }
    /// Attributes of the whole series; set them before the first step.
    void set_attributes(const Attributes& attributes);
    /// Local; of a stream it waits as the queue's policy says. Throws InvalidArgument for a path
    /// that no group can have, and, in files, for an iteration that is not above the last one.
    SeriesWriteStep begin_step(const Attributes& attributes = {}, const StepSaid& said = {});
    /// Local of a stream, collective of files. Errors are those of Writer and FileWriter.
    void close();

  private:
    std::variant<Writer, FileWriter> writer_;
    /// Of a stream, once an iteration was said: that of the next step. Files count by themselves.
    std::optional<std::uint64_t> next_iteration_;
};

}  // namespace fluvial::stage
