// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_messages.hpp"

#include <functional>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/rails.hpp"
#include "fluvial/move/remote_read_conformance.hpp"
#include "fluvial/move/remote_request.hpp"
#include "fluvial/stage/mutation_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

const TestSeed seed(51966);
constexpr std::size_t region_bytes = 4096;

ByteReader behind_kind(const Bytes& message) {
    ByteReader in(message);
    in.get<std::uint8_t>();
    return in;
}

const std::vector<PartAlong> parts = {{1, {{0, 2}, {3, 4}}, {{1, 0}, {2, 4}}},
                                      {7, {{5}, {6}}, {{0}, {6}}}};

AttachedMessage attached() {
    AttachedMessage message;
    message.reply.cell = 3;
    message.token[5] = 9;
    message.encrypt = true;
    message.stall_timeout_s = 2.5;
    message.host = "node17";
    message.ranks = {4, 5, 6};
    message.arena_bytes = {1 << 20, 1 << 21, 1 << 22};
    message.may_run_ahead = true;
    message.shares_out = true;
    return message;
}

StreamStatus status() {
    StreamStatus status{};
    status.name = "run";
    status.full = "block";
    status.steps_written = 12;
    status.queue_steps = 4;
    status.readers.push_back({.number = 1,
                              .ranks = 2,
                              .pid = 3,
                              .state = "active",
                              .observes = true,
                              .full = "discard-oldest",
                              .steps_taken = 4,
                              .steps_discarded = 5,
                              .lag_steps = 6,
                              .lag_on_disk = 7,
                              .steps_held = 8});
    return status;
}

GoesOnMessage goes_on() {
    GoesOnMessage message;
    message.asked = 2;
    message.came = 11;
    message.given = 12;
    message.holds = {8, 9};
    message.wanted = parts;
    return message;
}

/// A message of each type as it should be, and what the other side does with one.
struct Type {
    const char* name;
    Bytes message;
    std::function<void(const Bytes&)> take;
};

std::vector<Type> types(move::KnownMemory& memory) {
    std::vector<std::byte> to(64);
    const std::vector<move::RemoteBox> boxes = {
        {{0, 64, 32, 0}, 4, {2, 4}, {{0, 1}, {2, 2}}, to.data()},
        {{1, 0, 16, 0}, 16, {1}, {{0}, {1}}, to.data()}};
    ByteWriter wants;
    wants.put(FromReader::Wants);
    put(wants, parts);
    return {
        {"Attach", encode(AttachMessage{{}, 3, "stream", "host"}),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             check_request(decode_attach(in).request);
         }},
        {"Data", encode(DataMessage{{}, "tcp;ofi_rxm", 3}),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             const DataMessage found = decode_data(in);
             REQUIRE(found.rail < move::rails_max);
         }},
        {"Good", encode_carries_data("eth1"), [](const Bytes& m) { interface_of_reply(m); }},
        {"GoesOn", encode(goes_on()),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             const int asked = decode_goes_on(in).asked;
             REQUIRE(asked >= 0);
             REQUIRE(asked <= 1024);
         }},
        {"Wants", wants.take(),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             for (const PartAlong& part : get_parts(in)) {
                 REQUIRE(contains(whole(part.region.extent), part.box));
             }
         }},
        {"Attached", encode(attached()),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             const AttachedMessage found = decode_attached(in);
             REQUIRE(found.ranks.size() == found.arena_bytes.size());
         }},
        {"Failed", encode_failed("PeerLost", "it is gone"),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             const std::string kind = in.get_string();
             const std::string said = in.get_string();
             CHECK_THROWS_AS(throw_error(kind, said), Error);
         }},
        {"Status", encode(status()),
         [](const Bytes& m) {
             ByteReader in = behind_kind(m);
             decode_status(in);
         }},
        {"a request for data", move::encode_request(boxes),
         [&memory](const Bytes& m) {
             for (const move::PackedBytes& part : move::requested_parts(m, memory)) {
                 REQUIRE(part.bytes.size() <= region_bytes);
             }
         }},
    };
}

}  // namespace

TEST_CASE("what is said between hosts is what was said") {
    const Bytes message = encode(attached());
    ByteReader in = behind_kind(message);
    const AttachedMessage found = decode_attached(in);
    CHECK(in.done());
    CHECK(found.reply.cell == 3);
    CHECK(found.token == attached().token);
    CHECK(found.encrypt);
    CHECK(found.may_run_ahead);
    CHECK(found.shares_out);
    CHECK(found.host == "node17");
    CHECK(found.arena_bytes == attached().arena_bytes);
    const Bytes said = encode(goes_on());
    ByteReader going = behind_kind(said);
    const GoesOnMessage gone = decode_goes_on(going);
    CHECK(gone.asked == 2);
    CHECK(gone.came == 11);
    CHECK(gone.given == 12);
    CHECK(gone.holds == std::vector<std::uint64_t>{8, 9});
    CHECK(gone.wanted == parts);
    const Bytes told = encode(status());
    ByteReader telling = behind_kind(told);
    const StreamStatus seen = decode_status(telling);
    CHECK(seen.steps_written == 12);
    CHECK(seen.readers.at(0).observes);
    CHECK(seen.readers.at(0).full == "discard-oldest");
    CHECK(seen.readers.at(0).steps_held == 8);
    CHECK(interface_of_reply(encode_carries_data("eth1")) == "eth1");
}

TEST_CASE("a rail that there is not is refused") {
    const Bytes message = encode(DataMessage{{}, "", move::rails_max});
    ByteReader in = behind_kind(message);
    CHECK_THROWS_WITH_AS(decode_data(in), doctest::Contains("number 8"), Error);
}

TEST_CASE("a refusal of data, changed at random, is an error, or is none") {
    std::mt19937 random(seed);
    const Bytes refusal = move::encode_refusal(PeerLost("it is gone"));
    int refused = 0;
    for (int round = 0; round < 5000; ++round) {
        const Bytes message = mutated(refusal, random);
        ByteReader in(message);
        try {
            move::check_granted(in);
        } catch (const Error&) {
            ++refused;
        }
    }
    CHECK(refused > 3000);
    CHECK(refused < 5000);
}

TEST_CASE("messages of every type, changed at random, are taken or refused, and nothing else") {
    std::mt19937 random(seed);
    move::KnownMemory memory(2, region_bytes);
    for (const Type& type : types(memory)) {
        CAPTURE(type.name);
        CHECK_NOTHROW(type.take(type.message));
        int refused = 0;
        for (int round = 0; round < 5000; ++round) {
            const Bytes message = mutated(type.message, random);
            try {
                type.take(message);
            } catch (const Error&) {
                ++refused;
            }
        }
        CHECK(refused > 300);
        CHECK(refused < 5000);
    }
}
