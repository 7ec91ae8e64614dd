// SPDX-License-Identifier: Apache-2.0
/// How far a reading job has come in a retained stream, kept beside the steps: a job that was
/// killed goes on after the last step that all of its ranks had finished.
#pragma once

#include <cstdint>
#include <string>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::stage {

/// The right to a position: one reading job at a time has it, until its rank 0 ends.
class PositionClaim {
  public:
    PositionClaim() = default;
    /// Claims the position `name` in the folder of the steps, for a job of `size` ranks. Throws
    /// InvalidArgument when another job has it, SystemError.
    PositionClaim(const std::string& folder, const std::string& name, int size);
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
    Position(const std::string& folder, const std::string& name, int rank, int size,
             PositionClaim claim);
    /// The rank has finished every step before `next`. Throws SystemError.
    void advance(std::uint64_t next);

  private:
    host::Descriptor file_;
    int size_;
    PositionClaim claim_;  ///< of rank 0
};

}  // namespace fluvial::stage
