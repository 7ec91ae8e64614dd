// SPDX-License-Identifier: Apache-2.0
/// How much came over which network interface of this host; for several threads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace fluvial::move {

class Traffic {
  public:
    using Bytes = std::map<std::string, std::uint64_t>;
    void count(const std::string& interface, std::uint64_t bytes) {
        const std::lock_guard lock(mutex_);
        bytes_[interface] += bytes;
    }
    Bytes bytes() const {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    mutable std::mutex mutex_;
    Bytes bytes_;
};

}  // namespace fluvial::move
