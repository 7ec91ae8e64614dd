// SPDX-License-Identifier: Apache-2.0
/// The thread of the writer's rank 0 that serves readers on other hosts: it lets them in by their
/// key, hands out steps as they come, sends the data that is asked for, also while the program
/// computes, and takes places back when readers go.
///
/// Any process in the network may connect, so the thread waits for no client: few clients that have
/// not proven to know the key stay, none for long, and the oldest makes room once it has had its
/// time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#include "fluvial/host/event.hpp"
#include "fluvial/move/network.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/remote_session.hpp"
#include "fluvial/stage/writer_peer.hpp"

namespace fluvial::stage {

class RemoteService {
  public:
    enum class Duty {
        Serves,
        StandsBy  ///< and serves once the rank that does has died (remote_takeover.cpp)
    };

    /// Listens on the interfaces `on`, at one of `ports`. What `memory` points to outlives this
    /// object; `bell` is rung when a step is complete. Throws SystemError.
    RemoteService(const Key& key, StreamMemory memory, const move::Interfaces& on,
                  const move::PortRange& ports, const host::Event& bell, Duty duty = Duty::Serves);
    /// Readers that have not got everything are told so.
    ~RemoteService();
    RemoteService(const RemoteService&) = delete;
    RemoteService& operator=(const RemoteService&) = delete;

    /// Tells the first host of the same writer, and is told by it, when ranks there or here have
    /// failed or closed. Waits for its reply. Throws PeerLost, TimedOut, Refused, StaleContact.
    void follow(const Contact& first);
    /// Its thread, and what threads it makes, run on cores that are not `taken` by the writer's
    /// ranks of this host, or where the environment says. Throws InvalidArgument.
    void place(const cpu_set_t& taken);
    /// From now on readers that come are told of it, as the one that stands by.
    void stand_by();
    /// It does so, or is about to.
    bool serves() const;
    /// Where readers find it.
    const std::vector<move::Endpoint>& endpoints() const { return endpoints_; }
    /// From now on clients that prove the key are given this contact of the whole writer.
    void serve_contact(std::string contact);
    /// The first reader that has not got everything yet; empty: there is none.
    std::string waits_for();
    /// Sends a step that is complete to the readers that have asked for it, from the thread that
    /// calls: that takes less time than to wake the one that serves. False where that one is to do
    /// it, or the rest of it.
    bool hand_out();

  private:
    struct Visitor {
        move::SecureConnection connection;
        std::int64_t came_ns;
        std::optional<Bytes> unheard{};  ///< of this one, which stands by
    };

    /// The place of a reader whose service has died, and which has not come here yet.
    struct Awaited {
        int cell;
        host::AliveLock alive;
    };

    struct Reader {
        Reader(move::SecureConnection connection, const AttachMessage& message,
               const AttachReply& place, host::AliveLock alive, const StreamMemory& memory,
               std::optional<Position> position)
            : session(std::move(connection), message, place, std::move(alive), memory,
                      std::move(position)) {}
        Reader(move::SecureConnection connection, const GoesOnMessage& message, int cell,
               host::AliveLock alive, const StreamMemory& memory, const TakenOverSteps& steps)
            : session(std::move(connection), message, cell, std::move(alive), memory, steps) {}
        RemoteSession session;
        bool heard = true;           ///< there may be something to take ...
        bool asked_for_data = true;  ///< ... of the connection for data, too
    };
    RemoteSession* session_of(const Token& token);

    void run();
    void wake() const;
    bool wait(std::unique_lock<std::mutex>& serving);
    bool oldest_may_go() const;
    bool may_let_in() const;
    void let_in();
    void serve_visitors();
    bool admit(Visitor& visitor);
    bool give_contact(Visitor& visitor);
    void attach(Visitor& visitor, const AttachMessage& wanted);
    void carry_data(Visitor& visitor, ByteReader& in);
    void go_on(Visitor& visitor, const GoesOnMessage& message);
    void serve_sessions();
    void serve_peers();
    void note_who_waits();
    void see_off();
    void look_after_server();
    bool waits_beside(Visitor& visitor);
    bool take_over(Visitor& visitor, const GoesOnMessage& message);
    void give_up_awaited();

    Key key_;
    StreamMemory memory_;
    const host::Event& bell_;
    std::mutex serving_;  ///< what follows, but for the wait
    move::TcpListener listener_;
    std::vector<move::Endpoint> endpoints_;
    std::list<Visitor> visitors_;  ///< in the order in which they came
    std::list<Reader> sessions_;
    std::list<Awaited> awaited_;
    Deadline awaited_until_{0};
    bool asleep_ = false;               ///< the next wait is one, and writers know
    std::int64_t accept_again_ns_ = 0;  ///< after a lack of descriptors
    std::list<WriterPeer> peers_;
    mutable std::mutex mutex_;  ///< of what follows
    std::optional<WriterPeer> new_peer_;
    std::string contact_;  ///< empty: not known yet
    std::string waits_for_ = "readers that have not been looked at";
    std::atomic<bool> draining_{false};  ///< waits_for() was called
    std::atomic<bool> stop_{false};
    std::atomic<bool> standing_by_;
    std::optional<host::Event> own_bell_;  ///< while it stands by: the other one is not its own
    std::thread thread_;
};

}  // namespace fluvial::stage
