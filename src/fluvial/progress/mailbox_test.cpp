// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/mailbox.hpp"

#include <map>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

std::vector<std::byte> letter(int number, std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>(i * 5 + static_cast<std::size_t>(number));
    return bytes;
}

Mail next(Mailbox& mailbox) {
    std::optional<Mail> mail;
    const auto arrived = [&] { return (mail = mailbox.poll()).has_value(); };
    mpi::wait_for(arrived, Deadline(30), "receive mail");
    return std::move(*mail);
}

struct Post {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    Mailbox mailbox{comm};
    ~Post() {
        mpi::wait_for([&] { return mailbox.sent(); }, Deadline(30), "send mail");
        comm.barrier();
        comm.close();
    }
};

}  // namespace

TEST_CASE("mail to every rank, oneself too, arrives once and in order for each pair") {
    Post post;
    const int ranks = post.comm.size();
    constexpr int letters = 50;
    // One in ten is long enough to be on its way for a while.
    const auto length = [](int number) {
        return number % 10 == 3 ? std::size_t{1} << 20 : static_cast<std::size_t>(number);
    };
    for (int number = 0; number < letters; ++number) {
        for (int to = 0; to < ranks; ++to)
            post.mailbox.post(to, MailKind::Query, number, letter(number, length(number)));
    }
    std::map<int, int> received;
    for (int left = letters * ranks; left > 0; --left) {
        const Mail mail = next(post.mailbox);
        CHECK(mail.kind == MailKind::Query);
        const int number = received[mail.from]++;
        CHECK(mail.stream == number);
        CHECK(mail.bytes == letter(number, length(number)));
    }
    for (int from = 0; from < ranks; ++from) CHECK(received[from] == letters);
    CHECK_FALSE(post.mailbox.poll().has_value());
}

TEST_CASE("every kind and an empty letter travel as they are") {
    Post post;
    const int to = (post.comm.rank() + 1) % post.comm.size();
    const int from = (post.comm.rank() + post.comm.size() - 1) % post.comm.size();
    constexpr int kinds = static_cast<int>(MailKind::Verdict) + 1;
    for (int kind = 0; kind < kinds; ++kind)
        post.mailbox.post(to, static_cast<MailKind>(kind), 1 << 30);
    for (int kind = 0; kind < kinds; ++kind) {
        const Mail mail = next(post.mailbox);
        CHECK(static_cast<int>(mail.kind) == kind);
        CHECK(mail.from == from);
        CHECK(mail.stream == 1 << 30);
        CHECK(mail.bytes.empty());
    }
}

TEST_CASE("without MPI there is oneself") {
    const mpi::Comm comm;
    Mailbox mailbox(comm);
    CHECK_FALSE(mailbox.poll().has_value());
    mailbox.post(0, MailKind::Closed, 2, letter(1, 8));
    CHECK(mailbox.sent());
    const auto mail = mailbox.poll();
    REQUIRE(mail.has_value());
    CHECK(mail->kind == MailKind::Closed);
    CHECK(mail->stream == 2);
    CHECK(mail->bytes == letter(1, 8));
    CHECK_THROWS_AS(mailbox.post(1, MailKind::Closed, 2), InvalidArgument);
}

TEST_CASE("abandoned mail is given up in silence") {
    Post post;
    if (post.comm.size() == 1) return;
    // Too long to leave before somebody takes it.
    const int to = (post.comm.rank() + 1) % post.comm.size();
    post.mailbox.post(to, MailKind::Result, 0, letter(7, std::size_t{8} << 20));
    CHECK_FALSE(post.mailbox.sent());
    post.mailbox.abandon();
    CHECK(post.mailbox.sent());
    post.comm.barrier();                   // nobody takes it before all have looked
    const Mail mail = next(post.mailbox);  // nobody died: it arrives all the same
    CHECK(mail.bytes == letter(7, std::size_t{8} << 20));
}
