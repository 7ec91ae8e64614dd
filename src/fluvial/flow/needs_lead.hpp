// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fluvial/flow/members.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::flow {

/// What a rank waits for ends by PeerLost or PeerStalled when there is no lead any more.
class NeedsLead : public progress::Waiting {
  public:
    explicit NeedsLead(Members& members) : members_(members) {}
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        if (const auto lost = members_.lead_lost()) {
            lost->raise();
        }
    }

  private:
    Members& members_;
};

}  // namespace fluvial::flow
