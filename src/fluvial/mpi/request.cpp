// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/request.hpp"

#include <cstdio>
#include <limits>
#include <mutex>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

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
    bool failed = false;

    /// A failed call has ended the operation if MPI has taken the handle back: it may be another's
    /// failure, and MPI may still use the memory.
    void complete(int mpi_error, MPI_Status& status) {
        failed = mpi_error != MPI_SUCCESS;
        if (!failed) {
            request = MPI_REQUEST_NULL;
        }
        if (request == MPI_REQUEST_NULL) {
            pinned.reset();
        }
        if (failed) {
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
    if (!state->failed) {
        std::fprintf(stderr,
                     "fluvial: a Request was destroyed in flight (%s); its memory is kept until "
                     "the process ends. Wait for it first.\n",
                     state->purpose.to_string().c_str());
    }
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
    wait(Deadline(std::numeric_limits<double>::infinity()));
}

void Request::wait(const Deadline& deadline) {
    if (!test()) {
        wait_until([this] { return test(); }, deadline,
                   text("MPI did not ", state_->purpose.to_string()));
    }
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

std::optional<Pending> Request::pending() {
    if (!in_flight() || state_->role == Role::Receive) {
        return std::nullopt;
    }
    return Pending{&state_->request, nullptr};
}

}  // namespace fluvial::mpi
