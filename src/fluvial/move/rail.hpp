// SPDX-License-Identifier: Apache-2.0
/// One of the connections of a StripedReader: over one interface of this host, begun again for as
/// long as it does not stand. No call waits.
///
/// | event                        | finds         | what happens                              |
/// |------------------------------|---------------|-------------------------------------------|
/// | advance()                    | down, in time | a connection is begun                     |
/// |                              | opening       | the proof goes on; the greeting is said   |
/// |                              | ready         | bytes of the windows asked for are taken  |
/// | the owner's reply            | opening       | ready; it is known where the rail ends    |
/// | a window is refused          | ready         | it has the refusal, the rail the next one |
/// | the connection ends, or      | any           | down; its windows are asked for elsewhere |
/// | opening takes too long       |               |                                           |
/// | forget()                     | ready         | what is still to come is thrown away      |
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "fluvial/move/incoming_data.hpp"
#include "fluvial/move/read_windows.hpp"
#include "fluvial/move/secure_connection.hpp"

namespace fluvial::move {

class Rail {
  public:
    struct Way {
        std::string interface;  ///< of this host
        /// Begins a connection to the owner, without waiting. Throws Error.
        std::function<SecureConnection()> connect;
        Bytes greeting;  ///< the first message, by which the owner knows what the connection is for
        /// What the owner answered: its interface. Throws Error.
        std::function<std::string(const Bytes& reply)> interface_there;
    };
    Rail(Way way, bool encrypt) : way_(std::move(way)), data_(encrypt), encrypt_(encrypt) {}
    /// Over a connection of which both ends know the purpose.
    Rail(Way way, bool encrypt, SecureConnection connection, std::string interface_there);

    /// True when something came. Throws nothing but for want of memory.
    bool advance();
    /// Windows may be asked for: it stands, and has less to bring than keeps it busy.
    bool has_room() const;
    bool stands() const { return state_ == State::Ready; }
    /// The window outlives this rail's interest in it: until it is done, or forget(). While
    /// stands().
    void ask(ReadWindow& window);
    /// The windows that were asked for are there no more.
    void forget();
    /// Not to be used again.
    void retire(std::string why);
    /// The connection has failed; another is begun in a while.
    void drop(const std::string& why);

    /// When the window will have come, in seconds from now: as fast as the latest ones, and not
    /// sooner than this rail has been silent.
    double expected_s(const ReadWindow& window) const;
    /// The same of another window of so many bytes.
    double expected_s(std::uint64_t more_bytes) const;
    /// The last window that was asked for here and nowhere else, if it is still to come.
    ReadWindow* latest() const;
    /// Something is to come, and nothing has for so long.
    double silent_s() const;

    int descriptor() const { return connection_ ? connection_->descriptor() : -1; }
    bool sending() const;
    const std::string& interface() const { return way_.interface; }
    const std::string& interface_there() const { return there_; }
    /// Why it was down last; empty: it never was.
    const std::string& why_down() const { return why_down_; }
    /// Bytes of windows since take_count().
    std::uint64_t count() const { return bytes_; }
    std::uint64_t take_count() { return std::exchange(bytes_, 0); }
    /// Bytes a second while it was busy of late; a guess until something has come.
    double rate() const;

  private:
    enum class State { Down, Opening, Ready, Retired };
    struct Asked {
        ReadWindow* window;                ///< none: it is to be thrown away
        std::vector<std::uint64_t> sizes;  ///< of its boxes
        std::uint64_t left;                ///< bytes that are to come
        bool announced = false;
        bool refused = false;
        std::size_t box = 0;
        std::uint64_t done = 0;  ///< bytes of that box
    };
    bool open();
    bool receive();
    bool hear(Asked& asked);
    bool receive_some(Asked& asked);
    void finish(const Asked& asked);

    Way way_;
    IncomingData data_;
    bool encrypt_;
    State state_ = State::Down;
    std::int64_t since_ns_ = 0;  ///< down: not before; opening: since when
    bool greeted_ = false;
    std::optional<SecureConnection> connection_;
    std::string there_;
    std::string why_down_;
    std::deque<Asked> asked_;
    std::uint64_t backlog_ = 0;  ///< bytes that are to come
    std::int64_t moved_ns_ = 0;  ///< something came last
    std::int64_t began_ns_ = 0;  ///< the first of asked_ has had the connection to itself since
    double round_trip_s_ = 0;
    double brought_bytes_ = 0;  ///< of the latest windows ...
    double brought_s_ = 0;      ///< ... in so much time; 0: none has come yet
    std::uint64_t bytes_ = 0;
    std::vector<std::byte> thrown_;
};

}  // namespace fluvial::move
