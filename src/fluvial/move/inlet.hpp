// SPDX-License-Identifier: Apache-2.0
/// The consumer's end of one link or of several: elements where they arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fluvial::move {

/// Units side by side that one producer has sent, in its order.
struct Arrival {
    std::span<const std::byte> bytes;  ///< empty: nothing new now
    int producer = 0;                  ///< rank in the channel
    std::uint64_t first = 0;           ///< bytes of this producer's to this consumer before these
};

class Inlet {
  public:
    virtual ~Inlet() = default;
    Inlet() = default;
    Inlet(const Inlet&) = delete;
    Inlet& operator=(const Inlet&) = delete;

    /// The oldest units that have arrived and were not released, as many as lie side by side.
    /// Local, does not block. The memory stays as it is until release().
    virtual Arrival ready() = 0;
    /// The first `bytes` (whole units) of the last ready() were processed: their memory goes back
    /// to the producer.
    virtual void release(std::size_t bytes) = 0;
    /// All producers of this inlet have closed, and every byte that they committed was released.
    /// Termination never overtakes data: byte counts are compared.
    virtual bool ended() = 0;
    /// Nothing that was sent back to the producers is in use by MPI any more. After ended().
    virtual bool drained() { return true; }
    /// Takes what MPI has for this inlet (completed receives).
    virtual void progress() {}
    /// Bytes that wait here.
    virtual std::uint64_t depth() const = 0;
    /// Bytes of memory that this end holds for elements.
    virtual std::uint64_t memory() const = 0;
};

}  // namespace fluvial::move
