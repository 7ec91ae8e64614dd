// SPDX-License-Identifier: Apache-2.0
/// What a FileWriter and its steps have.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/fork.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/merged_puts.hpp"
#include "fluvial/stage/step_memory.hpp"
#include "fluvial/store/numbered_files.hpp"
#include "fluvial/store/output.hpp"
#include "fluvial/store/progress_mark.hpp"

namespace fluvial::stage {

/// A chunk that waits for the end of its step.
struct KeptChunk {
    std::size_t dataset;  ///< its place among the step's
    Region region;
    std::byte* elements;  ///< row-major, without gaps
};

/// Where rank 0 has made room.
struct StepPlaces {
    std::string path;
    store::Places of;  ///< the merged step's datasets

    Bytes encode() const;
    static StepPlaces decode(std::span<const std::byte> bytes);
};

struct FileWriteStep::State {
    std::shared_ptr<FileWriter::State> writer;
    RankPuts puts;
    std::vector<KeptChunk> kept;
    std::map<std::string, std::size_t> places{};  ///< of datasets by their names
    std::map<std::string, Attributes> said{};     ///< of datasets
    bool ended = false;
};

struct FileWriter::State {
    State(const std::string& series, const mpi::Comm& user, const FileWriterOptions& said)
        : name(series),
          options(said),
          comm(user.serial() ? mpi::Comm() : user.split(0, user.rank())),
          watch(move::watched(comm, said.stall_timeout_s, "the series")),
          numbered(store::has_number(series)) {}

    /// Throws InvalidArgument in a child by fork.
    void check_process() const { made.check("the series"); }
    /// Before a call of all ranks, which MPI would end the process for after MPI_Finalize.
    void check_mpi() const {
        if (!comm.serial()) {
            mpi::check_running();
        }
    }
    void take_name();
    void tell_others_of_end() const noexcept;
    /// While one exists, ranks that do not come are a TimedOut, those that have died a PeerLost,
    /// and those that are stopped a PeerStalled. After that no step can follow.
    progress::Setup limit(const std::string& what) const {
        return progress::Setup(
            [this, late = progress::time_limit(options.step_timeout_s, what)](double waited_s) {
                watch.look();
                late(waited_s);
            });
    }
    void write(FileWriteStep::State& step, const std::optional<std::string>& failed);
    StepPlaces lay_out(const store::StepContents& contents);
    std::vector<bool> shared_out(const StepPlaces& places,
                                 const store::StepContents& contents) const;
    static void write_parts(const StepPlaces& places, const store::StepContents& contents,
                            const std::vector<bool>& left, FileWriteStep::State& step);
    void write_shared_out(const StepPlaces& places, const store::StepContents& contents,
                          const std::vector<bool>& shared, const FileWriteStep::State& step) const;
    void write_packed(const StepPlaces& places, const store::StepContents& contents,
                      FileWriteStep::State& step);
    void finish(std::uint64_t number);
    void make_without_steps(const std::vector<RankPuts>& of_all);
    void give_up(std::uint64_t number);

    MadeHere made{};
    std::string name;
    FileWriterOptions options;
    mpi::Comm comm;
    std::vector<std::string> host_of_rank{};
    move::WatchedTask watch;
    bool numbered;
    Attributes attributes{};
    std::map<std::string, Attributes> said{};  ///< of datasets, by steps that were written
    /// Of the chunks of a step.
    std::shared_ptr<StepMemory> memory = std::make_shared<StepMemory>();
    std::uint64_t next = 0;
    bool step_open = false, closed = false;
    // Of rank 0:
    std::optional<store::ProgressMark> mark{};
    std::unique_ptr<store::Output> output{};
    std::string path{};  ///< of that
};

}  // namespace fluvial::stage
