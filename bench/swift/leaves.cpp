// SPDX-License-Identifier: Apache-2.0
// Leaf functions of the swift bench: one that does nothing, one that takes a while.
#include <ctime>

#include "fluvial/flow/exported_task.hpp"

namespace {

std::int64_t nothing(std::int64_t given) {
    return given;
}
std::int64_t nap(std::int64_t us) {
    const timespec time{0, us * 1000};
    nanosleep(&time, nullptr);
    return us;
}

}  // namespace

FLUVIAL_EXPORT_TASKS(fluvial::flow::exported<nothing>("nothing"),
                     fluvial::flow::exported<nap>("nap"))

/// The same by the signature of C.
extern "C" std::int64_t nothing_in_c(std::int64_t given) {
    return given;
}
