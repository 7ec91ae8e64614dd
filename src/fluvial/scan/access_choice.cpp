// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/access_choice.hpp"

#include <cstdlib>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/store/mapped_window.hpp"

namespace fluvial::scan {

Options::Access permitted(Options::Access wanted) {
    const char* const given = std::getenv("FLUVIAL_FILE_ACCESS");
    if (given == nullptr || *given == '\0') {
        const bool may_choose =
            wanted != Options::Access::Chosen || store::MappedWindow::disturbs_no_handler();
        return may_choose ? wanted : Options::Access::Copy;
    }
    if (std::string_view(given) == "in-place") {
        return Options::Access::InPlace;
    }
    if (std::string_view(given) != "copy") {
        throw InvalidArgument(Problem{"the environment variable FLUVIAL_FILE_ACCESS makes no sense",
                                      text("'", given, "'"), "'copy', 'in-place', or unset",
                                      "Unset it: whichever way is faster is taken"});
    }
    return Options::Access::Copy;
}

AccessChoice::AccessChoice(Options::Access access)
    : access_(access),
      trial_({.round = round_bytes,
              .rounds = rounds,
              .rest = {rest_bytes, rest_bytes},
              .second_cost = {}}) {}

void AccessChoice::took(Index bytes, std::int64_t ns) {
    trial_.took(bytes, static_cast<double>(ns));
}

}  // namespace fluvial::scan
