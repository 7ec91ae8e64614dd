// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/barrier.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <mpi.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

constexpr double long_s = 20;
constexpr int write_together = 0;
constexpr int end_together = 1;
constexpr std::array<const char*, 2> purposes = {"write together", "end together"};

/// From the last rank to the first: its operation waits for an answer.
constexpr Topic topic_asked("barrier test: asked");
constexpr Topic topic_answered("barrier test: answered");

bool is_first() {
    return world_rank() == 0;
}
bool is_last() {
    return world_rank() == world_size() - 1;
}

/// This rank of a group that comes together.
class Member final : public BarrierOwner {
  public:
    explicit Member(double timeout_s = long_s)
        : barrier(*this, comm_, control_, quiescence_,
                  {.of = "test",
                   .purposes = purposes,
                   .same_order = "Do the same on all ranks",
                   .timeout_s = timeout_s}) {
        control_.on(topic_asked, [this](const ControlMessage&) { return asked = true; });
        control_.on(topic_answered, [this](const ControlMessage&) {
            ++answers;
            return answered = true;
        });
    }
    ~Member() {
        if (barrier.left()) {
            control_.abandon();
            comm_.abandon();
        } else {
            control_.drain();
            comm_.close();
        }
        world().barrier();
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void post(int to, Topic topic) { control_.post(to, topic, 0); }

    Movement movement() const { return {moves_, 0, control_.under_way()}; }

    /// An operation of this rank that waits.
    void operate(const std::function<bool()>& done) {
        ++operations_;
        try {
            wait_until(
                [&] {
                    if (!listen()) {
                        barrier.ask_others_to_work_on();
                    }
                    return done();
                },
                Deadline(long_s), "the operation did not end");
        } catch (...) {
            --operations_;
            throw;
        }
        --operations_;
    }

    void wait_for_all(const char* purpose, const std::function<bool()>& done) override {
        wait_until([&] { return listen(), done() && goes_on(); }, Deadline(long_s), purpose);
    }
    bool turn(bool may_begin) override {
        const bool moved = listen();
        return work(may_begin) || moved;
    }
    bool take_control_messages() override {
        bool moved = false;
        while (const auto message = control_.poll()) {
            moved = control_.handle(*message) || moved;
        }
        moves_ += moved ? 1 : 0;
        return moved;
    }
    void look_for_the_lost() override {
        if (!lost) {
            return;
        }
        barrier.stop_staying();
        know(*lost);
        barrier.leave();
        check_usable();
    }
    int operations_under_way() const override { return operations_; }
    const std::optional<mpi::Failure>& known_failure() const override { return failure_; }
    void know(const mpi::Failure& failed) noexcept override { failure_ = failed; }
    void fail(std::exception_ptr thrown) noexcept override {
        if (failure_) {
            return;
        }
        know(*mpi::failure_of(world_rank(), [&] { std::rethrow_exception(thrown); }));
        barrier.tell();
    }
    void check_usable() const override {
        if (failure_) {
            failure_->raise(world_size());
        }
    }

  private:
    /// As far as a rank gets that only waits.
    bool listen() {
        const bool moved = take_control_messages();
        check_usable();
        if (!moved) {
            quiescence_.answer(movement());
        }
        return moved;
    }

    mpi::Comm comm_ = mpi::Comm::duplicate(MPI_COMM_WORLD);
    ControlMessages control_{comm_};
    Quiescence quiescence_{control_, comm_.rank(), comm_.size()};
    std::optional<mpi::Failure> failure_;
    int operations_ = 0;
    std::uint64_t moves_ = 0;

  public:
    bool asked = false;
    bool answered = false;
    int answers = 0;
    /// In step 1: this rank does not hold up the others any more. May throw.
    std::function<bool()> goes_on = [] { return true; };
    std::function<bool(bool may_begin)> work = [](bool) { return false; };
    std::optional<mpi::Failure> lost;
    Barrier barrier;
};

/// The last rank begins an operation when all have come. The first rank comes to step 2 once it has
/// begun, so that it begins before any rank votes.
void operate_on_last_rank(Member& member, const std::function<bool()>& done) {
    if (is_first()) {
        member.goes_on = [&] { return member.asked; };
    }
    if (is_last()) {
        member.work = [&, done, begun = false](bool) mutable {
            if (begun) {
                return false;
            }
            begun = true;
            member.post(0, topic_asked);
            member.operate(done);
            return true;
        };
    }
}

}  // namespace

TEST_CASE("no rank is through before the last one has come") {
    Member member;
    for (int round = 0; round < 3; ++round) {
        if (world_rank() == round % world_size()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        const std::int64_t came_ns = now_ns();
        member.barrier.pass(round % 2 == 0 ? write_together : end_together);
        const std::int64_t through_ns = now_ns();
        CHECK(through_ns >= -world().min(-came_ns));
        CHECK_FALSE(member.barrier.purpose());
        CHECK_FALSE(member.barrier.staying());
        CHECK(member.barrier.votes() == round + 1);
    }
}

TEST_CASE("ranks with different purposes are told so") {
    if (world_size() < 2) {
        return;
    }
    Member member;
    CHECK_THROWS_WITH_AS(member.barrier.pass(is_first() ? end_together : write_together),
                         doctest::Contains("write together on some, end together on others"),
                         InvalidArgument);
    CHECK(member.barrier.left());
}

TEST_CASE("what ends the wait of one rank before all have come ends that of all") {
    Member member;
    if (is_first()) {
        member.goes_on = []() -> bool { throw std::runtime_error("interrupted by the user"); };
        CHECK_THROWS_WITH_AS(member.barrier.pass(write_together),
                             doctest::Contains("interrupted by the user"), std::runtime_error);
    } else {
        CHECK_THROWS_WITH_AS(member.barrier.pass(write_together),
                             doctest::Contains("interrupted by the user"), Error);
    }
    CHECK(member.barrier.left());
}

TEST_CASE("a rank that fails when all have come stays to the end, as all do") {
    if (world_size() < 2) {
        return;
    }
    Member member;
    // A rank that heard of the failure in step 1 would leave.
    operate_on_last_rank(member, [&] {
        if (member.answers == world_size() - 1) {
            throw OutOfRange("not this one");
        }
        return false;
    });
    if (!is_last()) {
        member.work = [&, said = false](bool) mutable {
            if (!std::exchange(said, true)) {
                member.post(world_size() - 1, topic_answered);
            }
            return false;
        };
    }
    CHECK_THROWS_WITH_AS(member.barrier.pass(write_together), doctest::Contains("not this one"),
                         OutOfRange);
    CHECK_FALSE(member.barrier.left());
}

TEST_CASE("an operation that waits gets what it waits for, and then all vote once more") {
    if (world_size() < 2) {
        return;
    }
    Member member;
    operate_on_last_rank(member, [&] { return member.answered; });
    if (is_first()) {
        member.work = [&](bool may_begin) {
            // In a vote it answers where it is asked to work on.
            if (member.barrier.votes() != 1 || !may_begin || member.answered) {
                return false;
            }
            member.post(world_size() - 1, topic_answered);
            return member.answered = true;
        };
    }
    member.barrier.pass(write_together);
    CHECK(member.answered == (is_first() || is_last()));
    CHECK(member.barrier.votes() == 2);
}

TEST_CASE("an operation that waits in vain is told so") {
    if (world_size() < 2) {
        return;
    }
    Member member;
    operate_on_last_rank(member, [&]() -> bool {
        if (member.barrier.in_vain(member.movement())) {
            throw InvalidArgument(Problem{"the operation waits in vain", "", "", ""});
        }
        return false;
    });
    CHECK_THROWS_WITH_AS(member.barrier.pass(write_together), doctest::Contains("waits in vain"),
                         InvalidArgument);
    CHECK_FALSE(member.barrier.left());
}

TEST_CASE("a rank that has come and does not stay is waited for as long as is allowed") {
    if (world_size() < 2) {
        return;
    }
    Member member(0.3);
    if (is_first()) {
        member.goes_on = [] { return false; };
    }
    CHECK_THROWS_WITH_AS(member.barrier.pass(write_together),
                         doctest::Contains("a rank of the test has stopped"), TimedOut);
    CHECK(member.barrier.left());
}

TEST_CASE("a rank that is lost when all have come ends the wait of all") {
    if (world_size() < 2) {
        return;
    }
    Member member;
    if (is_first()) {
        member.goes_on = [] { return false; };
    }
    if (is_last()) {
        member.lost = mpi::Failure{"PeerStalled", "no heartbeat", 0};
    }
    CHECK_THROWS_WITH_AS(member.barrier.pass(write_together), doctest::Contains("no heartbeat"),
                         PeerStalled);
    CHECK(member.barrier.left());
}
