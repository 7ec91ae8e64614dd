// SPDX-License-Identifier: Apache-2.0
/// What a rank does for a flow or for a path: source, proxy, destination. multipath.hpp has a table
/// of it.
#pragma once

#include <memory>
#include <vector>

#include "fluvial/move/multipath.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/route/rank_flow.hpp"

namespace fluvial::move {

class Role {
  public:
    virtual ~Role() = default;
    /// Does what can be done at once. True when something moved. Throws SystemError.
    virtual bool step() = 0;
    virtual bool done() const = 0;
};

/// `tags` of the first hop of each path. Flows without windows are one message. Local, as the next
/// two.
std::unique_ptr<Role> source_of(const mpi::Comm& comm, const route::RankFlow& flow,
                                const std::vector<int>& tags, const Outgoing& outgoing);

/// Takes the windows of one path that come with `tag`, and sends them on to rank `next`.
std::unique_ptr<Role> proxy_of(const mpi::Comm& comm, const route::RankFlow& flow, int tag,
                               int next, int next_tag);

/// `tags` of the last hop of each path; `arrived` has memory for the flow.
std::unique_ptr<Role> destination_of(const mpi::Comm& comm, const route::RankFlow& flow,
                                     const std::vector<int>& tags, const Arrived& arrived);

}  // namespace fluvial::move
