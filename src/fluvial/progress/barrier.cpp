// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/barrier.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/spin.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/back_off.hpp"

namespace fluvial::progress {

namespace {

constexpr int quick_looks = 1000;

/// The subject of messages of topic_failed: whether their sender still comes to the end of the
/// barrier that it is in.
constexpr int leaves = 0;
constexpr int stays = 1;

}  // namespace

class Barrier::UnderWay {
  public:
    UnderWay(Barrier& barrier, int purpose) : barrier_(barrier) { barrier_.purpose_ = purpose; }
    ~UnderWay() {
        barrier_.purpose_.reset();
        barrier_.staying_ = false;
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

  private:
    Barrier& barrier_;
};

Barrier::Barrier(BarrierOwner& owner, const mpi::Comm& comm, ControlMessages& control,
                 Quiescence& quiescence, const BarrierOptions& options)
    : owner_(owner),
      comm_(comm),
      rank_(comm.rank()),
      ranks_(comm.size()),
      control_(control),
      quiescence_(quiescence),
      options_(options) {
    control.on(topic_failed, [this](const ControlMessage& message) {
        left_ = left_ || message.subject == leaves;
        if (!owner_.known_failure()) {
            owner_.know(mpi::Failure::from_bytes(message.bytes));
        }
        return true;
    });
    control.on(topic_work_on, [this](const ControlMessage& message) {
        wanted_vote_ = std::max(wanted_vote_, ByteReader(message.bytes).get<Index>());
        return false;
    });
}

void Barrier::pass(int purpose) {
    const UnderWay under_way(*this, purpose);
    operations_ = owner_.operations_under_way();
    come(name_of(purpose));
    staying_ = true;
    std::exception_ptr thrown;
    mpi::Request everybody = comm_.ibarrier();
    stay(everybody, thrown, false);
    conclude(purpose, thrown);
}

void Barrier::come(const char* name) {
    coming_ = comm_.ibarrier();
    try {
        owner_.wait_for_all(name, [&] { return coming_.test(); });
    } catch (...) {
        coming_.abandon();
        owner_.fail(std::current_exception());
        leave();
        throw;
    }
}

/// What a rank does that stays to the end of a step, whatever happens.
class Barrier::Stays final : public Waiting {
  public:
    /// `thrown` is what was thrown meanwhile.
    Stays(Barrier& barrier, mpi::Request& step, std::exception_ptr& thrown, bool votes)
        : barrier_(barrier),
          owner_(barrier.owner_),
          step_(step),
          thrown_(thrown),
          votes_(votes),
          deadline_(barrier.options_.timeout_s) {}

    /// Throws when a rank does not come.
    Seen look() override {
        if (step_.test()) {
            return Seen::End;
        }
        bool moved = false;
        keeping([&] { moved = advance(); });
        if (barrier_.left_) {
            step_.abandon();
            if (thrown_) {
                std::rethrow_exception(thrown_);
            }
            owner_.check_usable();
        }
        return moved ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double /*waited_s*/) override {
        keeping([&] { owner_.look_for_the_lost(); });
    }

  private:
    bool advance() {
        bool moved = false;
        if (owner_.known_failure()) {
            owner_.take_control_messages();
        } else {
            // The vote under way is the one before votes_.
            moved = owner_.turn(!votes_ || barrier_.wanted_vote_ >= barrier_.votes_ - 1);
        }
        if (moved) {
            deadline_ = Deadline(barrier_.options_.timeout_s);
        }
        if (deadline_.passed()) {
            barrier_.staying_ = false;
            throw TimedOut(Problem{text("a rank of the ", barrier_.options_.of,
                                        " has stopped where all come together"),
                                   text("nothing moved for ", barrier_.options_.timeout_s, " s"),
                                   "", "Look at the other ranks, or raise timeout_s"});
        }
        return moved;
    }
    template <class Work>
    void keeping(Work work) {
        try {
            work();
        } catch (...) {
            owner_.fail(std::current_exception());
            if (!barrier_.staying_) {
                barrier_.leave();
            }
            if (!thrown_) {
                thrown_ = std::current_exception();
            }
        }
    }

    Barrier& barrier_;
    BarrierOwner& owner_;
    mpi::Request& step_;
    std::exception_ptr& thrown_;
    const bool votes_;
    Deadline deadline_;
};

/// Goes on to process what others may still send from inside their operations; in a vote only where
/// it is asked to.
void Barrier::stay(mpi::Request& step, std::exception_ptr& thrown, bool votes) {
    // All are here, so it mostly takes some microseconds. On a busy machine a yield takes long.
    for (int looks = options_.ranks_per_core <= 1 ? quick_looks : 0; looks > 0 && !step.test();
         --looks) {
        spin();
    }
    Stays waiting(*this, step, thrown, votes);
    BackOff back_off(options_.ranks_per_core);
    wait(waiting, back_off, options_.own);
}

/// The last vote on whether all go on, and to the same end. All ranks are here.
void Barrier::conclude(int purpose, std::exception_ptr& thrown) {
    const Index code = purpose;
    for (bool over = false; !over;) {
        const Index failed = owner_.known_failure() ? rank_ : ranks_;
        const Index calm = asked_vote_ == votes_ ? 0 : 1;
        mpi::Request vote = comm_.imin_of_each({failed, code, -code, calm});
        ++votes_;
        stay(vote, thrown, true);
        const std::vector<std::byte> bytes = vote.take();
        ByteReader least(bytes);
        if (least.get<Index>() < ranks_) {
            throw_together(thrown);
        }
        const auto one = static_cast<int>(least.get<Index>());
        const auto other = static_cast<int>(-least.get<Index>());
        over = least.get<Index>() == 1;
        if (one == other) {
            continue;
        }
        owner_.know(different_purposes(one, other, 0));
        left_ = true;
        owner_.check_usable();
    }
}

mpi::Failure Barrier::different_purposes(int one, int other, int rank) const {
    const Problem problem{text("the ranks of a ", options_.of, " do different things together"),
                          text(name_of(one), " on some, ", name_of(other), " on others"),
                          "the same on all", options_.same_order};
    return {"InvalidArgument", InvalidArgument(problem).what(), rank};
}

/// All ranks know that one has failed, and not all know how.
void Barrier::throw_together(std::exception_ptr thrown) {
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    const auto told = [&] {
        owner_.take_control_messages();
        if (!owner_.known_failure()) {
            owner_.look_for_the_lost();
        }
        return owner_.known_failure().has_value();
    };
    wait_until(told, Deadline(options_.timeout_s), "a failure was not told of");
    owner_.check_usable();
}

/// An operation that has itself called for what is collective waits for its end, and asks for
/// nothing.
bool Barrier::operation_waits() const {
    return purpose_ && owner_.operations_under_way() > operations_;
}

void Barrier::ask_others_to_work_on() {
    if (!staying_ || asked_vote_ >= votes_ || !operation_waits()) {
        return;
    }
    asked_vote_ = votes_;
    ByteWriter out;
    out.put(asked_vote_);
    for (int other = 0; other < ranks_; ++other) {
        if (other != rank_) {
            control_.post(other, topic_work_on, 0, out.view());
        }
    }
}

bool Barrier::in_vain(const Movement& mine) {
    return operation_waits() && (staying_ || coming_.test()) && quiescence_.found(mine);
}

void Barrier::leave() noexcept {
    if (!left_ && owner_.known_failure()) {
        announce(true);
    }
}

void Barrier::announce(bool is_leaving) noexcept {
    left_ = left_ || is_leaving;
    if (!mpi::running()) {
        return;
    }
    try {
        const mpi::Failure& failure = *owner_.known_failure();
        const std::vector<std::byte> bytes = failure.to_bytes();
        const bool dead = failure.kind == "PeerLost";
        for (int other = 0; other < ranks_; ++other) {
            if (other != rank_ && !(dead && other == failure.rank)) {
                control_.post(other, topic_failed, is_leaving ? leaves : stays, bytes);
            }
        }
    } catch (const std::exception&) {
        return;  // MPI is of no use any more; the failure itself is what the caller gets to see
    }
}

}  // namespace fluvial::progress
