// SPDX-License-Identifier: Apache-2.0
/// What a rank does for a flow or for a path: source, proxy, destination. multipath.hpp has a table
/// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fluvial/move/looked_time.hpp"
#include "fluvial/move/multipath.hpp"
#include "fluvial/move/path_control.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/route/rank_flow.hpp"

namespace fluvial::move {

class Role {
  public:
    virtual ~Role() = default;
    /// Does what can be done at once. True when something moved. Throws SystemError.
    virtual bool step() = 0;
    virtual bool done() const = 0;
    /// A message about its flow has come.
    virtual void hear(const Control&) {}
    /// A path was given up: messages of it may be left on their way.
    virtual bool leaves_messages() const { return false; }
    /// Appends what has to complete before step() can move anything.
    virtual void add_pending(std::vector<mpi::Pending>& pending) = 0;
};

/// What the roles of one flow share.
struct FlowPart {
    const mpi::Comm& comm;
    const route::RankFlow& flow;
    std::size_t number = 0;        ///< of the flow
    std::uint32_t exchange = 0;    ///< the number that windows of this exchange have
    Controls* controls = nullptr;  ///< null where no flow has windows
    const LookedTime* clock = nullptr;
    double reroute_after_s = 0;
    std::vector<PathUse>* used = nullptr;  ///< of the flow: one a path at first
};

/// `tags` of the first hop of each path, `detour` of windows that go direct instead. Flows without
/// windows are one message. Local, as the next two.
std::unique_ptr<Role> source_of(const FlowPart& part, const std::vector<int>& tags, int detour,
                                const Outgoing& outgoing);

/// Takes the windows of path `path` that come with `tag`, and sends them on to rank `next`.
std::unique_ptr<Role> proxy_of(const FlowPart& part, std::size_t path, int tag, int next,
                               int next_tag, std::function<void(std::span<std::byte>)> at_proxy);

/// `tags` of the last hop of each path; `arrived` has memory for the flow.
std::unique_ptr<Role> destination_of(const FlowPart& part, const std::vector<int>& tags, int detour,
                                     const Arrived& arrived);

/// The two for flows with windows.
std::unique_ptr<Role> window_source_of(const FlowPart& part, const std::vector<int>& tags,
                                       int detour, std::span<const std::byte> bytes);
std::unique_ptr<Role> window_destination_of(const FlowPart& part, const std::vector<int>& tags,
                                            int detour, std::byte* memory);

}  // namespace fluvial::move
