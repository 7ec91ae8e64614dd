// SPDX-License-Identifier: Apache-2.0
/// The library libfabric, loaded when it is first wanted: a site's own knows its network. Only its
/// headers are needed to build this, and most of its calls are inline functions of these.
#pragma once

#include <memory>
#include <string>

#include <rdma/fabric.h>

namespace fluvial::move {

class Libfabric {
  public:
    /// The library of this process: libfabric.so.1, or what FLUVIAL_LIBFABRIC names. Throws
    /// SystemError, with the reason for which it cannot be loaded.
    static const Libfabric& loaded();

    struct FreeInfo {
        void operator()(fi_info* info) const;
    };
    using Info = std::unique_ptr<fi_info, FreeInfo>;

    /// An endpoint of FI_EP_RDM that reads and is read from, of the `provider` of that name; empty:
    /// the first one found that is made for clusters. `address`: of the interface that it
    /// uses, where the provider has addresses of IP. Throws SystemError with the names of all
    /// providers found.
    Info find(const std::string& provider, const std::string& address) const;
    int fabric(fi_fabric_attr* attributes, fid_fabric** fabric) const;
    /// What a negative result of a call means.
    std::string reason(long result) const;

  private:
    Libfabric();
    Info offered(const std::string& provider, const std::string& address, int& result) const;
    std::string all_offered() const;

    decltype(&fi_getinfo) getinfo_;
    decltype(&fi_freeinfo) freeinfo_;
    decltype(&fi_dupinfo) dupinfo_;
    decltype(&fi_fabric) fabric_;
    decltype(&fi_strerror) strerror_;
};

}  // namespace fluvial::move
