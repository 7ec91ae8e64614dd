// SPDX-License-Identifier: Apache-2.0
/// Another host of the same writer: each tells the other when its ranks have failed or closed. The
/// first host of the writer has one for each of the others, which have one for it.
///
// clang-format off
/// | event                          | finds                     | what happens                      |
/// |--------------------------------|---------------------------|-----------------------------------|
/// | the stream has failed here     | not told yet              | Failed is sent                    |
/// | all ranks here have closed     | not told yet              | Closed is sent, with their steps  |
/// | Failed comes                   | any                       | the stream fails here             |
/// | steps are over here, which are | this is the first host    | Settled is sent: which are not    |
/// | shared out                     |                           |                                   |
/// | Settled comes                  | steps that no reader has  | they leave the queue here         |
/// |                                | begun                     |                                   |
/// | Closed comes                   | more steps begun here     | the stream fails here             |
/// | the connection ends            | Closed or Failed has come | nothing                           |
/// |                                | neither                   | the stream fails here             |
// clang-format on
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fluvial/move/secure_connection.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/given_steps.hpp"

namespace fluvial::stage {

class WriterPeer {
  public:
    /// `host` for messages.
    WriterPeer(move::SecureConnection connection, std::string host, const ControlBlock& control);

    /// Sends and takes what there is. Takes the control lock; does not wait otherwise.
    void advance();
    /// The connection has ended.
    bool over() const { return over_; }
    /// The other host knows how the ranks here have ended.
    bool has_all() const { return over_ || (told_end_ && !connection_.sending()); }
    int descriptor() const { return connection_.descriptor(); }
    bool sending() const { return connection_.sending(); }

  private:
    void tell();
    void tell_settled();
    void hear(const Bytes& message);

    move::SecureConnection connection_;
    std::string host_;
    const ControlBlock& control_;
    std::optional<Bytes> unheard_;  ///< a message that could not be acted upon yet
    std::int64_t beat_ns_ = 0;
    OpenSteps told_open_;
    bool told_end_ = false;
    bool heard_end_ = false;
    bool over_ = false;
};

}  // namespace fluvial::stage
