// SPDX-License-Identifier: Apache-2.0
/// Remote reads over several rails at a time (rails.hpp): a large read is cut into windows, and
/// each rail asks for the next one when it has brought what it was asked for. So a slow rail brings
/// fewer windows, and one that has failed gives its windows to the others.
///
/// What a rail still owes when no window is left is asked for over another one, too, where that is
/// expected to bring it sooner; what comes first counts. A small read is one window, and goes over
/// the first rail that stands. Where one rail alone has been faster than all, a read goes over the
/// fastest (rail_policy.hpp), and over all as soon as that fails, falls silent or becomes slow.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/move/rail.hpp"
#include "fluvial/move/rail_policy.hpp"
#include "fluvial/move/remote_read.hpp"

namespace fluvial::move {

class StripedReader final : public RemoteReader {
  public:
    using Count = std::function<void(const std::string& interface, std::uint64_t bytes)>;
    enum class Use { AllRails, WhatIsFaster };
    /// The first rail stands. `count` is told what came by which interface. For as long as
    /// `patience_s` no rail needs to stand.
    StripedReader(std::vector<Rail> rails, bool encrypt, double patience_s, Count count, Use use);

    /// Also throws PeerLost, which says of each rail why, when none has stood for `patience_s`.
    /// However a read ends, the next one begins afresh: the rails throw away what was on its way.
    void read(std::span<const RemoteBox> boxes,
              const std::function<void(double silent_s)>& look) override;
    std::string transport() const override { return encrypt_ ? "tcp, encrypted" : "tcp"; }

  private:
    class Reading;

    std::vector<Rail> rails_;
    bool encrypt_;
    double patience_s_;
    Count count_;
    std::optional<RailPolicy> policy_;  ///< none: over all rails
    std::mutex mutex_;
};

}  // namespace fluvial::move
