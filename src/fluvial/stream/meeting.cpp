// SPDX-License-Identifier: Apache-2.0
/// How the ranks of a channel come together before collective work.
#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/idling.hpp"

namespace fluvial::stream {

namespace {

const char* name_of(Index meeting) {
    static constexpr const char* names[] = {"attach a stream", "begin a threshold collective",
                                            "close the channel"};
    return names[meeting];
}

}  // namespace

/// Until all are here anybody may leave: an operation throws, the user breaks off. But then some
/// may have seen that all were here, and would wait for ever in what is collective. So there are
/// two steps. Who has begun the second one knows that all have come, and stays to its end whatever
/// happens; who leaves in the first one says so, and nobody gets to the end of the second. In the
/// first, operations that send are served by those who wait; in the second they need not be, for
/// what they send is kept (ChannelState::may_wait).
void ChannelState::meet(Meeting purpose) {
    check_usable();
    mpi::Request everybody = comm.ibarrier();
    try {
        wait(
            name_of(static_cast<Index>(purpose)), [&] { return everybody.test(); },
            Idling(crowd()));
    } catch (...) {
        everybody.abandon();
        leave(std::current_exception());
        throw;
    }
    std::exception_ptr thrown;
    staying_ = true;
    try {
        thrown = stay();
    } catch (...) {
        staying_ = false;
        throw;
    }
    staying_ = false;
    check_together(purpose, thrown);
}

/// Goes on to process what others may still send from inside their operations. Returns what was
/// thrown meanwhile; throws when somebody does not come.
std::exception_ptr ChannelState::stay() {
    std::exception_ptr thrown;
    Idling idling(crowd());
    Deadline deadline(options.timeout_s);
    mpi::Request everybody = comm.ibarrier();
    while (!everybody.test()) {
        bool moved = false;
        try {
            if (failure) {
                take_mail();
            } else {
                moved = progress();
            }
            if (moved) deadline = Deadline(options.timeout_s);
            if (idling.time_to_look_around()) look_for_the_dead();
            if (deadline.passed()) {
                staying_ = false;
                throw TimedOut(Problem{"a rank of the channel has stopped where all meet",
                                       text("nothing moved for ", options.timeout_s, " s"), "",
                                       "Look at the other ranks, or raise timeout_s"});
            }
        } catch (...) {
            fail(std::current_exception());
            if (!staying_ && !left_) announce(true);
            if (!thrown) thrown = std::current_exception();
        }
        if (left_) {
            everybody.abandon();
            if (thrown) std::rethrow_exception(thrown);
            check_usable();
        }
        if (moved) {
            idling.found_something();
        } else {
            idling.rest();
        }
    }
    return thrown;
}

/// The last word on whether all go on, and to the same end. Everybody is here.
void ChannelState::check_together(Meeting purpose, std::exception_ptr thrown) {
    const auto code = static_cast<Index>(purpose);
    const std::vector<Index> least = comm.min_of_each({failure ? rank : comm.size(), code, -code});
    if (least[0] < comm.size()) {
        if (thrown) std::rethrow_exception(thrown);
        const auto told = [&] {
            take_mail();
            return failure.has_value();
        };
        mpi::wait_for(told, Deadline(options.timeout_s), "hear of a failure");
        check_usable();
    }
    if (least[1] == -least[2]) return;
    const Problem problem{"the ranks of a channel do different things together",
                          text(name_of(least[1]), " on some, ", name_of(-least[2]), " on others"),
                          "the same on all", "Attach and close in the same order on all ranks"};
    failure = mpi::Failure{"InvalidArgument", InvalidArgument(problem).what(), 0};
    left_ = true;
    check_usable();
}

/// What is in flight, or a failure that others told of, keeps this rank from coming to a meeting.
void ChannelState::leave(std::exception_ptr thrown) noexcept {
    fail(thrown);
    if (!left_) announce(true);
}

}  // namespace fluvial::stream
