// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_seat.hpp"

#include <functional>

#include <poll.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/shared_claims.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::stage {
namespace {

/// Of steps that the writer has back already, so many are given back at a time.
constexpr std::size_t done_at_a_time = 32;

}  // namespace

/// Waits for what the writer's host says.
class RemoteSeat::Listening final : public progress::Waiting {
  public:
    Listening(RemoteSeat& seat, const Deadline& deadline, std::function<bool()> done,
              HandleLock::Call* call)
        : seat_(seat), deadline_(deadline), done_(std::move(done)), call_(call) {}
    ~Listening() override {
        if (call_ != nullptr) {
            call_->regain();
        }
    }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

    Seen look() override {
        if (std::exchange(woken_, false)) {
            seat_.woken_.clear();
        }
        if (call_ != nullptr && !call_->inside()) {
            call_->enter();
        }
        {
            const std::lock_guard lock(seat_.mutex_);
            seat_.hear_all();
            arrives_ = seat_.arriving_.has_value();
            in_time = done_();
        }
        if (in_time || deadline_.passed()) {
            return Seen::End;
        }
        if (call_ != nullptr) {
            call_->leave();
        }
        return Seen::Nothing;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        constexpr int look_ms = 100;
        pollfd both[2] = {{seat_.woken_.descriptor(), POLLIN, 0}, {descriptor(), POLLIN, 0}};
        const auto ready = [&] { return ::poll(both, 2, 0) != 0; };
        // What is on its way already had better come in large pieces.
        if (serving || call_ == nullptr || arrives_ || !seat_.spin_first_(ready)) {
            ::poll(both, 2, serving ? 1 : look_ms);
        }
        woken_ = both[0].revents != 0;
        back_off.slept();
    }

    bool in_time = false;

  private:
    bool woken_ = false;
    bool arrives_ = false;
    int descriptor() const {
        const std::lock_guard lock(seat_.mutex_);
        return seat_.lost_.empty() && seat_.connection_ ? seat_.connection_->descriptor() : -1;
    }

    RemoteSeat& seat_;
    const Deadline& deadline_;
    std::function<bool()> done_;
    HandleLock::Call* call_;
};

bool RemoteSeat::listen_until(const Deadline& deadline, std::function<bool()> done,
                              HandleLock::Call* for_step) {
    Listening listening(*this, deadline, std::move(done), for_step);
    progress::BackOff back_off;
    progress::wait(listening, back_off);
    return listening.in_time;
}

void RemoteSeat::hear_all() {
    if (!connection_ || !lost_.empty()) {
        return;
    }
    std::string ended;  // what came before that is heard first
    try {
        connection_->flush();
    } catch (const Error& error) {
        ended = error.what();
    }
    try {
        hear_what_came();
        connection_->flush();
    } catch (const Error& error) {
        ended = ended.empty() ? error.what() : ended;
    }
    lost_ = ended;
}

void RemoteSeat::hear_what_came() {
    do {
        if (arriving_ && !receive_behind()) {
            return;
        }
        auto message = connection_->take();
        if (!message) {
            return;
        }
        heard_ns_ = now_ns();
        act_on(std::move(*message));
    } while (connection_->has_more() || arriving_);
}

void RemoteSeat::act_on(Bytes message) {
    ByteReader in(message);
    switch (in.get<FromWriter>()) {
        case FromWriter::Joined:
            joined_ = true;
            break;
        case FromWriter::Step:
            announce(std::move(message));
            break;
        case FromWriter::End:
            take_bearings(in);
            asked_ = 0;
            ended_ = true;
            post_done();
            break;
        case FromWriter::Gone:
            take_bearings(in);
            asked_ = 0;
            given_.reset();
            gone_ = true;
            break;
        case FromWriter::Failed: {
            asked_ = 0;
            given_.reset();
            std::string kind = in.get_string();
            failure_.emplace(std::move(kind), in.get_string());
            break;
        }
        case FromWriter::Status:
            status_ = decode_status(in);
            break;
        case FromWriter::Beat:
            take_bearings(in);
            break;
        default:
            throw Error(
                "the writer's host says what makes no sense; install the same version of "
                "Fluvial for both jobs");
    }
}

/// Newer than those of the steps that have come so far, opened or not.
void RemoteSeat::take_bearings(ByteReader& in) {
    bearings_ = in.get<Bearings>();
    bearings_after_ = came_;
}

void RemoteSeat::throw_failure() {
    const auto failure = *failure_;
    if (lost_.empty() || seeks_standby()) {
        failure_.reset();  // the next attempt may get another reply
    }
    throw_error(failure.first, failure.second);
}

void RemoteSeat::check_open() const {
    if (!connection_) {
        throw InvalidArgument(Problem{text("'", name_, "' cannot be read any more"),
                                      "the series was closed", "a series that is open",
                                      "Let all threads end their reads before one closes it"});
    }
}

void RemoteSeat::check_alive() const {
    check_open();
    const auto where = [&] {
        return text("process ", contact_.pid, " on ", contact_.host, " at ", text_of(endpoint_));
    };
    if (!lost_.empty() && !standby_may_serve_) {
        throw PeerLost(Problem{text("the connection to the writer of '", name_, "' has ended"),
                               text(where(), ": ", lost_), "",
                               "It has died, or the network is broken; what was read stays valid"});
    }
    const double silent_s = static_cast<double>(now_ns() - heard_ns_) * 1e-9;
    if (silent_s > options_.stall_timeout_s) {
        throw PeerStalled(
            Problem{text("the writer of '", name_, "' has given no heartbeat for ", silent_s, " s"),
                    where(), "",
                    text("It is stopped, its host is overloaded, or the network is broken "
                         "(stall_timeout=",
                         options_.stall_timeout_s, " s); try again once it runs")});
    }
}

void RemoteSeat::wait_for_others() {
    const Deadline deadline(options_.rendezvous_timeout_s);
    const auto joined = [&] {
        if (failure_) {
            throw_failure();
        }
        check_alive();
        return joined_;
    };
    if (!listen_until(deadline, joined)) {
        throw TimedOut(Problem{"the reader's ranks did not all attach in time", "", "",
                               "Raise rendezvous_timeout"});
    }
}

void RemoteSeat::look_for_failure() {
    const std::lock_guard lock(mutex_);
    hear_all();
    if (!steps_.empty() || ended_ || gone_) {
        return;
    }
    if (failure_) {
        throw_failure();
    }
    check_alive();
}

std::optional<OpenedStep> RemoteSeat::next(HandleLock::Call& call, const Deadline& deadline,
                                           std::optional<std::uint64_t> given) {
    next_follows_ = false;
    const auto there = [&] { return !steps_.empty() || ended_ || gone_; };
    const auto replied = [&] {
        if (there()) {
            return true;
        }
        if (failure_) {
            throw_failure();
        }
        check_alive();
        if (asked_ == 0 && !seeks_standby()) {
            ask(given);
        }
        return there();
    };
    if (!has_step() && !listen_until(deadline, replied, &call)) {
        throw no_step_in_time(name_, options_.step_timeout_s, others_lag());
    }
    StepMessage message;
    {
        const std::lock_guard lock(mutex_);
        if (steps_.empty()) {
            gone_ = false;
            return std::nullopt;
        }
        message = std::move(steps_.front());
        steps_.pop_front();
        // Several at a time: what costs is to wake the other side.
        const bool few = asked_ + static_cast<int>(steps_.size()) <= steps_ahead_ / 2;
        if (stream_.may_run_ahead && few && connection_ && lost_.empty() && !ended_ && !failure_) {
            ask(std::nullopt);
        }
    }
    try {
        complete(message);
    } catch (...) {  // the next call tries it again
        const std::lock_guard lock(mutex_);
        steps_.push_front(std::move(message));
        throw;
    }
    return open_step(std::move(message));
}

bool RemoteSeat::has_step() const {
    const std::lock_guard lock(mutex_);
    return !steps_.empty();
}

/// For the next step, and perhaps for some that follow, which come while this one is read.
void RemoteSeat::ask(std::optional<std::uint64_t> given) {
    const int wanted = stream_.may_run_ahead ? steps_ahead_ : 1;
    post_done();
    given_ = given;
    ByteWriter out;
    out.put(given ? FromReader::Given : FromReader::Next);
    if (given) {
        out.put(*given);
    }
    for (; asked_ + static_cast<int>(steps_.size()) < wanted; ++asked_) {
        connection_->post(out.view());
    }
    hear_all();
}

SeriesDescription RemoteSeat::series() {
    const std::lock_guard lock(mutex_);
    return messages_.series();
}

SeatStats RemoteSeat::stats(std::uint64_t) const {
    const std::lock_guard lock(mutex_);
    SeatStats stats = bearings_.stats;
    stats.steps_taken = steps_taken_;
    return stats;
}

bool RemoteSeat::others_lag() const {
    const std::lock_guard lock(mutex_);
    return bearings_.others_lag != 0;
}

bool RemoteSeat::disk_was_full() const {
    const std::lock_guard lock(mutex_);
    return bearings_.disk_was_full != 0;
}

StreamStatus RemoteSeat::status() {
    {
        const std::lock_guard lock(mutex_);
        check_alive();
        if (seeks_standby()) {
            throw PeerLost(Problem{text("the state of '", name_, "' is not known at present"),
                                   lost_, "", "Ask again once another rank of the writer answers"});
        }
        status_.reset();
        ByteWriter out;
        out.put(FromReader::Status);
        connection_->post(out.view());
    }
    const Deadline deadline(options_.step_timeout_s);
    listen_until(deadline, [&] {
        if (!status_) {
            check_alive();
        }
        return status_.has_value();
    });
    const std::lock_guard lock(mutex_);
    if (!status_) {
        throw TimedOut("the writer's host does not say in time how the stream is");
    }
    return *status_;
}

/// Says what the writer's host counts as in this reader's hands until then.
void RemoteSeat::post_done() {
    for (const DoneStep& done : done_) {
        connection_->post(encode(done));
    }
    done_.clear();
}

void RemoteSeat::give_back(const DoneStep& done, const std::optional<std::vector<PartAlong>>& read,
                           bool complete) {
    if (claims_) {
        claims_->pass(done.step);
    }
    const std::lock_guard lock(mutex_);
    if (done.was_read || !resumes()) {  // else it is not to count as read, whatever way that takes
        holds_.erase(done.step);
    }
    if (!connection_ || !lost_.empty()) {
        return;
    }
    ByteWriter out;
    if (read && pushes_ && *read != wanted_) {
        wanted_ = *read;
        out.put(FromReader::Wants);
        put(out, wanted_);
        connection_->post(out.view());
    }
    done_.push_back(done);
    incomplete_ -= complete ? 0 : 1;
    const bool known = complete && given_back_early_ && incomplete_ == 0;
    if (known && !ended_ && done_.size() < done_at_a_time) {
        return;
    }
    post_done();
    if (!next_follows_ || resumes()) {
        hear_all();
    }
}

}  // namespace fluvial::stage
