// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_service.hpp"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <pthread.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/host/core_set.hpp"
#include "fluvial/move/fabric_read.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/move/tcp_read.hpp"
#include "fluvial/stage/admission.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/service_cores.hpp"

namespace fluvial::stage {
namespace {

/// Between looks for what rings no bell: members that died, the end of the stream.
constexpr int look_ms = 20;
/// Clients at a time that have not proven to know the key ...
constexpr std::size_t visitors_max = 32;
/// ... for how long each may stay, where others wait ...
constexpr std::int64_t visitor_stay_where_full_ns = 200'000'000;
/// ... and where none does.
constexpr std::int64_t visitor_stay_ns = 2'000'000'000;
/// To send a step to more readers would keep the writer for too long.
constexpr std::size_t handed_out_to_max = 4;

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

void check_stream(const ControlBlock& control, const std::string& name) {
    if (control.header().name != name) {
        throw Refused(Problem{
            text("the contact file of '", name.substr(0, 80), "' is that of another stream"),
            text("'", std::string(control.header().name).substr(0, 80), "'"),
            text("'", name.substr(0, 80), "'"),
            "It was moved or copied: open the stream by its own name"});
    }
}

/// Where a job that resumes has come to, which is kept with the steps; its first rank claims that,
/// and begins there.
std::optional<Position> position_of(const std::string& resume, const StreamMemory& memory,
                                    AttachRequest& request) {
    if (resume.empty()) {
        return std::nullopt;
    }
    check_position_name(resume);
    const PositionOf position{memory.retained, resume, memory.log->head().run};
    PositionClaim claim;
    if (request.group < 0) {
        claim = PositionClaim(position, request.size);
        request.from = claim.step();
    }
    return Position(position, request.rank, request.size, std::move(claim));
}

/// From here on the reader counts as one of the stream's.
host::AliveLock take_place(const ControlBlock& control, const AttachReply& place) {
    try {
        host::AliveLock alive(control.file(), control.reader_lock(place.cell));
        const ControlLock lock(control);
        activate_reader(control, place.cell);
        return alive;
    } catch (const Error& error) {  // no descriptor is free
        const ControlLock lock(control);
        lose_reader(control, place.cell, text("could not be let in: ", error.what()));
        throw_error(error.kind(), text("the writer cannot let a reader in: ", error.what()));
    }
}

}  // namespace

RemoteService::RemoteService(const Key& key, StreamMemory memory, const move::Interfaces& on,
                             const move::PortRange& ports, const host::Event& bell)
    : key_(key),
      memory_(std::move(memory)),
      bell_(bell),
      listener_(on.listen_on, ports.first, ports.last),
      endpoints_(endpoints_of(on.reachable_at, listener_.port())) {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "fluvial remote");
}

RemoteService::~RemoteService() {
    stop_ = true;
    bell_.ring();
    thread_.join();
    for (Reader& reader : sessions_) {
        reader.session.hang_up("the writer has ended before this reader had everything");
    }
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
            serve_visitors();  // what has come of them is heard before they make room
            if (some_wait) {
                let_in();
            }
            serve_sessions();
            serve_peers();
            if (draining_) {
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
    std::vector<pollfd> all = {{bell_.descriptor(), POLLIN, 0}};
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
    // A step that is complete by now was seen in the last turn, or rings.
    serving.unlock();
    ::poll(all.data(), all.size(), asleep_ ? look_ms : 0);
    serving.lock();
    const auto ready = [](const pollfd& one) { return one.revents != 0; };
    if (ready(all.front())) {
        bell_.clear();
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

bool RemoteService::oldest_may_go() const {
    return !visitors_.empty() && now_ns() - visitors_.front().came_ns > visitor_stay_where_full_ns;
}

/// Those beyond wait in the kernel, so that each that is let in has time to prove itself.
bool RemoteService::may_let_in() const {
    return now_ns() >= accept_again_ns_ && (visitors_.size() < visitors_max || oldest_may_go());
}

void RemoteService::let_in() {
    try {
        while (may_let_in()) {
            auto socket = listener_.accept();
            if (!socket) {
                return;
            }
            if (visitors_.size() >= visitors_max) {
                visitors_.pop_front();
            }
            visitors_.push_back({move::SecureConnection(std::move(*socket), key_,
                                                        move::SecureConnection::Side::Server),
                                 now_ns()});
        }
    } catch (const SystemError&) {  // no descriptor is free
        accept_again_ns_ = now_ns() + shortage_pause_ns;
        if (oldest_may_go()) {
            visitors_.pop_front();
        }
    }
}

void RemoteService::serve_visitors() {
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
        bool over = now_ns() - visitor->came_ns > visitor_stay_ns;
        try {
            over = admit(*visitor) || over;
        } catch (const std::exception&) {  // it proves nothing, makes no sense, is gone, or asks
            over = true;                   // for more than this process has
        }
        visitor = over ? visitors_.erase(visitor) : std::next(visitor);
    }
}

/// True when the visitor leaves the list of visitors.
bool RemoteService::admit(Visitor& visitor) {
    const auto message = visitor.connection.take();
    if (!message) {
        return false;
    }
    ByteReader in(*message);
    const auto purpose = in.get<FromReader>();
    if (purpose == FromReader::Data) {
        carry_data(visitor, in);
        return true;
    }
    if (purpose == FromReader::Peer) {
        ByteWriter out;
        out.put(FromWriter::Good);
        visitor.connection.post(out.view());
        peers_.emplace_back(std::move(visitor.connection), in.get_string(), *memory_.control);
        return true;
    }
    if (purpose == FromReader::GoesOn) {
        go_on(visitor, decode_goes_on(in));
        return true;
    }
    if (purpose != FromReader::Attach) {
        return true;
    }
    attach(visitor, decode_attach(in));
    return true;
}

void RemoteService::attach(Visitor& visitor, const AttachMessage& wanted) {
    const ControlBlock& control = *memory_.control;
    try {
        check_request(wanted.request);
        check_stream(control, wanted.stream);
        visitor.connection.socket().give_up_after(patience_s(control.header().stall_timeout_s));
        AttachRequest request = wanted.request;
        if (!wanted.resume.empty()) {
            request.start = Start::At;
        }
        check_admissible(control, request);
        std::optional<Position> position = position_of(wanted.resume, memory_, request);
        const AttachReply place = admit_reader(control, memory_.log, request);
        host::AliveLock alive = take_place(control, place);
        sessions_.emplace_back(std::move(visitor.connection), wanted, place, std::move(alive),
                               memory_, std::move(position));
        control.header().remote_readers = static_cast<std::uint32_t>(sessions_.size());
    } catch (const Error& error) {
        visitor.connection.post(encode_failed(error.kind(), error.what()));
        visitor.connection.flush();
    }
}

RemoteSession* RemoteService::session_of(const Token& token) {
    const auto reader = std::find_if(sessions_.begin(), sessions_.end(), [&](const Reader& one) {
        return one.session.token() == token;
    });
    return reader != sessions_.end() ? &reader->session : nullptr;
}

/// A reader whose connection has fallen silent comes by another way.
void RemoteService::go_on(Visitor& visitor, const GoesOnMessage& message) {
    if (RemoteSession* session = session_of(message.token)) {
        visitor.connection.socket().give_up_after(
            patience_s(memory_.control->header().stall_timeout_s));
        session->go_on(std::move(visitor.connection), message);
        return;
    }
    visitor.connection.post(encode_failed(
        "PeerLost", "the writer has given this reader's place up while it could not be reached"));
    visitor.connection.flush();
}

void RemoteService::carry_data(Visitor& visitor, ByteReader& in) {
    const DataMessage message = decode_data(in);
    RemoteSession* session = session_of(message.token);
    if (session == nullptr) {
        return;
    }
    const move::TcpSocket& socket = visitor.connection.socket();
    socket.give_up_after(patience_s(memory_.control->header().stall_timeout_s));
    if (!message.provider.empty()) {
        session->carry_data(message.rail,
                            move::serve_fabric(std::move(visitor.connection), message.provider));
        return;
    }
    visitor.connection.post(encode_carries_data(move::interface_of(socket.own_address())));
    session->carry_data(message.rail, std::make_unique<move::TcpRemoteServer>(
                                          std::move(visitor.connection), memory_.encrypt));
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
    if (!serving || sessions_.size() > handed_out_to_max) {
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

std::string RemoteService::waits_for() {
    if (!draining_.exchange(true)) {
        bell_.ring();
    }
    const std::lock_guard lock(mutex_);
    return waits_for_;
}

}  // namespace fluvial::stage
