// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial {

/// Throws InvalidArgument: an object was used after it had been moved.
[[noreturn]] void throw_moved_from();

/// What an object has that can be moved. Throws InvalidArgument where it is used after that.
template <class T>
class Movable {
  public:
    Movable(std::shared_ptr<T> held) : held_(std::move(held)) {}

    explicit operator bool() const { return held_ != nullptr; }
    T& operator*() const {
        if (!held_) {
            throw_moved_from();
        }
        return *held_;
    }
    T* operator->() const { return &**this; }
    /// To share it; null once it has been moved from.
    const std::shared_ptr<T>& shared() const { return held_; }

  private:
    std::shared_ptr<T> held_;
};

}  // namespace fluvial
