// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/check.hpp"

#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <mpi.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

TEST_CASE("an MPI error becomes a SystemError that says what failed and why") {
    check(MPI_SUCCESS, "do nothing");
    try {
        check(MPI_ERR_TRUNCATE, "receive a message");
        FAIL("no error");
    } catch (const SystemError& error) {
        const std::string message = error.what();
        CAPTURE(message);
        CHECK(message.find("MPI could not receive a message: got ") == 0);
        CHECK(message.find("truncate") != std::string::npos);
        CHECK(message.find(text("(MPI error ", MPI_ERR_TRUNCATE, ")")) != std::string::npos);
    }
}

TEST_CASE("behind a failure of MPI is the death of a rank that shows soon, behind others none") {
    int looks = 0;
    const auto dies = [&looks] { return ++looks < 3 ? std::nullopt : std::optional(7); };
    try {
        check(MPI_ERR_OTHER, "receive a message");
    } catch (...) {
        CHECK(dead_behind_failure(dies) == 7);
    }
    CHECK(looks == 3);
    try {
        throw SystemError("no descriptor is free");
    } catch (...) {
        CHECK(dead_behind_failure(dies) == std::nullopt);
    }
    CHECK(looks == 3);
}

TEST_CASE("narrowing keeps what fits and names what does not") {
    CHECK(to_int(2147483647, "count") == 2147483647);
    CHECK(to_int(-2147483648, "count") == -2147483647 - 1);
    CHECK_THROWS_WITH_AS(
        to_int(2147483648, "count of rows"),
        "count of rows does not fit in MPI's int: got 2147483648; allowed: -2147483648 to "
        "2147483647. Cut the data into smaller pieces",
        InvalidArgument);
    CHECK_THROWS_AS(to_int(-2147483649, "count"), InvalidArgument);
}
