// SPDX-License-Identifier: Apache-2.0
/// Whether files are looked at before libhdf5 decodes them.
#pragma once

#include <compare>

namespace fluvial::store {

struct Hdf5Version {
    unsigned major_number = 0, minor_number = 0;

    friend auto operator<=>(const Hdf5Version&, const Hdf5Version&) = default;
};

/// The newest version that was seen to need the guard: of 18,000 files damaged at random libhdf5
/// 2.2.0 ends the process on 5 without it, and none with it.
inline constexpr Hdf5Version hdf5_guarded_max{2, 2};

/// The version of the library that runs, which may be newer than the one that Fluvial was built
/// with.
Hdf5Version hdf5_version();

/// `chosen`: the value of the environment variable FLUVIAL_HDF5_GUARD, null where it is not set.
/// Throws InvalidArgument where it is neither "on" nor "off", or "on" in a build without a guard.
bool guard_needed(Hdf5Version version, const char* chosen, bool built);

/// Whether this process, with this library and this build, needs the guard.
bool guard_needed();

}  // namespace fluvial::store
