// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/move/network.hpp"
#include "fluvial/stage/remote_messages.hpp"

namespace fluvial::stage {
namespace {

/// The time for a connection to one endpoint of several: then the next one is tried.
constexpr double endpoint_timeout_s = 3;

/// A connection that had to make room for others is tried again after so long.
constexpr double again_s = 0.02;

constexpr const char* no_reply = "the writer's host did not answer";
constexpr const char* no_reply_there = "no reply";  // as TcpSocket::connect has it, too

/// No connection came about, as opposed to one that has ended.
class Unreachable : public PeerLost {
  public:
    using PeerLost::PeerLost;
};

move::SecureConnection connect_once(const Contact& contact, double stall_timeout_s,
                                    const move::Endpoint& endpoint, const Deadline& deadline) {
    std::string why;
    auto socket = move::TcpSocket::connect(endpoint, deadline, why);
    if (!socket) {
        throw Unreachable(why);
    }
    socket->give_up_after(patience_s(stall_timeout_s));
    move::SecureConnection connection(std::move(*socket), contact.key,
                                      move::SecureConnection::Side::Client);
    const auto proven = [&] {
        connection.flush();
        if (!connection.proven()) {
            connection.take();
        }
        return connection.proven();
    };
    wait_until(proven, deadline, no_reply);
    return connection;
}

/// Each address refuses: of another host that may say more of the network than of the writer.
[[noreturn]] void throw_refused(const Contact& contact, const std::string& tried,
                                const std::string& who) {
    const bool elsewhere = !is_on_this_host(contact);
    const auto within_its_host = [](const move::Endpoint& endpoint) {
        return move::is_loopback(endpoint.address);
    };
    if (elsewhere && std::ranges::all_of(contact.endpoints, within_its_host)) {
        throw Error(Problem{
            "the writer listens on the loopback interface alone, which no other host reaches",
            tried, text("an address of another interface of the host of ", who),
            "Give the writer a network (option network, or FLUVIAL_NETWORK), or, where its host "
            "had none yet, start it again now that it has"});
    }
    throw StaleContact(Problem{"no process answers at the addresses of the contact file", tried,
                               who,
                               elsewhere ? "The writer has ended (start it again), or a firewall "
                                           "refuses connections: see the options network and ports"
                                         : "The writer has ended; start it again"});
}

}  // namespace

void wait_for_room() {
    const Deadline pause(again_s);
    wait_until([&] { return pause.passed(); }, "the writer's host had no room for a connection");
}

double patience_s(double stall_timeout_s) {
    constexpr double least_s = 60;
    return std::max(least_s, 4 * stall_timeout_s);
}

Bytes first_reply(move::SecureConnection& connection, const Deadline& deadline) {
    std::optional<Bytes> reply;
    const auto replied = [&] {
        connection.flush();
        reply = connection.take();
        return reply.has_value();
    };
    wait_until(replied, deadline, no_reply);
    return std::move(*reply);
}

move::SecureConnection connect_to(const Contact& contact, double stall_timeout_s,
                                  const move::Endpoint& endpoint, const Deadline& deadline) {
    while (true) {
        try {
            return connect_once(contact, stall_timeout_s, endpoint, deadline);
        } catch (const Unreachable&) {
            throw;
        } catch (const PeerLost&) {
            if (deadline.passed()) {
                throw;
            }
        }
        wait_for_room();
    }
}

move::SecureConnection connect_to(const Contact& contact, double stall_timeout_s,
                                  move::Endpoint& found) {
    if (contact.endpoints.empty()) {
        throw Error(
            Problem{"the writer lets no readers connect to it",
                    text("process ", contact.pid, " on ", contact.host, " with network=off"),
                    "readers that share its memory, on its host",
                    "Let it connect: leave the writer's options network and "
                    "FLUVIAL_NETWORK out"});
    }
    std::string tried;
    bool refused = !contact.endpoints.empty();  // by each: no process listens any more
    bool ended = false;                         // a connection that the writer had taken
    bool lost = false;                          // what was sent there, as far as is known
    bool mute = false;                          // its process, though there is a connection
    for (const move::Endpoint& endpoint : move::nearest_first(contact.endpoints)) {
        std::string why;
        try {
            found = endpoint;
            return connect_to(contact, stall_timeout_s, endpoint, Deadline(endpoint_timeout_s));
        } catch (const Unreachable& error) {
            why = error.what();
            lost = lost || why == no_reply_there || why == std::strerror(EHOSTUNREACH);
        } catch (const PeerLost& error) {
            why = error.what();
            ended = true;
        } catch (const TimedOut&) {
            why = no_reply_there;
            mute = true;
        }
        refused = refused && why == std::strerror(ECONNREFUSED);
        tried += text(tried.empty() ? "" : ", ", text_of(endpoint), ": ", why);
    }
    const std::string who = text("process ", contact.pid, " on ", contact.host);
    if (refused) {
        throw_refused(contact, tried, who);
    }
    if (ended) {
        throw CutOff(Problem{"the writer ended a connection before this reader was let in", tried,
                             text("that ", who, " lives on"),
                             "It has ended, or is ending: look at its job"});
    }
    const Problem problem{
        "the writer cannot be reached", tried, text("one of the addresses of ", who),
        "Give both hosts, or containers (--network=host), a network in common, and let its "
        "connections through: see the options network and ports"};
    if (lost || mute) {
        OutOfReach error(problem);
        error.connected = !lost;
        throw error;
    }
    throw Error(problem);
}

}  // namespace fluvial::stage
