// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/conformance.hpp"

#include <string>

#include "fluvial/route/registry.hpp"

using namespace fluvial::route;

TEST_CASE("each kind of topology has routes between all hosts, and words that make it again") {
    for (const Registration& entry : registrations()) {
        for (const std::string_view example : entry.examples) {
            CAPTURE(example);
            const TopologyPtr topology = make_topology(example);
            check_topology(*topology);
            const TopologyPtr again = make_topology(topology->describe());
            CHECK(again->describe() == topology->describe());
            CHECK(again->graph().links() == topology->graph().links());
        }
    }
}
