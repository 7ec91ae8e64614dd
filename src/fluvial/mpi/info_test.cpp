// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/info.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial::mpi;

TEST_CASE("hints are read as text and as numbers") {
    MPI_Info info = MPI_INFO_NULL;
    CHECK_FALSE(hint(info, "cb_nodes"));
    CHECK(positive_hint(info, "cb_nodes") == 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "12");
    MPI_Info_set(info, "striping_unit", "automatic");
    MPI_Info_set(info, "cb_buffer_size", "4M");
    MPI_Info_set(info, "none", "0");
    CHECK(hint(info, "striping_unit") == "automatic");
    CHECK_FALSE(hint(info, "missing"));
    CHECK(positive_hint(info, "cb_nodes") == 12);
    CHECK(positive_hint(info, "missing") == 0);
    CHECK_THROWS_WITH_AS(positive_hint(info, "cb_buffer_size"), doctest::Contains("'4M'"),
                         fluvial::InvalidArgument);
    CHECK_THROWS_AS(positive_hint(info, "none"), fluvial::InvalidArgument);
    MPI_Info_set(info, "wanted", "true");
    CHECK(truth_hint(info, "wanted"));
    CHECK_FALSE(truth_hint(info, "none"));
    CHECK_FALSE(truth_hint(info, "missing"));
    CHECK_THROWS_WITH_AS(truth_hint(info, "cb_nodes"), doctest::Contains("'12'"),
                         fluvial::InvalidArgument);
    MPI_Info_free(&info);
}
