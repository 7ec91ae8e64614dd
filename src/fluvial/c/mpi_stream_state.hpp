// SPDX-License-Identifier: Apache-2.0
/// What stands behind the handles of MPIStream.h.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/c/MPIStream.h"
#include "fluvial/c/boundary.hpp"
#include "fluvial/c/stream_operation.hpp"
#include "fluvial/c/stream_threshold.hpp"
#include "fluvial/stream/stream.hpp"

struct MPIStream_State {
    fluvial::stream::Channel* channel = nullptr;
    std::shared_ptr<const fluvial::c::StreamTypes> types;
    fluvial::stream::Stream stream;
    fluvial::c::CombinedOperation* operation = nullptr;                  ///< the stream's
    std::optional<fluvial::stream::ThresholdCollective> threshold = {};  ///< none: no function
    std::deque<fluvial::stream::Pending> under_way = {};
    std::optional<fluvial::stream::Inquiry> inquiry = {};
    std::uint64_t covered = 0;  ///< elements that the last answer to a query is made of
    bool choosing = false;      ///< the consumer depends on the element
    bool operating = false;     ///< without blocking
    bool reported = false;
    std::vector<std::byte> own_result = {};  ///< what result() gave last, where it is this rank's

    void send(const void* element);
    void isend(const void* element);
    /// Whether nothing is under way any more.
    bool test();
    void wait();
    /// The global result, or this consumer's own where results are not combined; valid until the
    /// next call. Blocking until the stream has ended.
    fluvial::c::TravellingResult result();
    /// Writes an answer where the program wants it; false when it has no value.
    bool take_answer(const fluvial::stream::Outcome& answer, void* resultbuf);
    /// The line of FLUVIAL_STREAM_REPORT, once, when the stream has ended.
    void report();

  private:
    bool sends_complete();
    std::string report_line();
};

struct MPIStream_ChannelState {
    fluvial::stream::Channel channel;
    fluvial::mpi::Comm self;  ///< for packing: errors are returned
    std::vector<std::pair<MPI_Op, MPI_User_function*>> terminals = {};
    std::list<MPIStream_State> streams = {};

    MPI_User_function* terminal_of(MPI_Op op) const;
    /// Frees everything, also when this or that throws.
    void free();
};

namespace fluvial::c {

/// MPI_SUCCESS, or the MPI error class of what `work` threw.
int mpi_code(int fluvial_code) noexcept;
template <class Work>
int mpi_guarded(Work&& work) noexcept {
    return mpi_code(guarded(std::forward<Work>(work)));
}

/// Throw InvalidArgument for handles that were not set up.
MPIStream_State& state_of(MPIStream* stream);
MPIStream_ChannelState& state_of(MPIStream_Channel* channel);

}  // namespace fluvial::c
