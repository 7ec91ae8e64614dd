// SPDX-License-Identifier: Apache-2.0
/// What a producer has begun and does not wait for yet.
#pragma once

#include <memory>

namespace fluvial::stream {

struct Sending;
struct StreamState;

/// An isend or iterminate under way. Local; test() makes progress in the channel. When the channel
/// fails, what is not complete throws the failure.
class Pending {
  public:
    Pending() = default;
    /// True once the memory may be reused (isend), or everything has left (iterminate).
    bool test();
    void wait();
    /// What test() said last, or would say: makes no progress. Local.
    bool complete() const;

    /// Null when there was nothing to wait for.
    const std::shared_ptr<StreamState>& stream() const { return stream_; }

  private:
    friend class Stream;
    Pending(std::shared_ptr<StreamState> stream, std::shared_ptr<Sending> sending);

    std::shared_ptr<StreamState> stream_;  ///< null: there was nothing to wait for
    std::shared_ptr<Sending> sending_;     ///< null: the end of the stream
};

}  // namespace fluvial::stream
