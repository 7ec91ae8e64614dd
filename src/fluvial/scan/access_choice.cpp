// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/access_choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace fluvial::scan {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

}  // namespace

Options::Access permitted(Options::Access wanted) {
    const char* const given = std::getenv("FLUVIAL_FILE_ACCESS");
    if (given == nullptr || *given == '\0') {
        return wanted;
    }
    if (std::string_view(given) != "copy") {
        throw InvalidArgument(Problem{"the environment variable FLUVIAL_FILE_ACCESS makes no sense",
                                      text("'", given, "'"), "'copy', or unset",
                                      "Unset it: whichever way is faster is taken"});
    }
    return Options::Access::Copy;
}

AccessChoice::AccessChoice(Options::Access access)
    : fixed_(access != Options::Access::Chosen),
      in_place_(access != Options::Access::Copy),
      best_{none, none} {}

void AccessChoice::took(Index bytes, std::int64_t ns) {
    bytes_ += bytes;
    ns_ += ns;
    const bool tries = round_ < rounds;
    if (fixed_ || bytes_ < (tries ? round_bytes : rest_bytes)) {
        return;
    }
    if (tries) {
        // The fastest one: others may have had to wait for a processor.
        double& best = best_[in_place_ ? 1 : 0];
        best = std::min(best, static_cast<double>(ns_) / static_cast<double>(bytes_));
        ++round_;
        in_place_ = round_ < rounds ? !in_place_ : best_[1] <= best_[0];
    } else {
        round_ = 0;
        best_ = {none, none};
    }
    bytes_ = 0;
    ns_ = 0;
}

}  // namespace fluvial::scan
