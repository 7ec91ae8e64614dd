// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/guard/needed.hpp"

#include <cstdlib>
#include <string_view>

#include "fluvial/store/hdf5/guard/guard.hpp"
#include "fluvial/store/hdf5/session.hpp"

#ifdef FLUVIAL_WITH_HDF5_GUARD
#include "fluvial/store/hdf5/guard/header.hpp"
#include "fluvial/store/hdf5/guard/heaps.hpp"
#endif

namespace fluvial::store {

Hdf5Version hdf5_version() {
    const Hdf5Session session;
    Hdf5Version version;
    unsigned release = 0;
    hdf5_checked(H5get_libversion(&version.major_number, &version.minor_number, &release),
                 "HDF5 does not tell its version");
    return version;
}

bool guard_needed(Hdf5Version version, const char* chosen, bool built) {
    const std::string_view word = chosen == nullptr ? "" : chosen;
    if (word.empty()) {
        return built && version <= hdf5_guarded_max;
    }
    if (word != "on" && word != "off") {
        throw InvalidArgument(Problem{"the environment variable FLUVIAL_HDF5_GUARD makes no sense",
                                      text("'", word, "'"), "'on' or 'off', or unset",
                                      "Unset it: the version of libhdf5 decides"});
    }
    if (word == "on" && !built) {
        throw InvalidArgument(
            Problem{"the environment variable FLUVIAL_HDF5_GUARD asks for a guard that this build "
                    "does not have",
                    "'on'", "'off', or unset", "Build Fluvial with -DFLUVIAL_HDF5_GUARD=ON"});
    }
    return word == "on";
}

#ifdef FLUVIAL_WITH_HDF5_GUARD

bool guard_needed() {
    return guard_needed(hdf5_version(), std::getenv("FLUVIAL_HDF5_GUARD"), true);
}

namespace {

class Checks final : public Hdf5Guard {
  public:
    Checks(const InputFile& file, const Hdf5Sizes& sizes) : file_(file), sizes_(sizes) {}

    const char* check(Kind kind, std::uint64_t address, std::span<const std::byte> bytes) override {
        switch (kind) {
            case Kind::GlobalHeap:
                return check_heap(file_, sizes_, address, bytes);
            case Kind::LocalHeap:
                return check_local_heap(file_, sizes_, bytes);
            case Kind::Header:
                return check_header(file_, sizes_, address, bytes.size(), seen_);
        }
        return nullptr;
    }

  private:
    const InputFile& file_;
    Hdf5Sizes sizes_;
    Hdf5Seen seen_;
};

}  // namespace

std::unique_ptr<Hdf5Guard> guard_of(const InputFile& file, const Hdf5Sizes& sizes) {
    return guard_needed() ? std::make_unique<Checks>(file, sizes) : nullptr;
}

#else

bool guard_needed() {
    return guard_needed(hdf5_version(), std::getenv("FLUVIAL_HDF5_GUARD"), false);
}

std::unique_ptr<Hdf5Guard> guard_of(const InputFile&, const Hdf5Sizes&) {
    static_cast<void>(guard_needed());
    return nullptr;
}

#endif

}  // namespace fluvial::store
