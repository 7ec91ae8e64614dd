// SPDX-License-Identifier: Apache-2.0
/// How the ranks of a channel come together before collective work.
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/spin.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/progress/back_off.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

constexpr int quick_looks = 1000;

mpi::Failure different_things(Collective one, Collective other, int rank) {
    const Problem problem{"the ranks of a channel do different things together",
                          text(name_of(one), " on some, ", name_of(other), " on others"),
                          "the same on all", "Attach and close in the same order on all ranks"};
    return {"InvalidArgument", InvalidArgument(problem).what(), rank};
}

class UnderWay {
  public:
    UnderWay(std::optional<Collective>& current, bool& staying, Collective purpose)
        : current_(current), staying_(staying) {
        current_ = purpose;
    }
    ~UnderWay() {
        current_.reset();
        staying_ = false;
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

  private:
    std::optional<Collective>& current_;
    bool& staying_;
};

}  // namespace

const char* name_of(Collective purpose) {
    static constexpr const char* names[] = {"attach a stream", "begin a threshold collective",
                                            "close the channel"};
    return names[static_cast<int>(purpose)];
}

/// Until all are here any rank may leave: an operation throws, the user breaks off. But then some
/// may have seen that all were here, and would wait for ever in what is collective. So there is a
/// second step. A rank that has begun it knows that all have come, and stays to the end; a rank
/// that leaves in the first one says so, and no rank gets to the end of the second. In both,
/// operations are served by the ranks that wait.
///
/// Then no operation may begin any more, for it could wait for a rank that is through. But one
/// that had begun before may still be under way elsewhere, and wait for what others' operations do.
/// So all vote on the end, and begin none while votes are counted, unless an operation that waits
/// asks for it; its rank votes against the end later on, and then all vote once more. An operation
/// that has itself called for what is collective waits for its end, and asks for nothing.
ChannelState::Together ChannelState::begin_together(Collective purpose) {
    const progress::Served::Inside inside(served);
    check_usable();
    if (barrier_.purpose) {
        throw InvalidArgument(Problem{text("an operation of this rank tries to ", name_of(purpose)),
                                      text("the rank is about to ", name_of(*barrier_.purpose)),
                                      "one after the other",
                                      "Attach, begin and close outside of operations"});
    }
    const UnderWay under_way(barrier_.purpose, barrier_.staying, purpose);
    barrier_.operations = operations_under_way();
    come(purpose);
    barrier_.staying = true;
    std::exception_ptr thrown;
    mpi::Request everybody = comm.ibarrier();
    stay(everybody, thrown, false);
    conclude(purpose, thrown);
    return {*this, name_of(purpose)};
}

void ChannelState::come(Collective purpose) {
    barrier_.coming = comm.ibarrier();
    try {
        progress::BackOff back_off(ranks_per_core());
        wait(name_of(purpose), [&] { return barrier_.coming.test(); }, back_off);
    } catch (...) {
        barrier_.coming.abandon();
        leave(std::current_exception());
        throw;
    }
}

/// What a rank does that stays to the end of a step of a barrier, whatever happens.
class ChannelState::Stays final : public progress::Waiting {
  public:
    /// `thrown` is what was thrown meanwhile.
    Stays(ChannelState& channel, mpi::Request& step, std::exception_ptr& thrown, bool votes)
        : channel_(channel),
          step_(step),
          thrown_(thrown),
          votes_(votes),
          deadline_(channel.options.timeout_s) {}

    /// Throws when a rank does not come.
    Seen look() override {
        if (step_.test()) {
            return Seen::End;
        }
        bool moved = false;
        keeping([&] { moved = advance(); });
        if (channel_.barrier_.left) {
            step_.abandon();
            if (thrown_) {
                std::rethrow_exception(thrown_);
            }
            channel_.check_usable();
        }
        return moved ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double /*waited_s*/) override {
        keeping([&] { channel_.look_for_the_lost(); });
    }

  private:
    bool advance() {
        channel_.waits_ = true;
        bool moved = false;
        if (channel_.failure) {
            channel_.take_control_messages();
        } else {
            // The vote under way is the one before votes_.
            moved = votes_ && channel_.barrier_.wanted_vote < channel_.barrier_.votes - 1
                        ? channel_.attend()
                        : channel_.progress();
        }
        if (moved) {
            deadline_ = Deadline(channel_.options.timeout_s);
        }
        if (deadline_.passed()) {
            channel_.barrier_.staying = false;
            throw TimedOut(Problem{"a rank of the channel has stopped where all come together",
                                   text("nothing moved for ", channel_.options.timeout_s, " s"), "",
                                   "Look at the other ranks, or raise timeout_s"});
        }
        return moved;
    }
    template <class Work>
    void keeping(Work work) {
        try {
            work();
        } catch (...) {
            channel_.fail(std::current_exception());
            if (!channel_.barrier_.staying && !channel_.barrier_.left) {
                channel_.announce(true);
            }
            if (!thrown_) {
                thrown_ = std::current_exception();
            }
        }
    }

    ChannelState& channel_;
    mpi::Request& step_;
    std::exception_ptr& thrown_;
    const bool votes_;
    Deadline deadline_;
};

/// Goes on to process what others may still send from inside their operations; in a vote only where
/// it is asked to.
void ChannelState::stay(mpi::Request& step, std::exception_ptr& thrown, bool votes) {
    // All are here, so it mostly takes some microseconds. On a busy machine a yield takes long.
    for (int looks = ranks_per_core() <= 1 ? quick_looks : 0; looks > 0 && !step.test(); --looks) {
        spin();
    }
    Stays waiting(*this, step, thrown, votes);
    progress::BackOff back_off(ranks_per_core());
    progress::wait(waiting, back_off, &served);
}

/// As progress(), but begins no operation.
bool ChannelState::attend() {
    const bool waits = std::exchange(waits_, false);
    bool moved = take_control_messages();
    check_usable();
    if (waits && !moved) {
        quiescence->answer(movement());
    }
    moved = advance_thresholds() || moved;
    for (const auto& stream : streams) {
        moved = stream->attend() || moved;
    }
    moves_ += moved ? 1 : 0;
    moved_ = moved;
    return moved;
}

/// The last vote on whether all go on, and to the same end. All ranks are here.
void ChannelState::conclude(Collective purpose, std::exception_ptr& thrown) {
    const auto code = static_cast<Index>(purpose);
    for (bool over = false; !over;) {
        const Index calm = barrier_.asked_vote == barrier_.votes ? 0 : 1;
        mpi::Request vote = comm.imin_of_each({failure ? rank : comm.size(), code, -code, calm});
        ++barrier_.votes;
        stay(vote, thrown, true);
        const std::vector<std::byte> bytes = vote.take();
        ByteReader least(bytes);
        if (least.get<Index>() < comm.size()) {
            throw_together(thrown);
        }
        const auto one = static_cast<Collective>(least.get<Index>());
        const auto other = static_cast<Collective>(-least.get<Index>());
        over = least.get<Index>() == 1;
        if (one == other) {
            continue;
        }
        failure = different_things(one, other, 0);
        barrier_.left = true;
        check_usable();
    }
}

/// All ranks know that one has failed, and not all know how.
void ChannelState::throw_together(std::exception_ptr thrown) {
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    const auto told = [&] {
        take_control_messages();
        if (!failure) {
            look_for_the_lost();
        }
        return failure.has_value();
    };
    wait_until(told, Deadline(options.timeout_s), "a failure was not told of");
    check_usable();
}

void ChannelState::ask_others_to_work_on() {
    barrier_.asked_vote = barrier_.votes;
    ByteWriter out;
    out.put(barrier_.asked_vote);
    for (int other = 0; other < comm.size(); ++other) {
        if (other != rank) {
            control->post(other, topic_work_on, 0, out.view());
        }
    }
}

/// A rank that closes comes to the barrier when its streams have ended. A producer that attaches
/// instead of ending them would not come to the same one before.
void ChannelState::tell_of_closing() {
    if (!closing || barrier_.purpose || std::exchange(barrier_.told_closing, true)) {
        return;
    }
    ByteWriter out;
    out.put(barrier_.votes);
    for (const int producer : producers) {
        if (producer != rank) {
            control->post(producer, topic_closing, 0, out.view());
        }
    }
}

/// Ranks that have given equally many votes are on their way to the same barrier. While something
/// moves, an operation of the rank that closes may still attach what this rank attaches.
void ChannelState::check_nobody_closes() {
    if (!barrier_.purpose || *barrier_.purpose == Collective::Close ||
        barrier_.closing_vote != barrier_.votes || !quiescence->found(movement())) {
        return;
    }
    fail(different_things(*barrier_.purpose, Collective::Close, rank));
    check_usable();
}

progress::Movement ChannelState::movement() const {
    progress::Movement mine{moves_, 0, control->under_way()};
    for (const auto& stream : streams) {
        if (stream->producer) {
            mine.elements += static_cast<std::int64_t>(stream->producer->bytes());
        }
        if (!stream->consumer) {
            continue;
        }
        const std::uint64_t here = stream->consumer->bytes() + stream->consumer->depth();
        mine.elements -= static_cast<std::int64_t>(here);
    }
    return mine;
}

/// Where all ranks come together, no program goes on, only operations do. When these all wait, they
/// wait in vain.
void ChannelState::check_quiescence(std::string_view what) {
    if (!barrier_.purpose || operations_under_way() <= barrier_.operations ||
        !(barrier_.staying || barrier_.coming.test())) {
        return;
    }
    if (!quiescence->found(movement())) {
        return;
    }
    throw InvalidArgument(Problem{
        text("an operation waits in vain: Fluvial cannot ", what, " before its end"),
        text("all ranks are about to ", name_of(*barrier_.purpose), ", and nothing moves any more"),
        "",
        "Inside of operations use what does not wait (try_next, isend, iquery), or wait after "
        "them"});
}

/// What is in flight, or a failure that others told of, keeps this rank from coming to a barrier.
void ChannelState::leave(std::exception_ptr thrown) noexcept {
    fail(thrown);
    if (!barrier_.left) {
        announce(true);
    }
}

}  // namespace fluvial::stream
