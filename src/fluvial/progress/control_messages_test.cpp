// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/control_messages.hpp"

#include <map>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

std::vector<std::byte> content(int number, std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<std::byte>(i * 5 + static_cast<std::size_t>(number));
    }
    return bytes;
}

ControlMessage next(ControlMessages& control) {
    std::optional<ControlMessage> message;
    const auto arrived = [&] { return (message = control.poll()).has_value(); };
    mpi::wait_for(arrived, Deadline(30), "receive a control message");
    return std::move(*message);
}

struct Post {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    ControlMessages control{comm};
    ~Post() {
        mpi::wait_for([&] { return control.sent(); }, Deadline(30), "send control messages");
        comm.barrier();
        comm.close();
    }
};

}  // namespace

TEST_CASE("messages to every rank, oneself too, arrive once and in order for each pair") {
    Post post;
    const int ranks = post.comm.size();
    constexpr int messages = 50;
    // One in ten is long enough to be on its way for a while.
    const auto length = [](int number) {
        return number % 10 == 3 ? std::size_t{1} << 20 : static_cast<std::size_t>(number);
    };
    for (int number = 0; number < messages; ++number) {
        for (int to = 0; to < ranks; ++to) {
            post.control.post(to, ControlTopic::Query, number, content(number, length(number)));
        }
    }
    std::map<int, int> received;
    for (int left = messages * ranks; left > 0; --left) {
        const ControlMessage message = next(post.control);
        CHECK(message.kind == ControlTopic::Query);
        const int number = received[message.from]++;
        CHECK(message.stream == number);
        CHECK(message.bytes == content(number, length(number)));
    }
    for (int from = 0; from < ranks; ++from) {
        CHECK(received[from] == messages);
    }
    CHECK_FALSE(post.control.poll().has_value());
}

TEST_CASE("every kind and an empty message travel as they are") {
    Post post;
    const int to = (post.comm.rank() + 1) % post.comm.size();
    const int from = (post.comm.rank() + post.comm.size() - 1) % post.comm.size();
    constexpr int kinds = static_cast<int>(ControlTopic::Verdict) + 1;
    for (int kind = 0; kind < kinds; ++kind) {
        post.control.post(to, static_cast<ControlTopic>(kind), 1 << 30);
    }
    for (int kind = 0; kind < kinds; ++kind) {
        const ControlMessage message = next(post.control);
        CHECK(static_cast<int>(message.kind) == kind);
        CHECK(message.from == from);
        CHECK(message.stream == 1 << 30);
        CHECK(message.bytes.empty());
    }
}

TEST_CASE("without MPI there is oneself") {
    const mpi::Comm comm;
    ControlMessages control(comm);
    CHECK_FALSE(control.poll().has_value());
    control.post(0, ControlTopic::Closed, 2, content(1, 8));
    CHECK(control.sent());
    const auto message = control.poll();
    REQUIRE(message.has_value());
    CHECK(message->kind == ControlTopic::Closed);
    CHECK(message->stream == 2);
    CHECK(message->bytes == content(1, 8));
    CHECK_THROWS_AS(control.post(1, ControlTopic::Closed, 2), InvalidArgument);
}

TEST_CASE("abandoned messages are given up in silence") {
    Post post;
    if (post.comm.size() == 1) {
        return;
    }
    // Too long to leave before somebody takes it.
    const int to = (post.comm.rank() + 1) % post.comm.size();
    post.control.post(to, ControlTopic::Result, 0, content(7, std::size_t{8} << 20));
    CHECK_FALSE(post.control.sent());
    post.control.abandon();
    CHECK(post.control.sent());
    post.comm.barrier();                                // nobody takes it before all have looked
    const ControlMessage message = next(post.control);  // nobody died: it arrives all the same
    CHECK(message.bytes == content(7, std::size_t{8} << 20));
}
