// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fluvial {

/// A flag that is true while this exists: something is under way further up the stack.
class Raised {
  public:
    explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
    ~Raised() { flag_ = false; }
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;

  private:
    bool& flag_;
};

}  // namespace fluvial
