// SPDX-License-Identifier: Apache-2.0
/// What a test has in common with its children.
#pragma once

#include <atomic>
#include <new>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/host/memory_file.hpp"

namespace fluvial::host {

/// `value` in memory that children by fork() share, and how far they are.
template <class Value>
class SharedMemory {
  public:
    SharedMemory() : value_(new (mapping_.data()) Content{}) {}

    Value* operator->() const { return &value_->value; }
    std::atomic<int>& phase() const { return value_->phase; }
    /// Blocking until that phase.
    void wait_for_phase(int phase) const {
        const Deadline deadline(20);
        while (value_->phase.load() < phase && !deadline.passed()) {
            ::usleep(200);
        }
        REQUIRE(value_->phase.load() >= phase);
    }

  private:
    struct Content {
        Value value;
        std::atomic<int> phase;
    };

    MemoryFile file_ = MemoryFile::create("test", sizeof(Content));
    Mapping mapping_ = file_.map(Access::ReadWrite);
    Content* value_;
};

}  // namespace fluvial::host
