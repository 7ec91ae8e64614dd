// SPDX-License-Identifier: Apache-2.0
/// How a seat elsewhere reads data: over a connection of its own, made when something is read, or
/// by libfabric.
#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/fabric_read.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/move/shared_read.hpp"
#include "fluvial/move/striped_read.hpp"
#include "fluvial/move/tcp_read.hpp"
#include "fluvial/stage/remote_seat.hpp"

namespace fluvial::stage {
namespace {

constexpr double data_timeout_s = 30;
/// Of connections that end before they are answered.
constexpr int tries_max = 4;

/// For how long no data has come, as seen by looks that come ten times a second: a process that was
/// stopped itself, and goes on, has not waited for that long.
class Silence {
  public:
    double after(double silent_s) {
        constexpr double between_looks_s = 1;
        const bool data_came = silent_s < last_s_;
        seen_s_ = data_came ? 0 : seen_s_ + std::min(silent_s - last_s_, between_looks_s);
        last_s_ = silent_s;
        return seen_s_;
    }

  private:
    double last_s_ = 0, seen_s_ = 0;
};

}  // namespace

/// Data goes by libfabric's `provider`; empty: as bytes of the connection.
move::SecureConnection RemoteSeat::connect_data(const std::string& provider,
                                                const Deadline& deadline) {
    move::SecureConnection connection =
        connect_to(contact_, options_.stall_timeout_s, reach_now().endpoint, deadline);
    connection.post(encode(DataMessage{stream_.token, provider, 0}));
    return connection;
}

move::Reach RemoteSeat::reach_now() const {
    const std::lock_guard lock(mutex_);
    return {interface_, endpoint_};
}

/// By the interface that the connection for messages uses.
std::unique_ptr<move::FabricHalf> RemoteSeat::open_half() {
    const std::string own_address = [&] {
        const std::lock_guard lock(mutex_);
        check_open();
        return connection_->socket().own_address();
    }();
    return move::open_fabric(transport_of(options_).provider, own_address);
}

std::shared_ptr<move::RemoteReader> RemoteSeat::connect_half(std::unique_ptr<move::FabricHalf> half,
                                                             const Deadline& deadline) {
    if (stream_.encrypt) {
        throw InvalidArgument(Problem{
            text("the writer of '", name_, "' has its data encrypted, which libfabric cannot"),
            "transport='libfabric'", "transport='auto' or 'tcp'", ""});
    }
    move::SecureConnection connection = connect_data(half->provider(), deadline);
    return std::move(*half).connect(std::move(connection), deadline, options_.stall_timeout_s);
}

/// How the rail of that number is begun; without waiting.
move::Rail::Way RemoteSeat::way_of(const move::Reach& reach, std::uint8_t number) const {
    const auto connect = [key = contact_.key, endpoint = reach.endpoint,
                          patience = patience_s(options_.stall_timeout_s)] {
        move::TcpSocket socket = move::TcpSocket::begin(endpoint);
        socket.give_up_after(patience);
        return move::SecureConnection(std::move(socket), key, move::SecureConnection::Side::Client);
    };
    return {.interface = reach.interface,
            .connect = connect,
            .greeting = encode(DataMessage{stream_.token, "", number}),
            .interface_there = interface_of_reply};
}

/// Over the interface of the connection for messages, which stands before anything is asked for,
/// and over those of other networks that join the hosts, as they come to stand.
RemoteSeat::DataSource RemoteSeat::connect_tcp(const Deadline& deadline) {
    const move::Reach first = reach_now();
    const std::vector<move::Reach> reaches = move::rails_to(endpoints(), first, interfaces_);
    move::SecureConnection connection = connect_data("", deadline);
    const std::string there = interface_of_reply(first_reply(connection, deadline));
    several_rails_ = reaches.size() > 1;
    if (!several_rails_) {
        return {std::make_shared<move::TcpRemoteReader>(std::move(connection), stream_.encrypt),
                first.interface};
    }
    std::vector<move::Rail> rails;
    rails.emplace_back(way_of(first, 0), stream_.encrypt, std::move(connection), there);
    for (const move::Reach& reach : std::span(reaches).subspan(1)) {
        rails.emplace_back(way_of(reach, static_cast<std::uint8_t>(rails.size())), stream_.encrypt);
    }
    const auto count = [traffic = traffic_](const std::string& interface, std::uint64_t bytes) {
        traffic->count(interface, bytes);
    };
    using Use = move::StripedReader::Use;
    const Use use = interfaces_ == "auto" ? Use::WhatIsFaster : Use::AllRails;
    return {std::make_shared<move::StripedReader>(std::move(rails), stream_.encrypt,
                                                  options_.stall_timeout_s, count, use),
            ""};
}

bool RemoteSeat::asks_anyway(std::uint64_t step, std::uint64_t bytes_read) const {
    constexpr std::uint64_t along_bytes_max = 512 * 1024;
    return (several_rails_ && bytes_read > along_bytes_max) ||
           (claims_ && claims_->overlapped(step));
}

RemoteSeat::DataSource RemoteSeat::connect_to_data(const Deadline& deadline,
                                                   std::unique_ptr<move::FabricHalf> half) {
    for (int lost = 0;;) {
        hear_whether_alive();
        try {
            if (transport_of(options_).libfabric) {
                auto own = half ? std::move(half) : open_half();
                return {connect_half(std::move(own), deadline), reach_now().interface};
            }
            return connect_tcp(Deadline(std::min(data_timeout_s, options_.stall_timeout_s)));
        } catch (const TimedOut&) {  // there may be another way by now
            if (deadline.passed()) {
                throw;
            }
        } catch (const PeerLost&) {  // it may have had to make room for others
            if (++lost == tries_max) {
                throw;
            }
        }
        wait_for_room();
    }
}

/// `way`: over which connection to the writer's host it was made.
RemoteSeat::DataSource RemoteSeat::data(unsigned& way) {
    const std::lock_guard data_lock(data_mutex_);
    {
        const std::lock_guard lock(mutex_);
        way = way_;
    }
    if (!data_.reader || !data_.reader->usable() || data_way_ != way) {
        data_ = {};
        data_ = connect_to_data(Deadline(data_timeout_s));
        data_way_ = way;
    }
    return data_;
}

MemoryOnHost RemoteSeat::place_of(const Chunk& chunk, DType dtype) const {
    if (const BytesOfFile* const file = chunk.in_file()) {
        return {region_on_disk, file->offset, file->bytes, file->checksum};
    }
    const auto rank = std::find(stream_.ranks.begin(), stream_.ranks.end(), chunk.rank);
    return {static_cast<std::uint32_t>(rank - stream_.ranks.begin()),
            chunk.in_rank() != nullptr ? chunk.in_rank()->offset : 0, bytes_of(chunk, dtype), 0};
}

void RemoteSeat::count(std::span<const move::RemoteBox> boxes, const std::string& interface) {
    if (!interface.empty()) {
        for (const move::RemoteBox& box : boxes) {
            traffic_->count(interface, box.bytes());
        }
    }
}

void RemoteSeat::read(std::uint64_t step, const std::vector<move::RemoteBox>& boxes) {
    if (!claims_) {
        fetch(boxes, [](double) {});
        return;
    }
    bytes_from_neighbours_ += read_once({step, host_}, boxes);
}

/// By one of the ranks that share, for all. Returns how many bytes others had brought.
std::uint64_t RemoteSeat::read_once(const move::StepOnHost& from,
                                    std::span<const move::RemoteBox> boxes) {
    const move::OwnRead own{
        [this](std::span<const move::RemoteBox> some, const std::function<void(double)>& moved) {
            fetch(some, moved);
        },
        [this] { hear_whether_alive(); }};
    return move::read_shared(*claims_, from, boxes, own);
}

void RemoteSeat::hear_whether_alive() {
    const std::lock_guard lock(mutex_);
    hear_all();
    check_alive();
}

void RemoteSeat::note_along(std::uint64_t step, const std::vector<move::RemoteBox>& boxes) {
    move::note_had(*claims_, {step, host_}, boxes);
}

void RemoteSeat::fetch(std::span<const move::RemoteBox> boxes,
                       const std::function<void(double)>& moved) {
    while (true) {
        unsigned way = 0;
        Silence silence;
        const auto look = [&](double silent_s) {
            moved(silent_s);
            const std::lock_guard lock(mutex_);
            hear_all();
            if (way_ != way) {
                throw WentOn{};
            }
            if (silent_s > 0) {
                check_alive();
            }
            check_data_comes(silence.after(silent_s));
        };
        try {
            const DataSource source = data(way);
            source.reader->read(boxes, look);
            count(boxes, source.interface);
            return;
        } catch (const WentOn&) {              // from the beginning, by the other way
        } catch (const move::ReaderUsedUp&) {  // by a read of another thread
        } catch (const PeerStalled&) {
            if (!went_on_since(way)) {
                throw;
            }
        } catch (const PeerLost& lost) {
            if (!went_on_since(way) && !found_standby(way)) {
                explain_loss(lost);
            }
        }
    }
}

/// Heartbeats are small and go by another connection: a network may bring them, and no data.
void RemoteSeat::check_data_comes(double silent_s) const {
    if (silent_s <= options_.stall_timeout_s) {
        return;
    }
    throw PeerStalled(
        Problem{text("the writer's host of '", name_,
                     "' is alive, but no data of a read has come for ", silent_s, " s"),
                text("process ", contact_.pid, " on ", contact_.host, " at ", text_of(endpoint_)),
                text("data within stall_timeout=", options_.stall_timeout_s, " s"),
                "The network drops large packets (ping -M do -s 1472 HOST: is the MTU smaller on "
                "the way?), "
                "or a firewall has cut the connection for data; the read may be tried again"});
}

/// The writer's host ends the connections for data of a reader that goes on by another way.
bool RemoteSeat::went_on_since(unsigned way) {
    const std::lock_guard lock(mutex_);
    hear_all();
    return way_ != way;
}

/// The connection for data has ended; that for messages may know why.
void RemoteSeat::explain_loss(const PeerLost& lost) {
    const std::lock_guard lock(mutex_);
    hear_all();
    if (failure_) {
        throw_failure();
    }
    check_alive();
    throw PeerLost(Problem{text("the connection for data to the writer of '", name_, "' has ended"),
                           lost.what(), "", "Open the stream again to go on with later steps"});
}

}  // namespace fluvial::stage
