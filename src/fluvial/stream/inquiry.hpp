// SPDX-License-Identifier: Apache-2.0
/// A query under way.
#pragma once

#include <cstdint>
#include <memory>

#include "fluvial/stream/outcome.hpp"

namespace fluvial::stream {

struct StreamState;

/// From Stream::iquery. Move-only; may be left alone at any time. test() makes progress in the
/// channel.
class Inquiry {
  public:
    Inquiry() = default;
    Inquiry(Inquiry&&) noexcept = default;
    Inquiry& operator=(Inquiry&& other) noexcept;
    ~Inquiry();

    /// True once the result is here. Does not block.
    bool test();
    /// The result. Blocking. Throws InvalidArgument when nothing was asked.
    const Outcome& wait();

    /// Null when nothing was asked.
    const std::shared_ptr<StreamState>& stream() const { return stream_; }

  private:
    friend class Stream;
    void forget();
    std::shared_ptr<StreamState> stream_;
    std::uint64_t number_ = 0;
};

}  // namespace fluvial::stream
