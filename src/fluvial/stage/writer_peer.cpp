// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/writer_peer.hpp"

#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/remote_messages.hpp"

namespace fluvial::stage {
namespace {

enum class Word : std::uint8_t { Beat, Failed, Closed, Settled };

/// So that a broken network is noticed by what is not acknowledged.
constexpr std::int64_t beat_every_ns = 1'000'000'000;

}  // namespace

WriterPeer::WriterPeer(move::SecureConnection connection, std::string host,
                       const ControlBlock& control)
    : connection_(std::move(connection)), host_(std::move(host)), control_(control) {
    connection_.read_ahead();
    connection_.socket().give_up_after(patience_s(control_.header().stall_timeout_s));
}

void WriterPeer::advance() {
    if (over_) {
        return;
    }
    std::string lost;
    try {
        tell();
        connection_.flush();
        while (unheard_ || (unheard_ = connection_.take())) {
            hear(*unheard_);
            unheard_.reset();
        }
    } catch (const PeerStalled&) {  // another process is stopped inside its critical section:
        return;                     // again later
    } catch (const Error& error) {
        lost = error.what();
    }
    if (lost.empty()) {
        return;
    }
    if (!heard_end_) {
        const ControlLock lock(control_);
        fail(control_, "PeerLost",
             text("the ranks of the writer of '", control_.header().name, "' on host ", host_,
                  " are gone: ", lost));
    }
    over_ = true;
}

void WriterPeer::tell() {
    tell_settled();
    ByteWriter out;
    {
        const ControlLock lock(control_);
        const ControlHeader& header = control_.header();
        if (told_end_) {
            return;
        }
        if (header.failure.set != 0) {
            out.put(Word::Failed);
            out.put_string(header.failure.kind);
            out.put_string(header.failure.message);
            told_end_ = true;
        } else if (header.writers_closed == header.writer_ranks) {
            out.put(Word::Closed);
            out.put(steps_of_all_writers(control_));
            told_end_ = true;
        } else if (now_ns() - beat_ns_ > beat_every_ns && !connection_.sending()) {
            beat_ns_ = now_ns();
            out.put(Word::Beat);
        } else {
            return;
        }
    }
    connection_.post(out.view());
}

/// Where steps are shared out here, for the other host too.
void WriterPeer::tell_settled() {
    ByteWriter out;
    {
        const ControlLock lock(control_);
        const ControlHeader& header = control_.header();
        const bool others_follow = header.steps_to != StepsTo::All && header.follows == 0;
        if (!others_follow) {
            return;
        }
        OpenSteps now = open_steps(control_);
        if (!some_ended(told_open_, now)) {
            return;
        }
        told_open_ = std::move(now);
        out.put(Word::Settled);
        out.put(told_open_.begun);
        out.put_vector(told_open_.open);
    }
    connection_.post(out.view());
}

void WriterPeer::hear(const Bytes& message) {
    ByteReader in(message);
    switch (in.get<Word>()) {
        case Word::Beat:
            return;
        case Word::Failed: {
            const std::string kind = in.get_string();
            const std::string what = in.get_string();
            const ControlLock lock(control_);
            fail(control_, kind, what);
            heard_end_ = true;
            return;
        }
        case Word::Closed: {
            const auto steps = in.get<std::uint64_t>();
            const ControlLock lock(control_);
            close_elsewhere(control_, steps);
            heard_end_ = true;
            return;
        }
        case Word::Settled: {
            OpenSteps open{.begun = in.get<std::uint64_t>(),
                           .open = in.get_vector<std::uint64_t>()};
            if (open.open.size() > slots_max ||
                !std::is_sorted(open.open.begin(), open.open.end())) {
                break;
            }
            const ControlLock lock(control_);
            settle(control_, open);
            return;
        }
    }
    throw Error("it says what no host of a writer says");
}

}  // namespace fluvial::stage
