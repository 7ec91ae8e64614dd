// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/control_messages.hpp"

#include <map>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

constexpr Topic topic_a("a");
constexpr Topic topic_b("b");

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
    wait_until(arrived, Deadline(30), "receive a control message");
    return std::move(*message);
}

struct Post {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    ControlMessages control{comm};
    ~Post() {
        wait_until([&] { return control.sent(); }, Deadline(30), "send control messages");
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
            post.control.post(to, topic_a, number, content(number, length(number)));
        }
    }
    std::map<int, int> received;
    for (int left = messages * ranks; left > 0; --left) {
        const ControlMessage message = next(post.control);
        CHECK(message.topic == topic_a);
        const int number = received[message.from]++;
        CHECK(message.subject == number);
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
    for (const Topic topic : {topic_a, topic_b}) {
        post.control.post(to, topic, 1 << 30);
    }
    for (const Topic topic : {topic_a, topic_b}) {
        const ControlMessage message = next(post.control);
        CHECK(message.topic == topic);
        CHECK(message.from == from);
        CHECK(message.subject == 1 << 30);
        CHECK(message.bytes.empty());
    }
}

TEST_CASE("each topic has its own handler, and no two topics have the same name") {
    const mpi::Comm comm;
    ControlMessages control(comm);
    int seen = 0;
    control.on(topic_a,
               [&](const ControlMessage& message) { return seen = message.subject, true; });
    control.on(topic_b, [&](const ControlMessage&) { return false; });
    CHECK(control.handle({topic_a, 0, 7, {}}));
    CHECK(seen == 7);
    CHECK_FALSE(control.handle({topic_b, 0, 8, {}}));
    CHECK(seen == 7);
    CHECK_THROWS_WITH_AS(control.on(Topic("a"), {}), doctest::Contains("the same name"), Error);
    CHECK_THROWS_WITH_AS(static_cast<void>(control.handle({Topic("c"), 0, 0, {}})),
                         doctest::Contains("an unknown topic: got from rank 0"), Error);
}

TEST_CASE("observations are not under way") {
    const mpi::Comm comm;
    ControlMessages control(comm);
    control.post(0, Topic("looks", Topic::Of::Observation), 0);
    CHECK(control.under_way() == 0);
    control.post(0, topic_a, 0);
    CHECK(control.under_way() == 1);
    while (control.poll()) {
    }
    CHECK(control.under_way() == 0);
}

TEST_CASE("without MPI there is oneself") {
    const mpi::Comm comm;
    ControlMessages control(comm);
    CHECK_FALSE(control.poll().has_value());
    control.post(0, topic_b, 2, content(1, 8));
    CHECK(control.sent());
    const auto message = control.poll();
    REQUIRE(message.has_value());
    CHECK(message->topic == topic_b);
    CHECK(message->subject == 2);
    CHECK(message->bytes == content(1, 8));
    CHECK_THROWS_AS(control.post(1, topic_b, 2), InvalidArgument);
}

TEST_CASE("abandoned messages are given up in silence") {
    Post post;
    if (post.comm.size() == 1) {
        return;
    }
    // Too long to leave before the receiver takes it.
    const int to = (post.comm.rank() + 1) % post.comm.size();
    post.control.post(to, topic_a, 0, content(7, std::size_t{8} << 20));
    CHECK_FALSE(post.control.sent());
    post.control.abandon();
    CHECK(post.control.sent());
    post.comm.barrier();                                // it is not taken before all have looked
    const ControlMessage message = next(post.control);  // no rank died: it arrives all the same
    CHECK(message.bytes == content(7, std::size_t{8} << 20));
}
