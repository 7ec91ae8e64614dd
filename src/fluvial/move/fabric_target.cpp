// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/fabric_target.hpp"

#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <poll.h>
#include <pthread.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/threads.hpp"

namespace fluvial::move {

std::shared_ptr<FabricTarget> FabricTarget::of(const std::string& provider,
                                               const std::string& address) {
    static std::mutex mutex;
    static std::map<std::pair<std::string, std::string>, std::weak_ptr<FabricTarget>> targets;
    const std::lock_guard lock(mutex);
    std::weak_ptr<FabricTarget>& known = targets[{provider, address}];
    auto target = known.lock();
    if (!target) {
        target = std::make_shared<FabricTarget>(provider, address);
        known = target;
    }
    return target;
}

FabricTarget::FabricTarget(const std::string& provider, const std::string& address)
    : endpoint_(provider, address) {
    try {
        thread_ = without_signals([this] { run(); });
    } catch (const std::system_error& error) {
        throw_errno("cannot make a thread for reads by libfabric", error.code().value(),
                    "Raise the limit on processes (ulimit -u)");
    }
    pthread_setname_np(thread_.native_handle(), "fluvial fabric");
}

FabricTarget::~FabricTarget() {
    stop_ = true;
    called_.ring();
    thread_.join();
}

void FabricTarget::expect_reads() {
    if (readers_++ == 0) {
        called_.ring();
    }
}

void FabricTarget::run() {
    while (!stop_) {
        try {
            endpoint_.progress();
        } catch (const PeerLost&) {  // the reader learns of it at its own end
        }
        constexpr int look_ms = 5;
        pollfd called{called_.descriptor(), POLLIN, 0};
        if (readers_ > 0) {
            endpoint_.wait(called, look_ms);
        } else {
            ::poll(&called, 1, -1);
        }
        if (called.revents != 0) {
            called_.clear();
        }
    }
}

}  // namespace fluvial::move
