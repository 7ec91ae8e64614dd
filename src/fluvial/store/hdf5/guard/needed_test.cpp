// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/guard/needed.hpp"

#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::store;

TEST_CASE("the version of libhdf5 decides") {
    CHECK(guard_needed({1, 8}, nullptr, true));
    CHECK(guard_needed({1, 14}, nullptr, true));
    CHECK(guard_needed({2, 2}, nullptr, true));
    CHECK_FALSE(guard_needed({2, 3}, nullptr, true));
    CHECK_FALSE(guard_needed({3, 0}, nullptr, true));
    CHECK_FALSE(guard_needed({1, 10}, nullptr, false));
    CHECK(guard_needed({1, 10}, "", true));
    CHECK(hdf5_version() >= Hdf5Version{1, 10});
}

TEST_CASE("unless the environment does") {
    CHECK(guard_needed({2, 3}, "on", true));
    CHECK_FALSE(guard_needed({1, 10}, "off", true));
    CHECK_FALSE(guard_needed({1, 10}, "off", false));
}

TEST_CASE("other words, and a guard that was not built, are refused by name") {
    const auto said = [](const char* chosen, bool built) {
        try {
            static_cast<void>(guard_needed({1, 10}, chosen, built));
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(said("ON", true).find("got 'ON'; allowed: 'on' or 'off'") != std::string::npos);
    CHECK(said("1", false).find("FLUVIAL_HDF5_GUARD") != std::string::npos);
    CHECK(said("on", false).find("-DFLUVIAL_HDF5_GUARD=ON") != std::string::npos);
    CHECK(said("on", true).empty());
}
