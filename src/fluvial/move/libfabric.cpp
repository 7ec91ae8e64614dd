// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/libfabric.hpp"

#include <cstdlib>
#include <cstring>
#include <set>

#include <dlfcn.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

/// The oldest interface that has all that is used here.
constexpr std::uint32_t api = FI_VERSION(1, 9);
/// Networks of clusters, then TCP, which every host has; "tcp" alone since libfabric 1.18.
constexpr const char* preferred[] = {"cxi", "efa", "verbs;ofi_rxm", "tcp;ofi_rxm", "tcp"};

std::string path_of_library() {
    const char* chosen = std::getenv("FLUVIAL_LIBFABRIC");
    return chosen != nullptr && *chosen != '\0' ? chosen : "libfabric.so.1";
}

template <class Function>
void find_symbol(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr) {
        throw SystemError(Problem{text("the library ", path_of_library(), " has no ", name), "",
                                  "libfabric 1.9 or newer",
                                  "Name that by FLUVIAL_LIBFABRIC, or use transport='tcp'"});
    }
}

bool has_addresses_of_ip(const fi_info& info) {
    return info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6 ||
           info.addr_format == FI_SOCKADDR;
}

}  // namespace

const Libfabric& Libfabric::loaded() {
    static const Libfabric library;  // stays: what it has started may run on
    return library;
}

Libfabric::Libfabric() {
    const std::string path = path_of_library();
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = ::dlerror();
        throw SystemError(Problem{"the library libfabric cannot be loaded",
                                  why != nullptr ? why : path, "",
                                  "Install it (Debian: libfabric1), name its file by "
                                  "FLUVIAL_LIBFABRIC, or use transport='tcp'"});
    }
    find_symbol(library, "fi_getinfo", getinfo_);
    find_symbol(library, "fi_freeinfo", freeinfo_);
    find_symbol(library, "fi_dupinfo", dupinfo_);
    find_symbol(library, "fi_fabric", fabric_);
    find_symbol(library, "fi_strerror", strerror_);
}

void Libfabric::FreeInfo::operator()(fi_info* info) const {
    loaded().freeinfo_(info);
}

int Libfabric::fabric(fi_fabric_attr* attributes, fid_fabric** fabric) const {
    return fabric_(attributes, fabric, nullptr);
}

std::string Libfabric::reason(long result) const {
    return strerror_(static_cast<int>(result < 0 ? -result : result));
}

Libfabric::Info Libfabric::offered(const std::string& provider, const std::string& address,
                                   int& result) const {
    const Info hints(dupinfo_(nullptr));
    if (!hints) {
        throw SystemError("libfabric is out of memory");
    }
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_RMA | FI_READ | FI_REMOTE_READ;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    if (!provider.empty()) {
        hints->fabric_attr->prov_name = ::strdup(provider.c_str());  // which freeinfo frees
    }
    fi_info* found = nullptr;
    // Unasked, libfabric takes the interface that came up last.
    result = getinfo_(api, address.empty() ? nullptr : address.c_str(), nullptr,
                      address.empty() ? 0 : FI_SOURCE, hints.get(), &found);
    return Info(result == 0 ? found : nullptr);
}

std::string Libfabric::all_offered() const {
    int result = 0;
    const Info all = offered("", "", result);
    std::set<std::string> names;
    for (const fi_info* info = all.get(); info != nullptr; info = info->next) {
        names.insert(info->fabric_attr->prov_name);
    }
    std::string list;
    for (const std::string& name : names) {
        list += text(list.empty() ? "" : ", ", "'", name, "'");
    }
    return list.empty() ? "none here" : list;
}

Libfabric::Info Libfabric::find(const std::string& provider, const std::string& address) const {
    int result = 0;
    const auto look_for = [&](const std::string& name) {
        Info found = offered(name, "", result);
        if (found && has_addresses_of_ip(*found) && !address.empty()) {
            found = offered(name, address, result);
        }
        return found;
    };
    if (!provider.empty()) {
        if (Info found = look_for(provider)) {
            return found;
        }
    } else {
        for (const char* name : preferred) {
            if (Info found = look_for(name)) {
                return found;
            }
        }
    }
    throw SystemError(Problem{
        text("libfabric has no provider for remote reads",
             address.empty() ? "" : text(" at the interface with ", address)),
        text("'", provider.empty() ? "any" : provider, "': ", reason(result)), all_offered(),
        "Name one of these as transport='libfabric:NAME', or use transport='tcp'"});
}

}  // namespace fluvial::move
