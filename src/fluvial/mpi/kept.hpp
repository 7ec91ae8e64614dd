// SPDX-License-Identifier: Apache-2.0
/// What is made of a communicator of the user's by the first call that needs it, and lives as long.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <mpi.h>

namespace fluvial::mpi {

class Kept {
  public:
    Kept() = default;
    virtual ~Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    /// The user's communicator is being freed, by all its ranks; or MPI ends, and frees itself what
    /// is left of it.
    virtual void end(bool mpi_ends) noexcept = 0;
};

enum class KeptKind : std::uint8_t { Duplicate, RankWatch };

/// That of a communicator, which `make` makes where there is none yet; a duplicate of the
/// communicator has none. Collective where `make` is, local afterwards.
std::shared_ptr<Kept> kept_with(MPI_Comm user, KeptKind kind,
                                const std::function<std::shared_ptr<Kept>()>& make);
/// The same of a Fortran handle. Throws InvalidArgument where it is no communicator.
std::shared_ptr<Kept> kept_with(long handle, KeptKind kind,
                                const std::function<std::shared_ptr<Kept>()>& make);

}  // namespace fluvial::mpi
