// SPDX-License-Identifier: Apache-2.0
/// Reading what lies in the memory of another host: the seam behind which a transport stands. The
/// owner of the memory exposes it in regions, whose numbers are the keys of places; a reader asks
/// for boxes of arrays in them, many at a time, and gets their elements without gaps.
///
/// To add a transport: a RemoteReader and a RemoteServer, which pass remote_read_conformance.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/chunk.hpp"

namespace fluvial::move {

/// A box of the row-major array of `extent` elements that fills a place.
struct RemoteBox {
    MemoryOnHost place;
    std::uint32_t item_bytes = 1;
    Coordinates extent;
    Region box;
    std::byte* to = nullptr;  ///< where its elements go, in row-major order

    std::uint64_t bytes() const { return static_cast<std::uint64_t>(box.volume()) * item_bytes; }
};

/// An earlier read of the same reader has ended in the middle, of this one nothing was asked for:
/// it can be had by a new reader.
class ReaderUsedUp : public PeerLost {
  public:
    using PeerLost::PeerLost;
};

class RemoteReader {
  public:
    virtual ~RemoteReader() = default;
    /// Reads all boxes, in one request. Waits, by the engine; calls `look` about ten times a second
    /// with the seconds since something came last: what it throws ends the wait, after which this
    /// reader may not be usable() any more. Several threads take turns. Throws what the owner of
    /// the memory answers, PeerLost, ReaderUsedUp.
    virtual void read(std::span<const RemoteBox> boxes,
                      const std::function<void(double silent_s)>& look) = 0;
    /// No read has ended in the middle so that later ones would take what it was to get.
    virtual bool usable() const { return true; }
    virtual std::string transport() const = 0;
};

/// The regions of a host, as one reader may see them.
class Exposed {
  public:
    struct Memory {
        const std::byte* data;
        std::shared_ptr<const void> owner;  ///< keeps it until it has been sent
    };
    virtual ~Exposed() = default;
    /// Throws Error for a place that is not there, DamagedFile.
    virtual Memory memory_of(const MemoryOnHost& place) = 0;
};

/// The other end of one RemoteReader. No call waits.
class RemoteServer {
  public:
    virtual ~RemoteServer() = default;
    /// Takes requests and sends what they ask for, as far as that goes now. Throws PeerLost, and
    /// Error when a request makes no sense.
    virtual void advance(Exposed& exposed) = 0;
    /// There is more to send.
    virtual bool sending() const = 0;
    virtual int descriptor() const = 0;
};

}  // namespace fluvial::move
