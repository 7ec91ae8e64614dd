// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handshake.hpp"

#include <functional>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/control_block.hpp"

using namespace fluvial;
using namespace fluvial::stage;
using host::LocalSocket;

namespace {

LocalSocket accepted(host::LocalListener& listener) {
    REQUIRE(host::wait_for_input(listener.descriptor(), 10'000));
    return std::move(*listener.accept());
}

/// The request of a client that is the only one there is.
std::optional<TrustedRequest> receive_request(Applicant& applicant, const Key& key) {
    while (true) {
        auto request = applicant.advance(key);
        applicant.flush();
        if (request) {
            return request;
        }
        REQUIRE(host::wait_for_input(applicant.descriptor(), 10'000));
    }
}

/// A process that listens at the address of a contact, and is not the writer.
class Impostor {
  public:
    explicit Impostor(std::function<void(LocalSocket&)> behave)
        : contact(new_contact()),
          listener_(contact.socket),
          thread_([this, behave = std::move(behave)] {
              LocalSocket socket = accepted(listener_);
              try {
                  behave(socket);
              } catch (const Error&) {  // the client has left: what it thought of us is what is
                                        // tested
              }
          }) {}
    ~Impostor() { thread_.join(); }

    const Contact contact;

  private:
    host::LocalListener listener_;
    std::thread thread_;
};

Attachment attach_to(const Contact& contact, double timeout_s = 10) {
    return attach(contact, {Role::ReaderRank, 0, 1, -1, Start::Oldest, 1}, {}, Deadline(timeout_s));
}

}  // namespace

TEST_CASE("a process at the address that does not know the key is refused by the client") {
    bool told_more = false;
    {
        const Impostor impostor([&](LocalSocket& socket) {
            socket.receive(Deadline(10));
            ByteWriter challenge;
            challenge.put(Verdict::Good);
            challenge.put(std::array<unsigned char, 64>{});
            socket.send(challenge.view(), {}, Deadline(10));
            socket.receive(Deadline(10));  // throws: the client closes the connection
            told_more = true;
        });
        CHECK_THROWS_WITH_AS(attach_to(impostor.contact), doctest::Contains("key"), Refused);
    }
    CHECK_FALSE(told_more);
}

TEST_CASE("a server with another key is refused by the client, whatever it would have answered") {
    const Impostor impostor([](LocalSocket& socket) {
        Applicant applicant(std::move(socket), 10);
        receive_request(applicant, Key{});
    });
    CHECK_THROWS_AS(attach_to(impostor.contact), Refused);
}

TEST_CASE("a server that closes the connection, answers nonsense or nothing is an error in time") {
    {
        const Impostor impostor([](LocalSocket&) {});
        CHECK_THROWS_AS(attach_to(impostor.contact), PeerLost);
    }
    {
        const Impostor impostor([](LocalSocket& socket) {
            socket.post(std::as_bytes(std::span("\x01nonsense", 9)));
            socket.flush();
        });
        CHECK_THROWS_AS(attach_to(impostor.contact), Error);
    }
    {
        const Impostor impostor([](LocalSocket& socket) {
            socket.receive(Deadline(10));
            socket.receive(Deadline(10));
        });
        const std::int64_t begin_ns = now_ns();
        CHECK_THROWS_AS(attach_to(impostor.contact, 0.2), TimedOut);
        CHECK(now_ns() - begin_ns < 8'000'000'000);
    }
}

TEST_CASE("an address where no process listens") {
    CHECK_THROWS_WITH_AS(attach_to(new_contact()),
                         doctest::Contains(text("process ", ::getpid()).c_str()), StaleContact);
}

TEST_CASE("an error of the writer arrives as what it was") {
    const Impostor impostor([&](LocalSocket& socket) {
        socket.receive(Deadline(10));
        Applicant applicant(std::move(socket), 10);
        applicant.refuse("PeerStalled", "out for lunch");
        applicant.flush();
    });
    CHECK_THROWS_WITH_AS(attach_to(impostor.contact), "out for lunch", PeerStalled);
}

TEST_CASE("the refusal of a writer that closes before it was told anything arrives all the same") {
    for (int i = 0; i < 20; ++i) {
        const Impostor impostor([&](LocalSocket& socket) {
            Applicant applicant(std::move(socket), 10);
            applicant.refuse("Refused", "not you");
            applicant.flush();
        });
        CHECK_THROWS_WITH_AS(attach_to(impostor.contact), "not you", Refused);
    }
}

TEST_CASE("a writer that has too many clients is asked again") {
    const Contact contact = new_contact();
    host::LocalListener listener(contact.socket);
    std::thread server([&] {
        for (int i = 0; i < 3; ++i) {
            Applicant applicant(accepted(listener), 10);
            applicant.turn_away();
            applicant.flush();
        }
        Applicant applicant(accepted(listener), 10);
        receive_request(applicant, contact.key);
        applicant.reply({7, 3}, {});
        applicant.flush();
    });
    CHECK(attach_to(contact).reply.cell == 7);
    server.join();
}

TEST_CASE("request, descriptors and reply arrive") {
    std::optional<TrustedRequest> trusted;
    const Contact contact = new_contact();
    host::LocalListener listener(contact.socket);
    const auto file = host::MemoryFile::create("sent", 12345);
    std::thread server([&] {
        Applicant applicant(accepted(listener), 10);
        trusted = receive_request(applicant, contact.key);
        applicant.reply({7, 3}, {file.descriptor(), file.descriptor()});
        applicant.flush();
    });
    const Attachment got = attach(contact, {Role::WriterRank, 2, 5, 1, Start::Next, 99},
                                  file.descriptor(), Deadline(10));
    server.join();
    CHECK(trusted->request.role == Role::WriterRank);
    CHECK(trusted->request.rank == 2);
    CHECK(trusted->request.size == 5);
    CHECK(trusted->request.group == 1);
    CHECK(trusted->request.start == Start::Next);
    CHECK(trusted->request.pid == 99);
    REQUIRE(trusted->arena.has_value());
    CHECK(host::MemoryFile::adopt(std::move(*trusted->arena)).size() == 12345);
    CHECK(got.reply.cell == 7);
    CHECK(got.reply.group == 3);
    CHECK(got.descriptors.size() == 2);
}

TEST_CASE("memory that is no control block is not taken for one") {
    CHECK_THROWS_AS(ControlBlock::adopt(host::MemoryFile::create("small", 100)), Error);
    CHECK_THROWS_WITH_AS(ControlBlock::adopt(host::MemoryFile::create("zero", 1 << 22)),
                         doctest::Contains("different versions"), Error);
    {  // one whose header claims more than the file holds
        const ControlBlock good = ControlBlock::create("test", "here", 1, {.queue_steps = 1});
        const auto file = host::MemoryFile::create("short", sizeof(ControlHeader));
        std::memcpy(file.map(host::Access::ReadWrite).data(), &good.header(),
                    sizeof(ControlHeader));
        CHECK_THROWS_WITH_AS(ControlBlock::adopt(host::MemoryFile::adopt(
                                 host::Descriptor(::dup(file.descriptor())))),
                             doctest::Contains("shorter than its header says"), Error);
    }
}
