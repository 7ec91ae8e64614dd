// SPDX-License-Identifier: Apache-2.0
/// Topologies as Python holds them.
#pragma once

#include "fluvial/route/topology.hpp"

namespace fluvial::python {

/// nanobind holds no shared pointers to const.
struct BoundTopology {
    route::TopologyPtr held;

    const route::Topology& operator*() const { return *held; }
    const route::Topology* operator->() const { return held.get(); }
};

}  // namespace fluvial::python
