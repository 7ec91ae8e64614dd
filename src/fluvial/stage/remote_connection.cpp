// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/host_name.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/move/network.hpp"
#include "fluvial/move/rails.hpp"
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
    if (elsewhere && contact.names.empty() &&
        std::ranges::all_of(contact.endpoints, within_its_host)) {
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

/// The addresses of a contact, one after the other, and what came of them.
class Attempts {
  public:
    Attempts(const Contact& contact, double stall_timeout_s, move::Endpoint& found)
        : contact_(contact), stall_timeout_s_(stall_timeout_s), found_(found) {}

    /// Whether a connection stands.
    bool at(const move::Endpoint& endpoint, const std::string& shown) {
        if (std::ranges::find(tried_, endpoint) != tried_.end()) {
            return false;
        }
        tried_.push_back(endpoint);
        std::string why;
        try {
            found_ = endpoint;
            connection_ =
                connect_to(contact_, stall_timeout_s_, endpoint, Deadline(endpoint_timeout_s));
            return true;
        } catch (const Unreachable& error) {
            why = error.what();
            lost_ = lost_ || why == no_reply_there || why == std::strerror(EHOSTUNREACH);
        } catch (const PeerLost& error) {
            why = error.what();
            ended_ = true;
        } catch (const TimedOut&) {
            why = no_reply_there;
            mute_ = true;
        }
        refused_ = refused_ && why == std::strerror(ECONNREFUSED);
        note(shown, why);
        return false;
    }

    /// Of the host's name, as this host knows it.
    std::vector<move::Endpoint> addresses_of(const move::Endpoint& name) {
        std::string why;
        auto addresses = move::resolved(name, Deadline(endpoint_timeout_s), why);
        if (addresses.empty()) {
            note(text_of(name), why);
        }
        return addresses;
    }

    /// There was nothing to try: what is listed lies where no chosen interface leads.
    bool none() const { return tried_.empty() && (said_.empty() || !contact_.endpoints.empty()); }
    move::SecureConnection take() { return std::move(*connection_); }

    [[noreturn]] void throw_failed() const {
        const std::string who = text("process ", contact_.pid, " on ", contact_.host);
        if (refused_ && !tried_.empty()) {
            throw_refused(contact_, said_, who);
        }
        if (ended_) {
            throw CutOff(Problem{"the writer ended a connection before this reader was let in",
                                 said_, text("that ", who, " lives on"),
                                 "It has ended, or is ending: look at its job"});
        }
        const Problem problem{
            "the writer cannot be reached", said_, text("one of the addresses of ", who),
            "Give both hosts, or containers (--network=host), a network in common, and let its "
            "connections through: see the options network and ports"};
        if (lost_ || mute_) {
            OutOfReach error(problem);
            error.connected = !lost_;
            throw error;
        }
        throw Error(problem);
    }

  private:
    void note(const std::string& where, const std::string& why) {
        said_ += text(said_.empty() ? "" : ", ", where, ": ", why);
    }

    const Contact& contact_;
    const double stall_timeout_s_;
    move::Endpoint& found_;
    std::optional<move::SecureConnection> connection_;
    std::vector<move::Endpoint> tried_;
    std::string said_;
    bool refused_ = true;  ///< by each: no process listens any more
    bool ended_ = false;   ///< a connection that the writer had taken
    bool lost_ = false;    ///< what was sent there, as far as is known
    bool mute_ = false;    ///< its process, though there is a connection
};

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
                                  move::Endpoint& found, const std::string& interfaces) {
    if (!is_listening(contact)) {
        throw Error(
            Problem{"the writer lets no readers connect to it",
                    text("process ", contact.pid, " on ", contact.host, " with network=off"),
                    "readers that share its memory, on its host",
                    "Let it connect: leave the writer's options network and "
                    "FLUVIAL_NETWORK out"});
    }
    Attempts attempts(contact, stall_timeout_s, found);
    for (const move::Endpoint& endpoint :
         move::nearest_first(move::led_to(interfaces, contact.endpoints))) {
        if (attempts.at(endpoint, text_of(endpoint))) {
            return attempts.take();
        }
    }
    // On this host a name tells nothing that its addresses do not.
    for (const move::Endpoint& name :
         is_on_this_host(contact) ? std::vector<move::Endpoint>() : contact.names) {
        for (const move::Endpoint& endpoint :
             move::nearest_first(move::led_to(interfaces, attempts.addresses_of(name)))) {
            if (attempts.at(endpoint, text(name.address, " (", text_of(endpoint), ")"))) {
                return attempts.take();
            }
        }
    }
    if (attempts.none()) {
        move::throw_none_led_to(interfaces,
                                contact.endpoints.empty() ? contact.names : contact.endpoints);
    }
    attempts.throw_failed();
}

}  // namespace fluvial::stage
