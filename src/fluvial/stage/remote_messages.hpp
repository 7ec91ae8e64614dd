// SPDX-License-Identifier: Apache-2.0
/// What a reader rank and the writer's host say to each other over a network, in messages of a
/// SecureConnection.
///
/// | the reader says        | the writer's host finds     | and answers                           |
/// |------------------------|-----------------------------|---------------------------------------|
/// | Attach: request        | a place                     | Attached: what the stream is          |
/// |                        | none, or no sense           | Failed, and hangs up                  |
/// |                        | all ranks of the job there  | Joined, once                          |
/// | Next                   | a complete step             | Step: records, parts of chunks        |
/// |                        | none yet                    | nothing, until there is one           |
/// |                        | the end                     | End                                   |
/// |                        | why there will be none      | Failed                                |
/// | Given: the step that   | it, or nothing yet          | as to Next                            |
/// | the writer's first host| that it is gone, or the end | Gone                                  |
/// | has given to the job   | of the stream               |                                       |
/// | Done: which step, and  | it was handed out           | nothing; its place is given back, and |
/// | whether it was read    |                             | a job that resumes goes on after it   |
/// | Wants: parts           | later steps with the same   | Step: these parts, too                |
/// |                        | chunks                      |                                       |
/// | Shares: other ranks of | a long description of a     | Step: where it is, to be read as data |
/// | its host have what it  | later step                  | (region_of_messages), by one of these |
/// | reads                  |                             | ranks for all                         |
/// | Status                 |                             | Status                                |
/// | Beat, once in a while  | a sign of life              | Beat: statistics                      |
/// | Leave, or hangs up     |                             | nothing; the place is given back      |
/// | Data: token, provider, | the token of an attached    | Good: by which interface it came; the |
/// | number of the rail     | reader, no provider         | connection carries data from then on  |
/// |                        |                             | (move/tcp_read.hpp), in the place of  |
/// |                        |                             | the one before with that number       |
/// |                        | likewise, a provider of     | what move/fabric_read.hpp has         |
/// |                        | libfabric                   |                                       |
/// | GoesOn: token, where   | the token of an attached    | the messages of steps that the reader |
/// | it is, over another    | reader                      | has not got, and what follows         |
/// | connection             | that of one which the rank  | the same (remote_takeover.cpp)        |
/// |                        | that died served            |                                       |
/// |                        | the same, of whose steps    | Failed, which says which              |
/// |                        | some are lost with the rank |                                       |
/// |                        | none: it was given up       | Failed                                |
/// | Peer: its host         | another host of the writer  | Good; what writer_peer.hpp has        |
/// | Contact                | the contact of all ranks    | Contact: it (served_contact.hpp)      |
/// |                        | none yet                    | nothing, and hangs up                 |
///
/// A reader that was evicted is told so by its next Next. It asks for the next step once it has got
/// the reply, and may have several steps in its hands meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/secure_connection.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/parts_along.hpp"
#include "fluvial/stage/seat.hpp"

namespace fluvial::stage {

enum class FromReader : std::uint8_t {
    Attach,
    Data,
    Next,
    Done,
    Status,
    Beat,
    Leave,
    Peer,
    Wants,
    GoesOn,
    Given,
    Contact,
    Shares
};
enum class FromWriter : std::uint8_t {
    Attached,
    Joined,
    Step,
    End,
    Failed,
    Status,
    Beat,
    Good,
    Gone,
    Contact
};
/// What a message of a step has of a rank's record.
enum class RecordSent : std::uint8_t {
    Whole,
    Places  ///< the layout is that of the message before
};

/// Where a message of a step has what it has in common with those to other ranks of the job.
enum class CommonSent : std::uint8_t {
    Here,
    Block,     ///< likewise, as it would lie elsewhere
    Elsewhere  ///< it is to be fetched: CommonAt
};
/// Which bytes of region_of_messages: ranks that are sent the same may fetch them once.
struct CommonAt {
    std::uint64_t hash = 0;
    std::uint64_t bytes = 0;
};

/// Which data connection belongs to which reader.
using Token = std::array<unsigned char, 32>;

/// The region that is the disk of the writer's host; others are the writer ranks' memory.
inline constexpr std::uint32_t region_on_disk = 0xffffffff;
/// The region with what steps that a reader has in its hands have in common (CommonAt).
inline constexpr std::uint32_t region_of_messages = 0xfffffffe;

/// How long the network may keep back what was sent before a peer counts as gone: that it gives no
/// heartbeat for `stall_timeout_s` is noticed before.
double patience_s(double stall_timeout_s);
/// What ended an attempt may be a short outage of the network, before the writer's host has said
/// anything: the same is worth another attempt.
struct MayPass {
    bool connected = false;  ///< the kernel there has answered, and the process has not
};
/// No reply came from any of the writer's addresses.
class OutOfReach : public Error, public MayPass {
  public:
    using Error::Error;
};
/// A connection ended before this process was let in.
class CutOff : public PeerLost, public MayPass {
  public:
    using PeerLost::PeerLost;
};

/// Connects to one of the contact's endpoints, which it stores in `found`, and proves the key:
/// those to which `interfaces` lead (move/rails.hpp), and where none of them answers, the addresses
/// that the host's name has here. Waits. Throws StaleContact when no process listens at any of
/// them, Error when they cannot be reached (OutOfReach, where they may be later), CutOff, Refused.
move::SecureConnection connect_to(const Contact& contact, double stall_timeout_s,
                                  move::Endpoint& found, const std::string& interfaces = "auto");
/// The same of one endpoint. A connection that ends before the key is proven may have had to make
/// room for others: it is tried again until the deadline. Throws PeerLost, TimedOut, Refused.
move::SecureConnection connect_to(const Contact& contact, double stall_timeout_s,
                                  const move::Endpoint& endpoint, const Deadline& deadline);
/// The pause before that. Waits.
void wait_for_room();
/// The message that comes first. Waits. Throws PeerLost, TimedOut.
Bytes first_reply(move::SecureConnection& connection, const Deadline& deadline);

struct AttachMessage {
    AttachRequest request;
    double stall_timeout_s = 0;
    std::string stream;
    std::string host;        ///< of the reader
    bool may_go_on = false;  ///< there is another way, should the connection fall silent
    std::string resume{};    ///< ReaderOptions::resume: where the reading job has come to is kept
                             ///< with the steps, by the writer's host
};

/// Where a reader is that goes on over another connection, the one before having fallen silent.
struct GoesOnMessage {
    Token token{};
    int asked = 0;                         ///< steps that it has asked for and not got
    std::uint64_t came = 0;                ///< steps that it has got, ever
    std::vector<std::uint64_t> holds;      ///< of these, what it has not given back
    std::optional<std::uint64_t> given{};  ///< the step that was asked for is this
    std::vector<PartAlong> wanted;
    double stall_timeout_s = 0;
    std::string host{};  ///< of the reader
};

struct AttachedMessage {
    AttachReply reply;
    Token token{};
    bool encrypt = false;
    double stall_timeout_s = 0;  ///< the writer's
    std::string host;
    std::vector<int> ranks;                  ///< of the writer, on that host: in the whole job
    std::vector<std::uint64_t> arena_bytes;  ///< likewise
    bool may_run_ahead = false;              ///< a step may be asked for before it is wanted
    bool shares_out = false;                 ///< steps are not for all jobs alike
    std::uint16_t standby_port = 0;  ///< where another rank serves, should this one die; 0: none
};

/// What a connection for data begins with.
struct DataMessage {
    Token token{};
    std::string provider;   ///< of libfabric; empty: data goes as bytes of the connection
    std::uint8_t rail = 0;  ///< which of the reader's connections for data it is
};

/// What may be known of the stream at any time.
struct Bearings {
    SeatStats stats{};
    std::uint8_t disk_was_full = 0;  ///< flags, which may come as any byte
    std::uint8_t others_lag = 0;     ///< Taken::others_lag
};

/// A flag of another process, whatever it has put there.
inline bool get_flag(ByteReader& in) {
    return in.get<std::uint8_t>() != 0;
}
/// What a reader has finished with.
struct DoneStep {
    std::uint64_t step;
    bool was_read;
};

Bytes encode(const AttachMessage& message);
AttachMessage decode_attach(ByteReader& in);
Bytes encode(const DoneStep& done);
DoneStep decode_done(ByteReader& in);
Bytes encode(const AttachedMessage& message);
AttachedMessage decode_attached(ByteReader& in);
Bytes encode(const GoesOnMessage& message);
GoesOnMessage decode_goes_on(ByteReader& in);
Bytes encode(const DataMessage& message);
/// Throws Error for a rail that there is not.
DataMessage decode_data(ByteReader& in);
/// What the owner answers, by which it says the interface; and that, from the reply.
Bytes encode_carries_data(const std::string& interface);
std::string interface_of_reply(const Bytes& reply);
Bytes encode_failed(const std::string& kind, const std::string& message);
Bytes encode(FromWriter what, const Bearings& bearings);
Bytes encode(const StreamStatus& status);
StreamStatus decode_status(ByteReader& in);

}  // namespace fluvial::stage
