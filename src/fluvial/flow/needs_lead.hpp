// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fluvial/flow/members.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::flow {

/// What a rank waits for ends by PeerLost when the lead is dead.
class NeedsLead : public progress::Waiting {
  public:
    explicit NeedsLead(const Members& members) : members_(members) {}
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        if (members_.is_dead(lead_rank)) {
            TaskFailure{"PeerLost", "the process died", lead_rank, {}}.raise();
        }
    }

  private:
    const Members& members_;
};

}  // namespace fluvial::flow
