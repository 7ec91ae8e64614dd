// SPDX-License-Identifier: Apache-2.0
/// How far a reading job has come in a retained stream, kept beside the steps: a job that was
/// killed goes on after the last step that all of its ranks had finished. It counts for the run of
/// the writer that the steps are of: where the steps were removed, and a later run has put its own
/// there, the job begins with the first of them.
#pragma once

#include <cstdint>
#include <string>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::stage {

/// Which position, and of which steps.
struct PositionOf {
    std::string folder;  ///< of the steps
    std::string name;    ///< by which the job resumes
    std::uint64_t run;   ///< that the steps are of (LogHead::run)
};

/// The right to a position: one reading job at a time has it, until its rank 0 ends.
class PositionClaim {
  public:
    PositionClaim() = default;
    /// Claims the position for a job of `size` ranks. Throws InvalidArgument when another job has
    /// it, DamagedFile when it is damaged or of another version, SystemError.
    PositionClaim(const PositionOf& position, int size);
    bool held() const { return lock_.valid(); }
    /// The first step that is to be read.
    std::uint64_t step() const { return step_; }

  private:
    host::Descriptor lock_;
    std::uint64_t step_ = 0;
};

/// The part of one rank.
class Position {
  public:
    Position(const PositionOf& position, int rank, int size, PositionClaim claim);
    /// The rank has finished every step before `next`. Throws SystemError.
    void advance(std::uint64_t next);

  private:
    host::Descriptor file_;
    std::uint64_t run_;
    int size_;
    PositionClaim claim_;  ///< of rank 0
};

}  // namespace fluvial::stage
