// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/server_messages.hpp"

#include <algorithm>
#include <utility>

namespace fluvial::flow {

namespace {

constexpr std::size_t parcel_bytes_max = 256 * 1024;
/// The lead's program may not have looked for longer than this: that is nobody's silence.
constexpr double passed_max_s = 0.1;

}  // namespace

void Parcel::add(int rank, std::span<const std::byte> message) {
    bytes_.put<std::int32_t>(rank);
    bytes_.put_block(message.data(), message.size());
}

void Parcel::each(std::span<const std::byte> parcel,
                  const std::function<void(int, std::span<const std::byte>)>& use) {
    for (ByteReader in(parcel); !in.done();) {
        const auto rank = in.get<std::int32_t>();
        use(rank, in.get_block());
    }
}

ServerMessages::ServerMessages(const mpi::Comm& comm, const Roles& roles)
    : messages_(comm), roles_(roles) {
    for (const int relay : roles.relays()) {
        silences_s_[relay] = 0;
    }
}

void ServerMessages::post_orders(int rank, Bytes orders) {
    const int server = roles_.server_of(rank);
    if (server == 0) {
        messages_.post(rank, tag_orders, std::move(orders));
        return;
    }
    Parcel& parcel = parcels_[server];
    parcel.add(rank, orders);
    if (parcel.size() > parcel_bytes_max) {
        messages_.post(server, tag_parcels, parcel.take());
    }
}

void ServerMessages::flush() {
    for (auto& [server, parcel] : parcels_) {
        if (parcel.size() > 0) {
            messages_.post(server, tag_parcels, parcel.take());
        }
    }
    messages_.sent();
}

bool ServerMessages::take_reports(int most,
                                  const std::function<void(int, std::span<const std::byte>)>& use) {
    int taken = 0;
    for (; taken < most; ++taken) {
        const auto straight = messages_.poll(tag_reports);
        if (straight) {
            use(straight->from, straight->bytes);
        }
        const auto relayed = roles_.relays().empty() ? std::nullopt : messages_.poll(tag_parcels);
        if (relayed) {
            silences_s_[relayed->from] = 0;
            Parcel::each(relayed->bytes, use);
        }
        if (!straight && !relayed) {
            break;
        }
    }
    return taken > 0;
}

std::optional<int> ServerMessages::silent(double passed_s, double limit_s) {
    for (auto& [relay, silence_s] : silences_s_) {
        silence_s += std::min(passed_s, passed_max_s);
        if (silence_s > limit_s) {
            return relay;
        }
    }
    return std::nullopt;
}

void ServerMessages::give_up_on(int rank) {
    silences_s_.erase(rank);
    parcels_.erase(rank);
    messages_.give_up_on(rank);
}

}  // namespace fluvial::flow
