// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/send_queue.hpp"

#include <utility>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/datatype.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

SendQueue::SendQueue(const Comm& comm, int destination, int tag, Complete complete)
    : comm_(comm.handle()), destination_(destination), tag_(tag), complete_(complete) {
    comm.check_message(destination, tag);
}

SendQueue::~SendQueue() {
    if (under_way_.empty() || finalized()) {
        return;
    }
    // Never destroyed: MPI may read these until the process is gone.
    new std::deque<Posted>(std::move(under_way_));
}

void SendQueue::post(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    const Payload payload(static_cast<Index>(bytes.size()));
    under_way_.push_back({MPI_REQUEST_NULL, std::move(owner)});
    const auto start = complete_ == Complete::Matched ? MPI_Issend : MPI_Isend;
    const int error = start(bytes.data(), payload.count, payload.type.handle(), destination_, tag_,
                            comm_, &under_way_.back().request);
    if (error != MPI_SUCCESS) {
        under_way_.pop_back();
    }
    check(error, "send a message");
    ++posted_;
}

std::uint64_t SendQueue::completed() {
    while (!under_way_.empty()) {
        MPI_Request& oldest = under_way_.front().request;
        int done = 0, error = MPI_SUCCESS;
        if (oldest != MPI_REQUEST_NULL) {  // it is where pending() was waited for
            error = MPI_Test(&oldest, &done, MPI_STATUS_IGNORE);
            if (error == MPI_SUCCESS && done == 0) {
                break;
            }
        }
        under_way_.pop_front();
        check(error, "send a message");
    }
    return posted_ - under_way_.size();
}

std::optional<Pending> SendQueue::pending() {
    if (under_way_.empty()) {
        return std::nullopt;
    }
    return Pending{&under_way_.front().request, nullptr};
}

}  // namespace fluvial::mpi
