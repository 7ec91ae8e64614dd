// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/kept_duplicate.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

MPI_Comm own_copy() {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    return copy;
}

}  // namespace

TEST_CASE("a communicator has one duplicate, which goes with it") {
    // More than MPI has communicators at a time.
    for (int i = 0; i < 5000; ++i) {
        MPI_Comm user = own_copy();
        const auto kept = kept_duplicate(MPI_Comm_c2f(user));
        REQUIRE(kept == kept_duplicate(MPI_Comm_c2f(user)));
        if (i % 1000 == 0) {
            REQUIRE(kept->sum(1) == world_size());
        }
        MPI_Comm_free(&user);
        REQUIRE_THROWS_AS(kept->sum(1), InvalidArgument);
    }
}

TEST_CASE("a duplicate that is lost is given to no further call, and one of a copy works") {
    MPI_Comm user = own_copy();
    lose(*kept_duplicate(MPI_Comm_c2f(user)));
    CHECK_THROWS_WITH_AS(kept_duplicate(MPI_Comm_c2f(user)), doctest::Contains("comm.Dup()"),
                         InvalidArgument);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(user, &copy);  // does not inherit it
    CHECK(kept_duplicate(MPI_Comm_c2f(copy))->size() == world_size());
    MPI_Comm_free(&copy);
    MPI_Comm_free(&user);
}

TEST_CASE("one that is left to the end of MPI ends with it") {
    CHECK(kept_duplicate(MPI_Comm_c2f(MPI_COMM_WORLD))->size() == world_size());
}
