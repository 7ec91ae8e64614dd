// SPDX-License-Identifier: Apache-2.0
/// Remote reads by libfabric: the reader's network device takes the bytes out of the owner's memory
/// (FI_EP_RDM, fi_read), whatever the owner's threads do, where the device can do that itself.
///
/// A connection, over which both are asked and told by messages, goes with it: the owner checks
/// each request, packs what does not lie together, and says by which keys the parts may be read,
/// until the reader has them. Its end tells that the other side has gone, which libfabric does not.
///
/// | the reader says       | the owner answers                                        |
/// |-----------------------|----------------------------------------------------------|
/// | (connects)            | Granted: its address; or why it cannot                   |
/// | the boxes             | Granted: place and key of each part; or why it gives none |
/// | nothing: it has them  | nothing; the memory is registered no more                |
#pragma once

#include <memory>
#include <string>

#include "fluvial/move/remote_read.hpp"
#include "fluvial/move/secure_connection.hpp"

namespace fluvial::move {

/// This was built with libfabric's headers; else what follows throws InvalidArgument.
bool knows_libfabric();

/// The reader's half, which is opened before the owner is asked: the owner has to use the same
/// provider.
class FabricHalf {
  public:
    virtual ~FabricHalf() = default;
    virtual std::string provider() const = 0;
    /// Reads from the owner at the other end of `connection`, whose reply it waits for until the
    /// deadline. A read that cannot begin for `patience_s` is a SystemError. Throws what the owner
    /// says, PeerLost, TimedOut.
    virtual std::unique_ptr<RemoteReader> connect(SecureConnection connection,
                                                  const Deadline& deadline,
                                                  double patience_s) && = 0;
};

/// `provider`: "tcp;ofi_rxm"; empty: the best there is. `address`: of the own interface to be used.
/// Throws SystemError that names both, InvalidArgument.
std::unique_ptr<FabricHalf> open_fabric(const std::string& provider, const std::string& address);

/// The owner's end. All that use the same provider and interface share an endpoint and the thread
/// that moves its reads on. What fails here is told to the reader, and thrown: SystemError,
/// InvalidArgument.
std::unique_ptr<RemoteServer> serve_fabric(SecureConnection connection,
                                           const std::string& provider);

}  // namespace fluvial::move
