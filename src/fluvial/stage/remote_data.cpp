// SPDX-License-Identifier: Apache-2.0
/// How a seat elsewhere reads data: over a connection of its own, made when something is read, or
/// by libfabric.
#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/fabric_read.hpp"
#include "fluvial/move/tcp_read.hpp"
#include "fluvial/stage/remote_seat.hpp"

namespace fluvial::stage {
namespace {

constexpr double data_timeout_s = 30;

}  // namespace

/// Data goes by libfabric's `provider`; empty: as bytes of the connection.
move::SecureConnection RemoteSeat::connect_data(const std::string& provider,
                                                const Deadline& deadline) {
    const move::Endpoint endpoint = [&] {
        const std::lock_guard lock(mutex_);
        return endpoint_;
    }();
    move::SecureConnection connection =
        connect_to(contact_, options_.stall_timeout_s, endpoint, deadline);
    ByteWriter out;
    out.put(FromReader::Data);
    out.put(stream_.token);
    out.put_string(provider);
    connection.post(out.view());
    return connection;
}

/// By the interface that the connection for messages uses.
std::unique_ptr<move::FabricHalf> RemoteSeat::open_half() {
    const std::string own_address = [&] {
        const std::lock_guard lock(mutex_);
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
    return std::move(*half).connect(std::move(connection), deadline);
}

std::shared_ptr<move::RemoteReader> RemoteSeat::connect_to_data() {
    const Deadline deadline(data_timeout_s);
    if (transport_of(options_).libfabric) {
        return connect_half(open_half(), deadline);
    }
    while (true) {
        try {
            const Deadline once(std::min(data_timeout_s, options_.stall_timeout_s));
            move::SecureConnection connection = connect_data("", once);
            const Bytes answer = first_answer(connection, once);
            if (ByteReader(answer).get<FromWriter>() != FromWriter::Good) {
                throw Error("the writer's host does not answer a connection for data");
            }
            return std::make_shared<move::TcpRemoteReader>(std::move(connection), stream_.encrypt);
        } catch (const TimedOut&) {  // there may be another way by now
            const std::lock_guard lock(mutex_);
            check_alive();
            if (deadline.passed()) {
                throw;
            }
        }
    }
}

/// `way`: over which connection to the writer's host it was made.
std::shared_ptr<move::RemoteReader> RemoteSeat::data(unsigned& way) {
    const std::lock_guard data_lock(data_mutex_);
    {
        const std::lock_guard lock(mutex_);
        way = way_;
    }
    if (!data_ || data_way_ != way) {
        data_.reset();
        data_ = connect_to_data();
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

void RemoteSeat::read(const std::vector<move::RemoteBox>& boxes) {
    while (true) {
        unsigned way = 0;
        const auto look = [&](double silent_s) {
            const std::lock_guard lock(mutex_);
            hear_all();
            if (way_ != way) {
                throw WentOn{};
            }
            if (silent_s > 0) {
                check_alive();
            }
        };
        try {
            data(way)->read(boxes, look);
            return;
        } catch (const WentOn&) {  // from the beginning, by the other way
        } catch (const PeerLost& lost) {
            explain_loss(lost);
            throw;
        }
    }
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
