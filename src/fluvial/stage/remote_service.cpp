// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_service.hpp"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <pthread.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/core_set.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/service_cores.hpp"

namespace fluvial::stage {
namespace {

/// Between looks for what rings no bell: members that died, the end of the stream.
constexpr int look_ms = 20;
/// Of one that stands by: a reader that comes tells it sooner.
constexpr int look_after_server_ms = 50;
/// To send a step to more readers would keep the writer for too long.
constexpr std::size_t handed_out_to_max = 4;
/// For what readers were told last: more than the network takes to send it again a few times.
constexpr double see_off_timeout_s = 3;

std::vector<move::Endpoint> endpoints_of(const std::vector<std::string>& addresses,
                                         std::uint16_t port) {
    std::vector<move::Endpoint> endpoints;
    for (const std::string& address : addresses) {
        endpoints.push_back({address, port});
    }
    return endpoints;
}

short events(bool sending) {
    return static_cast<short>(POLLIN | (sending ? POLLOUT : 0));
}

}  // namespace

RemoteService::RemoteService(const Key& key, StreamMemory memory, const move::Interfaces& on,
                             const move::PortRange& ports, const host::Event& bell, Duty duty)
    : key_(key),
      memory_(std::move(memory)),
      bell_(bell),
      listener_(on.listen_on, ports.first, ports.last),
      endpoints_(endpoints_of(on.reachable_at, listener_.port())),
      standing_by_(duty == Duty::StandsBy) {
    if (standing_by_) {
        own_bell_.emplace();
    }
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "fluvial remote");
}

RemoteService::~RemoteService() {
    if (standing_by_) {
        memory_.control->header().standby_port = 0;
    }
    stop_ = true;
    wake();
    thread_.join();
    for (Reader& reader : sessions_) {
        reader.session.hang_up("the writer has ended before this reader had everything");
    }
    see_off();
}

/// What was said last may be on its way still, or the network has lost it and is to bring it again.
void RemoteService::see_off() {
    const WithoutInterrupts quietly;
    const auto all_seen_off = [this] {
        return std::ranges::count_if(sessions_,
                                     [](Reader& one) { return !one.session.seen_off(); }) == 0;
    };
    try {
        const double stall_timeout_s = memory_.control->header().stall_timeout_s;
        came_in_time(all_seen_off, Deadline(std::min(see_off_timeout_s, stall_timeout_s)),
                     Meanwhile::Nothing);
    } catch (const std::exception&) {  // the system does the rest, as far as it can
    }
}

void RemoteService::wake() const {
    (own_bell_ ? *own_bell_ : bell_).ring();
}

void RemoteService::place(const cpu_set_t& taken) {
    const std::string cores = service_cores();
    if (cores.empty()) {
        host::run_beside(thread_, taken);
    } else if (cores != cores_of_the_rank) {
        host::run_on(thread_, service_cores_variable, cores);
    }
}

void RemoteService::run() {
    std::unique_lock serving(serving_);
    try {
        while (!stop_) {
            const bool some_wait = wait(serving);
            look_after_server();
            serve_visitors();  // what has come of them is heard before they make room
            if (some_wait) {
                let_in();
            }
            if (!standing_by_) {
                serve_sessions();
                give_up_awaited();
            }
            serve_peers();
            if (draining_ && !standing_by_) {
                note_who_waits();
            }
        }
    } catch (const std::exception& error) {  // out of memory
        const ControlLock lock(*memory_.control);
        fail(*memory_.control, "Error",
             text("readers on other hosts cannot be served any more: ", error.what()));
    }
}

/// True when a client wants to be let in.
bool RemoteService::wait(std::unique_lock<std::mutex>& serving) {
    std::vector<pollfd> all = {{standing_by_ ? -1 : bell_.descriptor(), POLLIN, 0}};
    for (const Reader& reader : sessions_) {
        all.push_back({reader.session.descriptor(), events(reader.session.sending()), 0});
        for (const auto& [rail, server] : reader.session.data_servers()) {
            all.push_back({server->descriptor(), events(server->sending()), 0});
        }
    }
    const auto first_listening = static_cast<std::ptrdiff_t>(all.size());
    if (may_let_in()) {
        for (const int listening : listener_.descriptors()) {
            all.push_back({listening, POLLIN, 0});
        }
    }
    const auto first_other = static_cast<std::ptrdiff_t>(all.size());
    for (const Visitor& visitor : visitors_) {
        all.push_back({visitor.connection.descriptor(), events(visitor.connection.sending()), 0});
    }
    for (const WriterPeer& peer : peers_) {
        if (!peer.over()) {
            all.push_back({peer.descriptor(), events(peer.sending()), 0});
        }
    }
    if (own_bell_) {
        all.push_back({own_bell_->descriptor(), POLLIN, 0});
    }
    // A step that is complete by now was seen in the last turn, or rings.
    serving.unlock();
    ::poll(all.data(), all.size(), standing_by_ ? look_after_server_ms : asleep_ ? look_ms : 0);
    serving.lock();
    const auto ready = [](const pollfd& one) { return one.revents != 0; };
    if (ready(all.front())) {
        bell_.clear();
    }
    if (own_bell_ && ready(all.back())) {
        own_bell_->clear();
    }
    if (standing_by_) {  // and says nothing in the place of the one that serves
        return std::any_of(all.begin() + first_listening, all.begin() + first_other, ready);
    }
    // Once the writers know that the service will sleep, it looks once more before it does.
    auto& sleeps = memory_.control->header().service_sleeps;
    const bool nothing = std::none_of(all.begin(), all.end(), ready);
    asleep_ = nothing && !asleep_;
    sleeps = asleep_ ? 1 : 0;
    auto found = all.begin() + 1;
    for (Reader& reader : sessions_) {
        reader.heard = ready(*found++);
        reader.asked_for_data = false;
        for (auto left = reader.session.data_servers().size(); left > 0; --left) {
            reader.asked_for_data = ready(*found++) || reader.asked_for_data;
        }
    }
    return std::any_of(all.begin() + first_listening, all.begin() + first_other, ready);
}

void RemoteService::serve_sessions() {
    for (auto reader = sessions_.begin(); reader != sessions_.end();) {
        reader->session.advance(reader->heard, reader->asked_for_data);
        reader = reader->session.over() ? sessions_.erase(reader) : std::next(reader);
    }
    if (memory_.control->header().steps_to == StepsTo::OnDemand) {
        // The reader that has waited longest is asked first.
        sessions_.sort([](const Reader& a, const Reader& b) {
            return a.session.last_step_ns() < b.session.last_step_ns();
        });
    }
    memory_.control->header().remote_readers = static_cast<std::uint32_t>(sessions_.size());
}

bool RemoteService::hand_out() {
    const std::unique_lock serving(serving_, std::try_to_lock);
    if (!serving || standing_by_ || sessions_.size() > handed_out_to_max) {
        return false;
    }
    return std::ranges::all_of(sessions_, [](Reader& one) { return one.session.hand_out(); });
}

void RemoteService::serve_peers() {
    {
        const std::lock_guard lock(mutex_);
        if (new_peer_) {
            peers_.push_back(std::move(*new_peer_));
            new_peer_.reset();
        }
    }
    for (WriterPeer& peer : peers_) {
        peer.advance();
    }
}

void RemoteService::follow(const Contact& first) {
    move::Endpoint endpoint;
    move::SecureConnection connection =
        connect_to(first, memory_.control->header().stall_timeout_s, endpoint);
    ByteWriter out;
    out.put(FromReader::Peer);
    out.put_string(hostname());
    connection.post(out.view());
    constexpr double timeout_s = 30;
    first_reply(connection, Deadline(timeout_s));
    const std::lock_guard lock(mutex_);
    new_peer_.emplace(std::move(connection), first.host, *memory_.control);
    waits_for_ = first.host;
}

void RemoteService::note_who_waits() {
    std::string who;
    try {
        const auto waits = [](const WriterPeer& peer) { return !peer.has_all(); };
        if (std::any_of(peers_.begin(), peers_.end(), waits)) {
            who = "ranks of the writer on other hosts, for those on this one to end";
        }
        if (who.empty() && !awaited_.empty()) {
            who = "readers whose service died, and which have not come to this rank yet";
        }
        for (Reader& reader : sessions_) {
            if (who.empty() && !reader.session.has_all()) {
                who = reader.session.who();
            }
        }
    } catch (const PeerStalled&) {  // another process is stopped inside its critical section
        return;
    }
    const std::lock_guard lock(mutex_);
    waits_for_ = new_peer_ ? "the first host of the writer" : std::move(who);
}

void RemoteService::serve_contact(std::string contact) {
    const std::lock_guard lock(mutex_);
    contact_ = std::move(contact);
}

std::string RemoteService::waits_for() {
    if (!draining_.exchange(true)) {
        wake();
    }
    const std::lock_guard lock(mutex_);
    return waits_for_;
}

}  // namespace fluvial::stage
