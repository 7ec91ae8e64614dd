// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/fabric_endpoint.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sodium.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::move {

void FabricEndpoint::refuse(const char* call, long result) const {
    throw SystemError(Problem{text("libfabric's provider '", provider_, "' refused ", call,
                                   " at the interface with ", interface_),
                              library_.reason(result), "",
                              "Choose another as transport='libfabric:NAME', or transport='tcp'"});
}

FabricEndpoint::FabricEndpoint(const std::string& provider, const std::string& address)
    : library_(Libfabric::loaded()), interface_(address) {
    const Libfabric::Info info = library_.find(provider, address);
    provider_ = info->fabric_attr->prov_name;
    mr_mode_ = info->domain_attr->mr_mode;
    message_bytes_max_ = info->ep_attr->max_msg_size;
    messages_max_ = std::max<std::size_t>(1, info->tx_attr->size);
    const auto open = [&](auto& owned, const char* call, auto&& function) {
        auto* object = owned.get();
        if (const int result = function(&object); result != 0) {
            refuse(call, result);
        }
        owned.reset(object);
    };
    open(fabric_, "fi_fabric", [&](auto** o) { return library_.fabric(info->fabric_attr, o); });
    open(domain_, "fi_domain",
         [&](auto** o) { return fi_domain(fabric_.get(), info.get(), o, nullptr); });
    fi_av_attr av{};
    av.type = FI_AV_TABLE;
    open(addresses_, "fi_av_open",
         [&](auto** o) { return fi_av_open(domain_.get(), &av, o, nullptr); });
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_CONTEXT;
    cq.wait_obj = FI_WAIT_FD;
    open(completed_, "fi_cq_open", [&](auto** o) {
        const int result = fi_cq_open(domain_.get(), &cq, o, nullptr);
        cq.wait_obj = FI_WAIT_NONE;
        return result == 0 ? 0 : fi_cq_open(domain_.get(), &cq, o, nullptr);
    });
    if (fi_control(&completed_->fid, FI_GETWAIT, &descriptor_) != 0) {
        descriptor_ = -1;
    }
    open(endpoint_, "fi_endpoint",
         [&](auto** o) { return fi_endpoint(domain_.get(), info.get(), o, nullptr); });
    const auto check = [&](const char* call, int result) {
        if (result != 0) {
            refuse(call, result);
        }
    };
    check("fi_ep_bind", fi_ep_bind(endpoint_.get(), &addresses_->fid, 0));
    check("fi_ep_bind", fi_ep_bind(endpoint_.get(), &completed_->fid, FI_TRANSMIT | FI_RECV));
    check("fi_enable", fi_enable(endpoint_.get()));
}

Bytes FabricEndpoint::address() const {
    Bytes address(512);
    std::size_t bytes = address.size();
    if (const int result = fi_getname(&endpoint_->fid, address.data(), &bytes); result != 0) {
        refuse("fi_getname", result);
    }
    address.resize(bytes);
    return address;
}

fi_addr_t FabricEndpoint::insert(std::span<const std::byte> address) {
    fi_addr_t inserted = FI_ADDR_UNSPEC;
    Bytes padded(address.begin(), address.end());
    padded.resize(std::max<std::size_t>(padded.size(), 512));  // its length is not said
    const int count = fi_av_insert(addresses_.get(), padded.data(), 1, &inserted, 0, nullptr);
    if (count != 1) {
        refuse("fi_av_insert", count);
    }
    return inserted;
}

std::string FabricEndpoint::text_of(fi_addr_t inserted) const {
    char address[512] = {}, written[256] = {};
    std::size_t bytes = sizeof address;
    if (fi_av_lookup(addresses_.get(), inserted, address, &bytes) != 0) {
        return "an address that is not known";
    }
    bytes = sizeof written;
    fi_av_straddr(addresses_.get(), address, written, &bytes);
    return {written, ::strnlen(written, sizeof written)};
}

FabricEndpoint::Owned<fid_mr> FabricEndpoint::register_memory(std::span<const std::byte> memory,
                                                              std::uint64_t access) {
    std::uint64_t key = 0;  // not to be guessed: a process that knows it may read
    if ((mr_mode_ & FI_MR_PROV_KEY) == 0) {
        randombytes_buf(&key, sizeof key);
    }
    fid_mr* registered = nullptr;
    int result = fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0,
                           &registered, nullptr);
    if (result != 0) {
        refuse("fi_mr_reg", result);
    }
    Owned<fid_mr> owned(registered);
    if ((mr_mode_ & FI_MR_ENDPOINT) != 0) {
        result = fi_mr_bind(registered, &endpoint_->fid, 0);
        result = result == 0 ? fi_mr_enable(registered) : result;
        if (result != 0) {
            refuse("fi_mr_bind", result);
        }
    }
    return owned;
}

FabricPlace FabricEndpoint::place_of(std::span<const std::byte> memory, fid_mr& registered) const {
    const bool by_address = (mr_mode_ & FI_MR_VIRT_ADDR) != 0;
    return {by_address ? reinterpret_cast<std::uint64_t>(memory.data()) : 0,
            fi_mr_key(&registered)};
}

bool FabricEndpoint::read(std::span<std::byte> to, fid_mr* registered, fi_addr_t from,
                          FabricPlace place, fi_context2& context) {
    void* description = registered != nullptr ? fi_mr_desc(registered) : nullptr;
    const ssize_t result = fi_read(endpoint_.get(), to.data(), to.size(), description, from,
                                   place.address, place.key, &context);
    if (result == 0 || result == -FI_EAGAIN) {
        return result == 0;
    }
    throw PeerLost(
        text("libfabric's provider '", provider_, "' cannot read: ", library_.reason(result)));
}

void FabricEndpoint::throw_failed_read() {
    fi_cq_err_entry error{};
    fi_cq_readerr(completed_.get(), &error, 0);
    char room[256] = {};
    const char* detail =
        fi_cq_strerror(completed_.get(), error.prov_errno, error.err_data, room, sizeof room);
    throw PeerLost(Problem{
        text("a read by libfabric's provider '", provider_, "' at the interface with ", interface_,
             " failed"),
        text(library_.reason(error.err), " (", detail != nullptr ? detail : "", ')'), "", ""});
}

std::size_t FabricEndpoint::progress() {
    constexpr std::size_t entries_max = 64;
    fi_cq_entry entries[entries_max];
    std::size_t complete = 0;
    while (true) {
        const ssize_t got = fi_cq_read(completed_.get(), entries, entries_max);
        if (got == -FI_EAGAIN || got == 0) {
            return complete;
        }
        if (got < 0) {
            throw_failed_read();
        }
        complete += static_cast<std::size_t>(got);
    }
}

bool FabricEndpoint::wait(pollfd& other, int timeout_ms) {
    fid* waited = &completed_->fid;
    if (descriptor_ < 0) {  // some providers have none
        constexpr std::int64_t nap_ns = 50'000;
        other.revents = 0;
        if (timeout_ms > 0) {
            sleep_ns(nap_ns);
        }
        return ::poll(&other, 1, 0) > 0;
    }
    pollfd both[2] = {other, {descriptor_, POLLIN, 0}};
    const bool may_wait = fi_trywait(fabric_.get(), &waited, 1) == 0;
    const bool came = ::poll(both, 2, may_wait ? timeout_ms : 0) > 0;
    other.revents = both[0].revents;
    return came || !may_wait;
}

}  // namespace fluvial::move
