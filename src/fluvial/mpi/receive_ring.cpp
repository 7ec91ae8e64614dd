// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/receive_ring.hpp"

#include <utility>

#include "fluvial/base/assert.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

namespace {

/// After MPI_Cancel a receive that nothing has matched completes at once.
bool cancelled(MPI_Request& request) {
    constexpr int tries = 100;
    if (MPI_Cancel(&request) != MPI_SUCCESS) {
        return false;
    }
    for (int i = 0; i < tries; ++i) {
        int done = 0;
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return false;
        }
        if (done != 0) {
            return true;
        }
    }
    return false;
}

}  // namespace

ReceiveRing::ReceiveRing(const Comm& comm, int tag, std::size_t slots, std::size_t slot_bytes)
    : comm_(comm.handle()),
      tag_(tag),
      slot_(static_cast<Index>(slot_bytes)),
      stride_((slot_bytes + 63) / 64 * 64),
      slots_(slots, MPI_REQUEST_NULL),
      statuses_(slots) {
    comm.check_message(comm.rank(), tag);
    memory_ = allocate_pages(slots * stride_);
    for (std::size_t i = 0; i < slots; ++i) {
        post(i);
    }
}

ReceiveRing::~ReceiveRing() {
    if (!finalized()) {
        for (MPI_Request& request : slots_) {
            // Never destroyed: MPI may write there until the process is gone.
            if (request != MPI_REQUEST_NULL && !cancelled(request)) {
                memory_.release();
            }
        }
    }
}

void ReceiveRing::post(std::uint64_t number) {
    const auto slot = static_cast<std::size_t>(number % slots_.size());
    check(MPI_Irecv(memory_.get() + slot * stride_, slot_.count, slot_.type.handle(),
                    MPI_ANY_SOURCE, tag_, comm_, &slots_[slot]),
          "post a receive");
}

std::optional<ReceiveRing::Received> ReceiveRing::try_next() {
    if (received_ == given_back_ + slots_.size()) {
        return std::nullopt;
    }
    const auto slot = static_cast<std::size_t>(received_ % slots_.size());
    MPI_Status& status = statuses_[slot];
    int error = MPI_SUCCESS;
    if (slots_[slot] != MPI_REQUEST_NULL) {  // it is where pending() was waited for
        int done = 0;
        error = MPI_Test(&slots_[slot], &done, &status);
        if (error == MPI_SUCCESS && done == 0) {
            return std::nullopt;
        }
    }
    ++received_;
    check(error, "receive a message");
    MPI_Count bytes = 0;
    check(MPI_Get_elements_x(&status, MPI_BYTE, &bytes), "count the bytes received");
    return Received{status.MPI_SOURCE,
                    {memory_.get() + slot * stride_, static_cast<std::size_t>(bytes)}};
}

std::optional<Pending> ReceiveRing::pending() {
    if (received_ == given_back_ + slots_.size()) {
        return std::nullopt;
    }
    const auto slot = static_cast<std::size_t>(received_ % slots_.size());
    return Pending{&slots_[slot], &statuses_[slot]};
}

void ReceiveRing::give_back() {
    FLUVIAL_ASSERT(given_back_ < received_, given_back_);
    post(given_back_++);
}

}  // namespace fluvial::mpi
