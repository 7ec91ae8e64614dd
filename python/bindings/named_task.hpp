// SPDX-License-Identifier: Apache-2.0
/// What all ranks of a communicator do together, as Python holds it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "fluvial/move/rank_watch.hpp"

namespace fluvial::python {

/// A task that owns what its messages call it.
class NamedTask {
  public:
    NamedTask(std::optional<long> handle, double stall_timeout_s, std::string of)
        : of_(std::move(of)),
          task_(handle ? move::RankWatch::of(*handle) : nullptr,
                move::RankWatch::kept_limit(stall_timeout_s), of_.c_str()) {}
    NamedTask(const NamedTask&) = delete;
    NamedTask& operator=(const NamedTask&) = delete;

    void look() const { task_.look(); }
    template <class Work>
    auto explaining(Work&& work) const {
        return task_.explaining(std::forward<Work>(work));
    }

  private:
    std::string of_;
    move::WatchedTask task_;
};

}  // namespace fluvial::python
