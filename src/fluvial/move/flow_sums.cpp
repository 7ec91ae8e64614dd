// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/flow_sums.hpp"

#include <cstring>

#include "fluvial/base/checksum.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::move {

FlowSums::FlowSums(const mpi::Comm& comm, std::span<const route::RankFlow> flows,
                   std::span<const Outgoing> outgoing, Controls& controls)
    : comm_(comm), flows_(flows) {
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const bool moves = flows[i].from != flows[i].to;
        if (moves && flows[i].to == comm.rank()) {
            ++wanted_;
        }
        if (moves && flows[i].from == comm.rank()) {
            controls.tell(
                flows[i].to,
                {.kind = Control::Sum, .flow = i, .value = checksum_of(outgoing[i].bytes)});
        }
    }
}

void FlowSums::compare(std::span<const Arrived> arrived, double patience_s, bool missing) const {
    Index damaged = static_cast<Index>(flows_.size());
    for (const auto& [flow, sum] : sums_) {
        const Arrived& one = arrived[flow];
        if (damaged > static_cast<Index>(flow) && checksum_of({one.bytes.get(), one.size}) != sum) {
            damaged = static_cast<Index>(flow);
        }
    }
    mpi::Request least = comm_.imin_of_each({damaged});
    try {
        least.wait(Deadline(patience_s));
        std::memcpy(&damaged, least.take().data(), sizeof damaged);
    } catch (const TimedOut&) {
        least.abandon();
        if (!missing) {
            throw TimedOut(Problem{"ranks have not compared the checksums of an exchange",
                                   text("for ", patience_s, " s"), "",
                                   "A rank may have died; or give it more time"});
        }
    }
    if (damaged < static_cast<Index>(flows_.size())) {
        const route::RankFlow& flow = flows_[static_cast<std::size_t>(damaged)];
        throw DamagedMessage(Problem{
            text("flow ", damaged, " has come with other bytes than were sent"),
            text("another checksum at rank ", flow.to, " than at rank ", flow.from), "",
            "Look for a rank or a network card on its paths that damages memory; or send again"});
    }
}

}  // namespace fluvial::move
