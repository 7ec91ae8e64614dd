// SPDX-License-Identifier: Apache-2.0
/// The writing end of a series in files: what a stream would carry goes where the format has it.
/// One rank lays out the file, and each writes its own parts; no parallel library is needed.
///
/// | at the end of a step       | rank 0                        | every rank                    |
/// |----------------------------|-------------------------------|-------------------------------|
/// | all have come, or TimedOut |                               | tells what it has put         |
/// | the parts are a whole      |                               | InvalidArgument, or goes on   |
/// |                            | makes the objects of the step | waits for the places          |
/// | the places are known       |                               | writes its own elements there |
/// | all have written           | makes the step a part of the  | the step has ended            |
/// |                            | file, notes it for followers  |                               |
/// | any rank failed            | takes the step out again      | throws what that rank threw   |
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fluvial/base/movable.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::stage {

struct FileWriterOptions {
    std::string engine = "hdf5";  ///< or "netcdf", "netcdf4"
    /// Of HDF5, by each rank for its own parts: "gzip", or with a level of 1 to 9 as "gzip:9".
    /// Datasets are shuffled and deflated in chunks of at most 4 MiB, which fit what the ranks put
    /// where that is regular; those of less than 4 KiB are left as they are. Empty: not at all.
    std::string compression{};
    /// Of a rank for the others, at the end of a step and of the series; with what they compress
    /// and write there.
    double step_timeout_s = 300;
    /// How long a rank may be stopped, or its host cut off, until it is an error on all ranks.
    double stall_timeout_s = 10;
    /// Ranks that write what is not compressed, each as much as the others; the others send them
    /// what they have. 0: each rank writes its own parts. Unset: the same, but for datasets whose
    /// parts are many small pieces of the file (move/dataset_write.hpp).
    std::optional<int> aggregators{};
};

class FileWriter;

/// A step being written by this rank; as WriteStep is of a stream. What was put is kept until the
/// step ends. Going out of scope without end() is an error on all ranks, which are waited for.
class FileWriteStep {
  public:
    FileWriteStep(FileWriteStep&&) noexcept = default;
    FileWriteStep& operator=(FileWriteStep&&) = delete;
    ~FileWriteStep();

    std::uint64_t index() const;
    /// Keeps a copy of this rank's chunk at `offset` of the dataset with global `shape`. Chunks of
    /// all ranks must be all of a dataset, each element once. Attributes hold for later steps, too,
    /// until others are given; empty ones say nothing. Local. Throws InvalidArgument (outside of
    /// the shape; another dtype or shape than before; the step has ended).
    void put(const std::string& name, const ArrayView& data, const Coordinates& offset,
             const Coordinates& shape, const Attributes& attributes = {});
    /// Memory for this rank's chunk, to be filled before end(). Errors as put.
    MutableArrayView span(const std::string& name, DType dtype, const Region& region,
                          const Coordinates& shape, const Attributes& attributes = {});
    /// Writes the step. Collective, blocking. Throws on every rank: InvalidArgument (ranks differ,
    /// elements are missing, the format has no place for what was put), SystemError (no room on the
    /// disk), TimedOut (a rank does not come), PeerStalled, PeerLost (one is stopped, or has died).
    /// The step is not in the file then; the next one may be, unless ranks do not come any more.
    void end();
    /// Gives the step up on all ranks: their end() throws. Collective, blocking.
    void abandon();

  private:
    friend class FileWriter;
    struct State;
    explicit FileWriteStep(std::shared_ptr<State> state);
    Movable<State> state_;
};

/// One thread at a time. Without MPI a serial Comm is enough.
class FileWriter {
  public:
    /// Takes the name, "run.h5" or "data%T.h5" with a file for each step, and removes what a file
    /// of that name had. Collective. Throws on every rank InvalidArgument (another writer has it;
    /// files of the pattern are there already) and SystemError.
    FileWriter(const std::string& name, const mpi::Comm& comm,
               const FileWriterOptions& options = {});
    FileWriter(FileWriter&&) noexcept;
    FileWriter& operator=(FileWriter&&) = delete;
    /// Without close() before, the file has the steps that ended, and those that follow it are told
    /// that its writer failed.
    ~FileWriter();

    /// Attributes of the whole series; set them before the first step.
    void set_attributes(const Attributes& attributes);
    /// Begins the next step. Attributes may say its number and what groups have
    /// (group_attributes.hpp). Local. Throws InvalidArgument while another step is open, and for a
    /// number that is not above the last one.
    FileWriteStep begin_step(const Attributes& attributes = {});
    /// Closes the file. Collective, blocking; idempotent. Throws on every rank SystemError.
    void close();

    struct State;

  private:
    State& opened() const;

    std::shared_ptr<State> state_;
};

}  // namespace fluvial::stage
