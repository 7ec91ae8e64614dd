// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/check.hpp"

#include <limits>
#include <string>

#include <cxxabi.h>
#include <mpi.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/base/waiting.hpp"

namespace fluvial::mpi {

void check(int mpi_error, std::string_view what) {
    if (mpi_error == MPI_SUCCESS) {
        return;
    }
    char message[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(mpi_error, message, &length) != MPI_SUCCESS) {
        length = 0;
    }
    throw CallFailed(Problem{text("MPI could not ", what),
                             text(std::string_view(message, static_cast<std::size_t>(length)),
                                  " (MPI error ", mpi_error, ")"),
                             "", ""});
}

std::optional<int> dead_behind_failure(const std::function<std::optional<int>()>& dead_rank) {
    constexpr double shows_in_s = 2;
    try {
        throw;
    } catch (const CallFailed&) {
        // What else would end this wait is left to the next one: the other ranks are told first.
        const WithoutInterrupts told_first;
        std::optional<int> dead;
        try {
            came_in_time([&] { return (dead = dead_rank()).has_value(); }, Deadline(shows_in_s),
                         Meanwhile::Nothing);
        } catch (const Error&) {
        }
        return dead;
    } catch (const abi::__forced_unwind&) {  // the thread is cancelled
        throw;
    } catch (...) {
        return std::nullopt;
    }
}

int to_int(Index value, std::string_view what) {
    constexpr int lowest = std::numeric_limits<int>::min();
    constexpr int highest = std::numeric_limits<int>::max();
    if (value < lowest || value > highest) {
        throw InvalidArgument(Problem{text(what, " does not fit in MPI's int"), text(value),
                                      text(lowest, " to ", highest),
                                      "Cut the data into smaller pieces"});
    }
    return static_cast<int>(value);
}

}  // namespace fluvial::mpi
