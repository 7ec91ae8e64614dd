// SPDX-License-Identifier: Apache-2.0
/// A reader that the network, or the writer's host, does not let in at once.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/remote_messages.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

Bytes joined() {
    ByteWriter out;
    out.put(FromWriter::Joined);
    return out.take();
}

/// A writer's host that ends so many connections when it hears what they want, as one does after an
/// outage, and answers the next one.
class ForgetfulHost {
  public:
    explicit ForgetfulHost(int ended, Bytes reply)
        : left_(ended), reply_(std::move(reply)), thread_([this] { serve(); }) {
        contact_.endpoints = {{"127.0.0.1", listener_.port()}};
    }
    ~ForgetfulHost() {
        stop_ = true;
        thread_.join();
    }
    ForgetfulHost(const ForgetfulHost&) = delete;
    ForgetfulHost& operator=(const ForgetfulHost&) = delete;

    const Contact& contact() const { return contact_; }
    Reader open(double rendezvous_timeout_s) const { return open(contact_, rendezvous_timeout_s); }
    static Reader open(const Contact& contact, double rendezvous_timeout_s) {
        ReaderOptions options;
        options.rendezvous_timeout_s = rendezvous_timeout_s;
        options.transport = "tcp";
        options.contact = format_contact(contact);
        return {"test", mpi::Comm(), options};
    }
    int asked() const { return asked_; }

  private:
    void serve() {
        std::optional<move::SecureConnection> connection;
        while (!stop_) {
            try {
                if (auto socket = connection ? std::nullopt : listener_.accept()) {
                    connection.emplace(std::move(*socket), contact_.key,
                                       move::SecureConnection::Side::Server);
                }
                if (connection && hears_wish(*connection)) {
                    connection.reset();
                }
            } catch (const Error&) {  // the reader is gone
                connection.reset();
            }
        }
    }
    /// True where the connection is to end.
    bool hears_wish(move::SecureConnection& connection) {
        connection.flush();
        const auto heard = connection.take();
        if (!heard || static_cast<FromReader>(heard->at(0)) != FromReader::Attach) {
            return false;
        }
        ++asked_;
        if (left_-- > 0) {
            return true;
        }
        connection.post(reply_);
        connection.post(joined());
        return false;
    }

    Contact contact_ = new_contact();
    move::TcpListener listener_{{"127.0.0.1"}, 0, 0};
    int left_;
    Bytes reply_;
    std::atomic<int> asked_ = 0;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

}  // namespace

TEST_CASE("a reader whose connection ends before it is let in asks again") {
    const ForgetfulHost host(3, encode(AttachedMessage{}));
    CHECK_NOTHROW(host.open(30));
    CHECK(host.asked() == 4);
}

TEST_CASE("it asks once where it has no time for more") {
    const ForgetfulHost host(3, encode(AttachedMessage{}));
    CHECK_THROWS_WITH_AS(host.open(0), doctest::Contains("connection"), PeerLost);
    CHECK(host.asked() == 1);
}

TEST_CASE("what the writer's host says for a reply is not asked for again") {
    const ForgetfulHost host(1, encode_failed("PeerLost", "rank 3 is gone"));
    CHECK_THROWS_WITH_AS(host.open(30), "rank 3 is gone", PeerLost);
    CHECK(host.asked() == 2);
}

TEST_CASE("an address at which nobody listens is not waited for") {
    ReaderOptions options;
    options.transport = "tcp";
    Contact contact = new_contact();
    {
        const move::TcpListener gone({"127.0.0.1"}, 0, 0);
        contact.endpoints = {{"127.0.0.1", gone.port()}};
    }
    options.contact = format_contact(contact);
    CHECK_THROWS_AS(Reader("test", mpi::Comm(), options), StaleContact);
}

TEST_CASE("a writer that listens on the loopback interface of another host has not ended") {
    Contact contact = new_contact();
    contact.endpoints = {{"127.0.0.1", 1}};  // where no process listens
    move::Endpoint found;
    CHECK_THROWS_WITH_AS(connect_to(contact, 10, found), doctest::Contains("has ended"),
                         StaleContact);
    contact.boot_id = "that of another host";
    CHECK_THROWS_WITH_AS(connect_to(contact, 10, found),
                         doctest::Contains("listens on the loopback interface alone"), Error);
}

TEST_CASE("a host is found by its name where its addresses lead nowhere") {
    const ForgetfulHost host(0, encode(AttachedMessage{}));
    Contact moved = host.contact();
    moved.boot_id = "that of another host";
    moved.names = {{"localhost", moved.endpoints.front().port}};
    moved.endpoints = {{"127.0.0.1", 1}};  // where no process listens
    CHECK_NOTHROW(ForgetfulHost::open(moved, 30));
    CHECK(host.asked() == 1);
    moved.names.front().address = "no-such.invalid";
    CHECK_THROWS_WITH_AS(ForgetfulHost::open(moved, 0),
                         doctest::Contains("127.0.0.1:1: Connection refused, no-such.invalid:"),
                         StaleContact);
    moved.endpoints.clear();
    CHECK_THROWS_WITH_AS(ForgetfulHost::open(moved, 0), doctest::Contains("cannot be reached"),
                         Error);
}
