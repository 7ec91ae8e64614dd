// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/request.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <utility>

#include <sched.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

void wait_for(const std::function<bool()>& done, const Deadline& deadline, std::string_view what) {
    constexpr int spins = 100;
    constexpr int yields = 2000;
    constexpr std::int64_t nap_ns = 200'000;
    constexpr int naps_between_checks = 500;  // about a tenth of a second
    for (int tests = 0; !done(); ++tests) {
        if (deadline.passed()) {
            throw TimedOut(Problem{text("MPI did not ", what, " in time"), "", "",
                                   "A rank of this job is late, stopped or dead: look at the job, "
                                   "or raise the time-out"});
        }
        if (tests < spins) {
            continue;
        }
        if (tests < yields) {
            sched_yield();
            continue;
        }
        if (tests % naps_between_checks == 0) {
            check_interrupt();
        }
        const timespec nap{0, static_cast<long>(std::min(deadline.left_ns(), nap_ns))};
        nanosleep(&nap, nullptr);
    }
}

std::string Purpose::to_string() const {
    return rank < 0 ? verb : text(verb, " rank ", rank, " (tag ", tag, ")");
}

struct Request::State {
    Role role;
    Purpose purpose;
    std::vector<std::byte> buffer;
    std::shared_ptr<const void> pinned;
    MPI_Request request = MPI_REQUEST_NULL;
    MadeHere made = {};

    void complete(int mpi_error, MPI_Status& status) {
        request = MPI_REQUEST_NULL;  // also after a failure: MPI is through with the memory
        pinned.reset();
        if (mpi_error != MPI_SUCCESS) {
            check(mpi_error, purpose.to_string());
        }
        if (role != Role::Receive) {
            return;
        }
        MPI_Count received = 0;
        check(MPI_Get_elements_x(&status, MPI_BYTE, &received), "count the bytes received");
        // The last byte is a sentinel: Open MPI 4.1 cuts messages of a rank to itself in silence.
        if (received >= static_cast<MPI_Count>(buffer.size())) {
            check(MPI_ERR_TRUNCATE, purpose.to_string());
        }
        buffer.resize(static_cast<std::size_t>(received));
    }
};

void Request::Drop::operator()(State* state) const {
    if (state->made.inherited()) {
        return;
    }
    if (state->request == MPI_REQUEST_NULL || finalized()) {
        delete state;
        return;
    }
    std::fprintf(stderr,
                 "fluvial: a Request was destroyed in flight (%s); its memory is kept until the "
                 "process ends. Wait for "
                 "it first.\n",
                 state->purpose.to_string().c_str());
    Request request;
    request.state_.reset(state);
    request.abandon();
}

Request Request::post(Role role, const Purpose& purpose, std::vector<std::byte> buffer,
                      std::shared_ptr<const void> pinned,
                      const std::function<int(std::span<std::byte>, MPI_Request*)>& start) {
    Request request;
    request.state_.reset(
        new State{role, purpose, std::move(buffer), std::move(pinned), MPI_REQUEST_NULL});
    State& state = *request.state_;
    const int error = start(state.buffer, &state.request);
    if (error != MPI_SUCCESS) {
        check(error, purpose.to_string());
    }
    return request;
}

Request Request::adopt(MPI_Request handle, const Purpose& purpose,
                       std::shared_ptr<const void> pinned) {
    int done = 0;
    const int error = MPI_Test(&handle, &done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) {
        check(error, purpose.to_string());
    }
    Request request;
    if (done == 0) {
        request.state_.reset(new State{Role::Other, purpose, {}, std::move(pinned), handle});
    }
    return request;
}

bool Request::in_flight() const {
    return state_ && state_->request != MPI_REQUEST_NULL;
}

bool Request::test() {
    if (!in_flight()) {
        return true;
    }
    int done = 0;
    MPI_Status status;
    const int error = MPI_Test(&state_->request, &done, &status);
    if (error == MPI_SUCCESS && done == 0) {
        return false;
    }
    state_->complete(error, status);
    return true;
}

void Request::wait() {
    if (!in_flight()) {
        return;
    }
    MPI_Status status;
    const int error = MPI_Wait(&state_->request, &status);
    state_->complete(error, status);
}

void Request::wait(const Deadline& deadline) {
    wait_for([this] { return test(); }, deadline, state_ ? state_->purpose.to_string() : "");
}

std::vector<std::byte> Request::take() {
    if (in_flight()) {
        throw InvalidArgument(
            Problem{text("the buffer still belongs to MPI (", state_->purpose.to_string(), ")"), "",
                    "", "Call wait() before take()"});
    }
    return state_ ? std::move(state_->buffer) : std::vector<std::byte>();
}

void Request::abandon() {
    if (!in_flight()) {
        return;
    }
    static std::mutex mutex;
    // Never destroyed: MPI may write into these buffers until the process is gone.
    static auto* const abandoned = new std::vector<State*>;
    const std::lock_guard lock(mutex);
    abandoned->push_back(state_.release());
}

}  // namespace fluvial::mpi
