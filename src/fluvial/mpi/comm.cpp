// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/comm.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/base/threads.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

namespace {

/// While alive, errors on a communicator that is not ours come back as codes instead of ending the
/// job.
class ReturnErrors {
  public:
    explicit ReturnErrors(MPI_Comm comm) : comm_(comm) {
        check(MPI_Comm_get_errhandler(comm_, &before_), "read an error handler");
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~ReturnErrors() {
        MPI_Comm_set_errhandler(comm_, before_);
        MPI_Errhandler_free(&before_);
    }
    ReturnErrors(const ReturnErrors&) = delete;
    ReturnErrors& operator=(const ReturnErrors&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

void check_user(MPI_Comm user) {
    check_running();
    if (user == MPI_COMM_NULL) {
        throw InvalidArgument(
            Problem{"not a communicator", "MPI_COMM_NULL", "an intra-communicator", ""});
    }
    int inter = 0;
    check(MPI_Comm_test_inter(user, &inter), "look at a communicator");
    if (inter != 0) {
        throw InvalidArgument(Problem{"not an intra-communicator", "an inter-communicator",
                                      "an intra-communicator",
                                      "Merge its two groups with MPI_Intercomm_merge"});
    }
}

}  // namespace

struct Comm::State {
    MPI_Comm handle = MPI_COMM_NULL;  // MPI_COMM_NULL after close()
    int rank = 0;
    int size = 1;
    Request pending_barrier;  // timed out, but still to be met by the others
    bool broken_off = false;  // a collective operation, which the others may still be in
    bool leaves_messages = false;
    MadeHere made;
};

void Comm::Forget::operator()(State* state) const {
    if (state->made.inherited()) {
        return;
    }
    if (state->handle != MPI_COMM_NULL && running() && !state->broken_off) {
        std::fprintf(stderr,
                     "fluvial: a Comm (rank %d of %d) was destroyed without close(); its "
                     "communicator stays allocated "
                     "until MPI_Finalize.\n",
                     state->rank, state->size);
    }
    if (state->handle != MPI_COMM_NULL) {
        state->pending_barrier.abandon();
    }
    delete state;
}

Comm Comm::adopt(MPI_Comm owned) {
    Comm comm;
    comm.state_.reset(new State);
    State& state = *comm.state_;
    state.handle = owned;
    check(MPI_Comm_set_errhandler(owned, MPI_ERRORS_RETURN), "set an error handler");
    check(MPI_Comm_rank(owned, &state.rank), "tell the rank");
    check(MPI_Comm_size(owned, &state.size), "tell the number of ranks");
    return comm;
}

Comm Comm::duplicate(MPI_Comm user) {
    check_user(user);
    const auto start = [user](std::span<std::byte> copy, MPI_Request* request) {
        auto* const to = reinterpret_cast<MPI_Comm*>(copy.data());
#if MPI_VERSION >= 4
        return MPI_Comm_idup_with_info(user, MPI_INFO_NULL, to, request);
#else
        return MPI_Comm_idup(user, to, request);
#endif
    };
    const ReturnErrors guard(user);
    Request request = Request::post(Request::Role::Other, {"duplicate the communicator"},
                                    std::vector<std::byte>(sizeof(MPI_Comm)), nullptr, start);
    try {
        wait_until([&] { return request.test(); }, "MPI did not duplicate the communicator",
                   Meanwhile::Nothing);
    } catch (...) {
        request.abandon();
        throw;
    }
    MPI_Comm copy = MPI_COMM_NULL;
    std::memcpy(&copy, request.take().data(), sizeof copy);
    return adopt(copy);
}

Comm Comm::from_fortran(long handle) {
    const int fortran = to_int(handle, "a Fortran handle");
    return duplicate(running() ? MPI_Comm_f2c(static_cast<MPI_Fint>(fortran)) : MPI_COMM_NULL);
}

long Comm::to_fortran() const {
    if (serial()) {
        throw InvalidArgument(Problem{"no communicator of MPI", "a serial one", "", ""});
    }
    return MPI_Comm_c2f(handle());
}

int Comm::rank() const {
    return state_ ? state_->rank : 0;
}

int Comm::size() const {
    return state_ ? state_->size : 1;
}

MPI_Comm Comm::handle() const {
    if (serial()) {
        return MPI_COMM_NULL;
    }
    state_->made.check("a communicator of MPI");
    if (state_->handle == MPI_COMM_NULL) {
        throw InvalidArgument(
            Problem{"the communicator is closed", "", "", "Use it before close()"});
    }
    return state_->handle;
}

/// The handle, for an operation that all ranks call.
MPI_Comm Comm::for_collective() const {
    const MPI_Comm comm = handle();
    if (!serial() && state_->broken_off) {
        throw InvalidArgument(Problem{
            "the ranks of a communicator are apart: a collective operation of it was broken off",
            "another one", "close(), and messages between two ranks",
            "Close what uses it on all ranks, and open it again"});
    }
    return comm;
}

/// Blocking until the operation is complete; returns its buffer. What ends the wait early leaves
/// the operation to MPI.
std::vector<std::byte> Comm::finish(Request collective) const {
    try {
        collective.wait();
    } catch (...) {
        if (collective.in_flight()) {
            collective.abandon();
            state_->broken_off = true;
        }
        throw;
    }
    return collective.take();
}

/// MPI has no split that could be waited for: all ranks come first, so that it does not take long.
void Comm::come_together() const {
    Request everybody = ibarrier();
    try {
        wait_until([&] { return everybody.test(); }, "MPI did not pass a barrier",
                   Meanwhile::Nothing);
    } catch (...) {
        everybody.abandon();
        state_->broken_off = true;
        throw;
    }
}

Request Comm::ibarrier() const {
    if (serial()) {
        return {};
    }
    return Request::post(Request::Role::Other, {"pass a barrier of all ranks"}, {}, nullptr,
                         [comm = for_collective()](std::span<std::byte>, MPI_Request* request) {
                             return MPI_Ibarrier(comm, request);
                         });
}

// MPI does not match MPI_Barrier on one rank with MPI_Ibarrier on another: all barriers post the
// latter.
Request& Comm::begin_barrier() const {
    Request& pending = state_->pending_barrier;
    if (!pending.in_flight()) {
        pending = ibarrier();
    }
    return pending;
}

void Comm::barrier() const {
    if (!serial()) {
        begin_barrier().wait();
    }
}

void Comm::barrier(const Deadline& deadline) const {
    if (!serial()) {
        begin_barrier().wait(deadline);
    }
}

/// `call`, by another thread, which is left alone with it when the wait ends early.
Comm Comm::split_by(const std::function<int(MPI_Comm*)>& call, Split how, const char* what) const {
    struct Call {
        std::function<int(MPI_Comm*)> make;
        MPI_Comm made = MPI_COMM_NULL;
        int error = MPI_SUCCESS;
        std::mutex mutex;
        std::condition_variable ended;
        bool done = false;
        void run() {
            error = make(&made);
            const std::lock_guard lock(mutex);
            done = true;
            ended.notify_one();
        }
        /// Asleep meanwhile: the other thread has work for this core.
        bool wait_a_little() {
            std::unique_lock lock(mutex);
            return ended.wait_for(lock, std::chrono::milliseconds(2), [&] { return done; });
        }
    };
    come_together();
    const auto split = std::make_shared<Call>();
    split->make = call;
    if (how == Split::Here || thread_level() != ThreadLevel::Multiple) {
        split->run();
    } else {
        std::thread thread = without_signals([split] { split->run(); });
        try {
            wait_until([&] { return split->wait_a_little(); }, text("MPI did not ", what),
                       Meanwhile::Nothing);
        } catch (...) {
            thread.detach();
            state_->broken_off = true;
            throw;
        }
        thread.join();
    }
    check(split->error, what);
    return adopt(split->made);
}

Comm Comm::split_by_host(Split how) const {
    const MPI_Comm comm = for_collective();
    if (serial()) {
        return Comm();
    }
    return split_by(
        [comm, rank = rank()](MPI_Comm* part) {
            return MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, part);
        },
        how, "split the communicator by host");
}

int Comm::ranks_on_this_host() const {
    Comm part = split_by_host();
    const int ranks = part.size();
    part.close();
    return ranks;
}

Comm Comm::split(int color, int key, Split how) const {
    const MPI_Comm comm = for_collective();
    if (const Index lowest = min(color); lowest < 0) {
        throw InvalidArgument(Problem{"a color is negative", text(lowest), "0 or more", ""});
    }
    if (serial()) {
        return Comm();
    }
    return split_by([=](MPI_Comm* part) { return MPI_Comm_split(comm, color, key, part); }, how,
                    "split the communicator");
}

void Comm::close() {
    if (serial() || state_->handle == MPI_COMM_NULL || state_->made.inherited()) {
        return;
    }
    if (state_->pending_barrier.in_flight() && !finalized() && !state_->pending_barrier.test()) {
        state_->pending_barrier.abandon();
        state_->broken_off = true;
    }
    if (state_->broken_off || state_->leaves_messages) {
        state_->handle = MPI_COMM_NULL;
        return;
    }
    MPI_Comm comm = std::exchange(state_->handle, MPI_COMM_NULL);
    if (!finalized()) {
        check(MPI_Comm_free(&comm), "free a communicator");
    }
}

void Comm::abandon() noexcept {
    if (serial()) {
        return;
    }
    state_->pending_barrier.abandon();
    state_->handle = MPI_COMM_NULL;
}

void Comm::break_off() const noexcept {
    if (!serial()) {
        state_->broken_off = true;
    }
}

void Comm::leave_messages() const noexcept {
    if (!serial()) {
        state_->leaves_messages = true;
    }
}

}  // namespace fluvial::mpi
