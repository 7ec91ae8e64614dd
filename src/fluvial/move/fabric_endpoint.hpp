// SPDX-License-Identifier: Apache-2.0
/// An endpoint of libfabric by which memory of other hosts is read, and from which others read.
///
/// Memory is registered for each read and not longer: the owner of the arenas gives pages of them
/// back to the system, and a registration that outlived that would read the old pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/move/libfabric.hpp"

namespace fluvial::move {

/// Where registered memory lies, in the words of the request that reads it.
struct FabricPlace {
    std::uint64_t address = 0;
    std::uint64_t key = 0;
};

class FabricEndpoint {
  public:
    /// An endpoint of `provider` (empty: the best there is), by the interface that has `address`.
    /// Throws SystemError that names them.
    FabricEndpoint(const std::string& provider, const std::string& address);
    FabricEndpoint(const FabricEndpoint&) = delete;
    FabricEndpoint& operator=(const FabricEndpoint&) = delete;

    /// "tcp;ofi_rxm".
    const std::string& provider() const { return provider_; }
    /// The address by which another endpoint of the same provider reaches this one.
    Bytes address() const;
    fi_addr_t insert(std::span<const std::byte> address);
    /// As the provider writes it.
    std::string text_of(fi_addr_t inserted) const;

    struct Close {
        template <class Object>
        void operator()(Object* object) const {
            fi_close(&object->fid);
        }
    };
    template <class Object>
    using Owned = std::unique_ptr<Object, Close>;

    /// As long as the result is kept, `memory` may be read by others (FI_REMOTE_READ), or takes
    /// what is read (FI_READ). Several threads may call this. Throws SystemError.
    Owned<fid_mr> register_memory(std::span<const std::byte> memory, std::uint64_t access);
    FabricPlace place_of(std::span<const std::byte> memory, fid_mr& registered) const;
    /// Memory that takes read bytes has to be registered.
    bool registers_local() const { return (mr_mode_ & FI_MR_LOCAL) != 0; }
    std::uint64_t message_bytes_max() const { return message_bytes_max_; }
    std::size_t messages_max() const { return messages_max_; }

    /// Begins a read. False: there is no room for it now. Throws PeerLost.
    bool read(std::span<std::byte> to, fid_mr* registered, fi_addr_t from, FabricPlace place,
              fi_context2& context);
    /// Moves on what is under way; the number of own reads that are complete. Throws PeerLost.
    std::size_t progress();
    /// Reads that are under way end, and no others begin.
    void end() { endpoint_.reset(); }
    /// Waits until something happens or `timeout_ms` have passed, and looks at `other` as well (its
    /// `revents` is set). Where the provider has nothing to wait on, not as long. True when
    /// something has happened.
    bool wait(pollfd& other, int timeout_ms);

  private:
    [[noreturn]] void refuse(const char* call, long result) const;
    void throw_failed_read();

    const Libfabric& library_;
    std::string provider_;
    std::string interface_;
    int mr_mode_;
    std::uint64_t message_bytes_max_;
    std::size_t messages_max_;
    // In the order in which they are opened; they are closed in the opposite one.
    Owned<fid_fabric> fabric_;
    Owned<fid_domain> domain_;
    Owned<fid_av> addresses_;
    Owned<fid_cq> completed_;
    int descriptor_ = -1;  ///< of `completed_`; -1: it has none
    Owned<fid_ep> endpoint_;
};

}  // namespace fluvial::move
