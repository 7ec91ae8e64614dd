// SPDX-License-Identifier: Apache-2.0
/// How a seat elsewhere reads data: over a connection of its own, made when something is read.
#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/tcp_read.hpp"
#include "fluvial/stage/remote_seat.hpp"

namespace fluvial::stage {
namespace {

constexpr double data_timeout_s = 30;

}  // namespace

move::RemoteReader& RemoteSeat::data() {
    const std::lock_guard lock(data_mutex_);
    if (!data_) {
        const Deadline deadline(data_timeout_s);
        move::SecureConnection connection =
            connect_to(contact_, options_.stall_timeout_s, endpoint_, deadline);
        ByteWriter out;
        out.put(FromReader::Data);
        out.put(stream_.token);
        connection.post(out.view());
        const Bytes answer = first_answer(connection, deadline);
        if (ByteReader(answer).get<FromWriter>() != FromWriter::Good) {
            throw Error("the writer's host does not answer a connection for data");
        }
        data_ = std::make_unique<move::TcpRemoteReader>(std::move(connection), stream_.encrypt);
    }
    return *data_;
}

move::RemotePlace RemoteSeat::place_of(const Chunk& chunk, DType dtype) const {
    if (chunk.logged.bytes > 0) {
        return {region_on_disk, chunk.logged.offset, chunk.logged.bytes, chunk.logged.checksum};
    }
    const auto rank = std::find(stream_.ranks.begin(), stream_.ranks.end(), chunk.rank);
    return {static_cast<std::uint32_t>(rank - stream_.ranks.begin()), chunk.offset,
            bytes_of(chunk, dtype), 0};
}

void RemoteSeat::read(const std::vector<move::RemoteBox>& boxes) {
    const auto look = [&](double silent_s) {
        const std::lock_guard lock(mutex_);
        hear_all();
        if (silent_s > 0) {
            check_alive();
        }
    };
    try {
        data().read(boxes, look);
    } catch (const PeerLost& lost) {
        explain_loss(lost);
        throw;
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
