// SPDX-License-Identifier: Apache-2.0
/// A reader rank on another host, as the writer's host sees it: it has a place in the control block
/// like any other, and this object does there what that rank would do. No call waits.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/host/alive_lock.hpp"
#include "fluvial/move/remote_read.hpp"
#include "fluvial/move/secure_connection.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handed_out_steps.hpp"
#include "fluvial/stage/position.hpp"
#include "fluvial/stage/remote_messages.hpp"
#include "fluvial/stage/step_messages.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/taken_over_steps.hpp"

namespace fluvial::stage {

class RemoteSession final : public move::Exposed {
  public:
    /// Over a connection whose first message was `message`, in the `place` that it was given
    /// and that is locked as `alive`. `position`: that of a job that resumes. Throws no Error.
    RemoteSession(move::SecureConnection connection, const AttachMessage& message,
                  const AttachReply& place, host::AliveLock alive, const StreamMemory& memory,
                  std::optional<Position> position);
    /// Of a reader that was served by a rank that died, in its `cell` that is locked as `alive`;
    /// its steps are those. Throws no Error.
    RemoteSession(move::SecureConnection connection, const GoesOnMessage& message, int cell,
                  host::AliveLock alive, const StreamMemory& memory, const TakenOverSteps& steps);
    /// Gives the place back, as of a reader that died unless it has left.
    ~RemoteSession() override;
    RemoteSession(const RemoteSession&) = delete;
    RemoteSession& operator=(const RemoteSession&) = delete;

    const Token& token() const { return token_; }
    /// A connection that data goes by, in the place of the one with that number.
    void carry_data(std::uint8_t rail, std::unique_ptr<move::RemoteServer> server) {
        data_[rail] = std::move(server);
    }

    /// The reader goes on over another connection: it gets again what it has not got.
    void go_on(move::SecureConnection connection, const GoesOnMessage& message);

    /// Takes messages that have come, hands out new steps, and sends what can be sent. `heard`, and
    /// `asked_for_data`: there may be something to take from the one connection, and the other.
    void advance(bool heard, bool asked_for_data);
    /// Hands out new steps that the reader has asked for, and sends what can be sent. False where
    /// there is more to do.
    bool hand_out();
    /// The reader has gone, or has left.
    bool over() const { return over_; }
    /// Nothing keeps the writer from ending: the reader was told the end and has given all steps
    /// back, or has lost its place, or it only looks on. Takes the control lock.
    bool has_all();
    /// Tells the reader why nothing follows, as far as that can be sent at once.
    void hang_up(const std::string& why);
    /// After that, until it is true: the reader's host has all that was sent, or has gone.
    bool seen_off() { return over_ || connection_.see_off(); }

    int descriptor() const { return connection_.descriptor(); }
    bool sending() const { return connection_.sending(); }
    using DataServers = std::map<std::uint8_t, std::unique_ptr<move::RemoteServer>>;
    const DataServers& data_servers() const { return data_; }
    std::string who() const;
    /// When the reader was given its last step.
    std::int64_t last_step_ns() const { return last_step_ns_; }

    Memory memory_of(const MemoryOnHost& place) override;

  private:
    void take_messages();
    void serve_data(bool asked);
    void hear(const Bytes& message);
    void lose(const char* why);
    void tell_when_joined();
    void offer();
    bool offer_one();
    void send_step(const Taken& taken, std::uint64_t step, const Bearings& bearings);
    void post(const StepMessages::Message& message);
    void finish(const DoneStep& done);
    void refuse(const Error& error);
    bool observes() const { return control().group(place_.group).observes != 0; }
    /// A step that the reader gets whole may leave the queue when it is sent.
    bool gives_back_early() const { return runs_ahead_ && !position_; }
    bool note_sent() { return handed_out_.note_sent(connection_.raw_sent()); }
    Bearings bearings_of(std::uint64_t next_index) const;
    const ControlBlock& control() const { return *memory_.control; }

    move::SecureConnection connection_;
    DataServers data_;
    const StreamMemory& memory_;
    double stall_timeout_s_;  ///< the reader's
    std::string host_;
    Token token_{};
    AttachReply place_;
    bool runs_ahead_;  ///< the reader may ask for steps before it wants them
    bool goes_on_;     ///< it may do so over another connection, and gets steps again
    std::optional<Position> position_;
    host::AliveLock alive_;
    StepMessages messages_;
    HandedOutSteps handed_out_;
    std::uint64_t next_index_ = 0;
    bool others_lag_ = false;  ///< when a step was asked for last
    std::uint64_t sent_ = 0;   ///< steps, ever
    std::int64_t last_step_ns_ = 0;
    std::int64_t last_asked_for_ns_ = 0;  ///< when has_all() was first called
    bool joined_ = false;                 ///< and the reader was told
    int asked_ = 0;                       ///< steps that the reader asks for ...
    std::optional<std::uint64_t> given_;  ///< ... of which there is one, if it is this
    bool ended_ = false;                  ///< and the reader was told
    bool left_ = false;
    std::optional<Bytes> unheard_;  ///< a message that could not be acted upon yet
    bool over_ = false;
    std::string lost_;  ///< how the connection ended
};

}  // namespace fluvial::stage
