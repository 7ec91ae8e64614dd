// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/planned_rounds.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/move/left_messages.hpp"

namespace fluvial::move {

using route::RankBytes;
using route::RankFlow;

PlannedRounds::PlannedRounds(const mpi::Comm& comm, const route::Topology* topology,
                             const route::RankPlanOptions& options, double stall_timeout_s)
    : comm_(comm),
      used_(&comm),
      topology_(topology),
      options_(options),
      stall_timeout_s_(stall_timeout_s) {}

/// Not freed where it was made: that is rare, and a rank that stood still may not come to free it.
PlannedRounds::~PlannedRounds() {
    fresh_.abandon();
}

void PlannedRounds::plan(const std::vector<RankBytes>& data) {
    const bool same = std::equal(data.begin(), data.end(), flows_.begin(), flows_.end(),
                                 [](const RankBytes& one, const RankFlow& flow) {
                                     // What was small or had paths stays so: only the bytes change.
                                     return one.from == flow.from && one.to == flow.to &&
                                            (flow.bytes > route::direct_bytes) ==
                                                (one.bytes > route::direct_bytes);
                                 });
    if (same) {
        for (std::size_t i = 0; i < data.size(); ++i) {
            flows_[i].bytes = data[i].bytes;
        }
    } else if (topology_ == nullptr || data.size() > planned_max) {
        flows_ = route::direct_between_ranks(data);
    } else {
        flows_ = route::plan_between_ranks(*topology_, data, comm_.size(), options_).flows;
    }
}

std::vector<Arrived> PlannedRounds::move(const std::vector<RankBytes>& data,
                                         std::span<const Outgoing> outgoing) {
    plan(data);
    bool windows = false;
    for (const RankFlow& flow : flows_) {
        windows = windows || !flow.direct();
        paths_max_ = std::max(paths_max_, flow.paths.size());
    }
    Moved moved = exchange(*used_, flows_, outgoing, {.stall_timeout_s = stall_timeout_s_});
    if (windows && leaves_messages(comm_, moved, stall_timeout_s_)) {
        used_->leave_messages();
        fresh_ = comm_.split(0, comm_.rank());
        used_ = &fresh_;
        topology_ = nullptr;
        flows_.clear();
    }
    return std::move(moved.arrived);
}

}  // namespace fluvial::move
