// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_messages.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/move/rails.hpp"

namespace fluvial::stage {
namespace {

/// Steps that a reader has asked for and not got: more than any version asks for.
constexpr int asked_max = 1024;

/// Numbers of a StreamStatus, which lie between its texts and its readers.
struct StatusNumbers {
    int writer_ranks, writer_pid, writers_closed;
    std::uint64_t steps_begun, steps_written, steps_discarded, steps_unread, steps_spoiled,
        steps_spilled;
    std::uint64_t bytes_staged, bytes_in_use, queue_bytes;
    int queue_depth, queue_steps;
};

void put(ByteWriter& out, const ReaderStatus& reader) {
    out.put(reader.number);
    out.put(reader.ranks);
    out.put(reader.pid);
    out.put_string(reader.state);
    out.put(reader.observes);
    out.put_string(reader.full);
    out.put(reader.steps_taken);
    out.put(reader.steps_discarded);
    out.put(reader.lag_steps);
    out.put(reader.lag_on_disk);
    out.put(reader.steps_held);
}

ReaderStatus get_reader(ByteReader& in) {
    ReaderStatus reader{};
    reader.number = in.get<int>();
    reader.ranks = in.get<int>();
    reader.pid = in.get<int>();
    reader.state = in.get_string();
    reader.observes = get_flag(in);
    reader.full = in.get_string();
    reader.steps_taken = in.get<std::uint64_t>();
    reader.steps_discarded = in.get<std::uint64_t>();
    reader.lag_steps = in.get<std::uint64_t>();
    reader.lag_on_disk = in.get<std::uint64_t>();
    reader.steps_held = in.get<int>();
    return reader;
}

}  // namespace

Bytes encode(const AttachMessage& message) {
    ByteWriter out;
    out.put(FromReader::Attach);
    out.put(message.request);
    out.put(message.stall_timeout_s);
    out.put_string(message.stream);
    out.put_string(message.host);
    out.put(message.may_go_on);
    out.put_string(message.resume);
    return out.take();
}

AttachMessage decode_attach(ByteReader& in) {
    AttachMessage message;
    message.request = in.get<AttachRequest>();
    message.stall_timeout_s = in.get<double>();
    message.stream = in.get_string();
    message.host = in.get_string();
    message.may_go_on = get_flag(in);
    message.resume = in.get_string();
    return message;
}

Bytes encode(const DoneStep& done) {
    ByteWriter out;
    out.put(FromReader::Done);
    out.put(done.step);
    out.put(done.was_read);
    return out.take();
}

DoneStep decode_done(ByteReader& in) {
    const auto step = in.get<std::uint64_t>();
    return {step, get_flag(in)};
}

Bytes encode(const AttachedMessage& message) {
    ByteWriter out;
    out.put(FromWriter::Attached);
    out.put(message.reply);
    out.put(message.token);
    out.put(message.encrypt);
    out.put(message.stall_timeout_s);
    out.put_string(message.host);
    out.put_vector(message.ranks);
    out.put_vector(message.arena_bytes);
    out.put(message.may_run_ahead);
    out.put(message.shares_out);
    out.put(message.standby_port);
    return out.take();
}

AttachedMessage decode_attached(ByteReader& in) {
    AttachedMessage message;
    message.reply = in.get<AttachReply>();
    message.token = in.get<Token>();
    message.encrypt = get_flag(in);
    message.stall_timeout_s = in.get<double>();
    message.host = in.get_string();
    message.ranks = in.get_vector<int>();
    message.arena_bytes = in.get_vector<std::uint64_t>();
    message.may_run_ahead = get_flag(in);
    message.shares_out = get_flag(in);
    message.standby_port = in.get<std::uint16_t>();
    if (message.ranks.size() != message.arena_bytes.size()) {
        throw Error(Problem{"the writer's host names other ranks than it has memory of",
                            text(message.ranks.size(), " ranks"),
                            text(message.arena_bytes.size(), ", as many as memories"), ""});
    }
    return message;
}

Bytes encode(const GoesOnMessage& message) {
    ByteWriter out;
    out.put(FromReader::GoesOn);
    out.put(message.token);
    out.put(message.asked);
    out.put(message.came);
    out.put_vector(message.holds);
    out.put(message.given.has_value());
    out.put(message.given.value_or(0));
    put(out, message.wanted);
    out.put(message.stall_timeout_s);
    out.put_string(message.host);
    return out.take();
}

GoesOnMessage decode_goes_on(ByteReader& in) {
    GoesOnMessage message;
    message.token = in.get<Token>();
    message.asked = in.get<int>();
    message.came = in.get<std::uint64_t>();
    message.holds = in.get_vector<std::uint64_t>();
    const bool given = get_flag(in);
    const auto step = in.get<std::uint64_t>();
    message.given = given ? std::optional(step) : std::nullopt;
    message.wanted = get_parts(in);
    message.stall_timeout_s = in.get<double>();
    message.host = in.get_string();
    if (message.asked < 0 || message.asked > asked_max) {
        throw Error(Problem{"a reader on another host has asked for too many steps at a time",
                            text(message.asked), text("0 to ", asked_max), ""});
    }
    return message;
}

Bytes encode(const DataMessage& message) {
    ByteWriter out;
    out.put(FromReader::Data);
    out.put(message.token);
    out.put_string(message.provider);
    out.put(message.rail);
    return out.take();
}

DataMessage decode_data(ByteReader& in) {
    DataMessage message;
    message.token = in.get<Token>();
    message.provider = in.get_string();
    message.rail = in.get<std::uint8_t>();
    if (message.rail >= move::rails_max) {
        throw Error(Problem{"a reader on another host has too many connections for data",
                            text("number ", int{message.rail}), text("less than ", move::rails_max),
                            ""});
    }
    return message;
}

Bytes encode_carries_data(const std::string& interface) {
    ByteWriter out;
    out.put(FromWriter::Good);
    out.put_string(interface);
    return out.take();
}

std::string interface_of_reply(const Bytes& reply) {
    ByteReader in(reply);
    if (in.get<FromWriter>() != FromWriter::Good) {
        throw Error("the writer's host does not answer a connection for data");
    }
    return in.get_string();
}

Bytes encode(FromWriter what, const Bearings& bearings) {
    ByteWriter out;
    out.put(what);
    out.put(bearings);
    return out.take();
}

Bytes encode_failed(const std::string& kind, const std::string& message) {
    ByteWriter out;
    out.put(FromWriter::Failed);
    out.put_string(kind);
    out.put_string(message);
    return out.take();
}

Bytes encode(const StreamStatus& status) {
    ByteWriter out;
    out.put(FromWriter::Status);
    for (const std::string* words : {&status.name, &status.host, &status.full, &status.failure}) {
        out.put_string(*words);
    }
    out.put(StatusNumbers{status.writer_ranks, status.writer_pid, status.writers_closed,
                          status.steps_begun, status.steps_written, status.steps_discarded,
                          status.steps_unread, status.steps_spoiled, status.steps_spilled,
                          status.bytes_staged, status.bytes_in_use, status.queue_bytes,
                          status.queue_depth, status.queue_steps});
    out.put<std::uint32_t>(static_cast<std::uint32_t>(status.readers.size()));
    for (const ReaderStatus& reader : status.readers) {
        put(out, reader);
    }
    return out.take();
}

StreamStatus decode_status(ByteReader& in) {
    StreamStatus status{};
    for (std::string* words : {&status.name, &status.host, &status.full, &status.failure}) {
        *words = in.get_string();
    }
    const auto n = in.get<StatusNumbers>();
    status.writer_ranks = n.writer_ranks;
    status.writer_pid = n.writer_pid;
    status.writers_closed = n.writers_closed;
    status.steps_begun = n.steps_begun;
    status.steps_written = n.steps_written;
    status.steps_discarded = n.steps_discarded;
    status.steps_unread = n.steps_unread;
    status.steps_spoiled = n.steps_spoiled;
    status.steps_spilled = n.steps_spilled;
    status.bytes_staged = n.bytes_staged;
    status.bytes_in_use = n.bytes_in_use;
    status.queue_bytes = n.queue_bytes;
    status.queue_depth = n.queue_depth;
    status.queue_steps = n.queue_steps;
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        status.readers.push_back(get_reader(in));
    }
    return status;
}

}  // namespace fluvial::stage
