// SPDX-License-Identifier: Apache-2.0
/// The endpoint of a host from which others read, and the thread that moves these reads on: many
/// providers do nothing by themselves (over TCP a read takes as long as its owner computes).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "fluvial/host/event.hpp"
#include "fluvial/move/fabric_endpoint.hpp"

namespace fluvial::move {

class FabricTarget {
  public:
    /// The target of this process with `provider` and the interface of `address`, for as long as a
    /// pointer to it is kept. Throws SystemError.
    static std::shared_ptr<FabricTarget> of(const std::string& provider,
                                            const std::string& address);
    FabricTarget(const std::string& provider, const std::string& address);
    ~FabricTarget();
    FabricTarget(const FabricTarget&) = delete;
    FabricTarget& operator=(const FabricTarget&) = delete;

    FabricEndpoint& endpoint() { return endpoint_; }
    /// A reader may read from now on, until each call is undone by one of the other. Any thread.
    void expect_reads();
    void expect_reads_no_more() { --readers_; }

  private:
    void run();

    FabricEndpoint endpoint_;
    host::Event called_;
    std::atomic<int> readers_{0};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace fluvial::move
