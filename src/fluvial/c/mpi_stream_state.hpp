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

namespace fluvial::c {

/// A stream as MPI programs see it.
struct AttachedStream {
    stream::Channel* channel = nullptr;
    std::shared_ptr<const StreamTypes> types;
    stream::Stream stream;
    std::shared_ptr<const std::vector<std::byte>> own_result;   ///< CombinedOperation::last()
    std::optional<stream::ThresholdCollective> threshold = {};  ///< none: no function
    std::deque<stream::Pending> under_way = {};
    std::optional<stream::Inquiry> inquiry = {};
    std::uint64_t covered = 0;  ///< elements that the last result of a query is made of
    bool choosing = false;      ///< the consumer depends on the element
    bool reported = false;

    void send(const void* element);
    void isend(const void* element);
    /// Whether nothing is under way any more, which on consumers the stream itself is. Makes
    /// progress, unless all has ended.
    bool test();
    void wait();
    /// The global result, or this consumer's own where results are not combined; valid until the
    /// next call. Blocking until the stream has ended.
    TravellingResult result();
    /// Writes a result where the program wants it; false when it has no value.
    bool take_result(const stream::Outcome& outcome, void* resultbuf);
    /// The line of FLUVIAL_STREAM_REPORT, once, when the stream has ended.
    void report();

  private:
    bool sends_complete();
    /// This rank consumes a stream that has not ended. While it may still send itself, nobody waits
    /// for the end here: it could not come.
    bool awaits_end() const;
    std::string report_line();
};

}  // namespace fluvial::c

/// A handle may be used after its channel was freed, which is an error and must not be more than
/// that: this stays where it is, and only later streams take its place.
struct MPIStream_State {
    std::optional<fluvial::c::AttachedStream> attached;
};

struct MPIStream_ChannelState {
    fluvial::stream::Channel channel;
    fluvial::mpi::Comm self;  ///< for packing: errors are returned
    std::vector<std::pair<MPI_Op, MPI_User_function*>> terminals = {};
    std::list<MPIStream_State> streams = {};

    MPI_User_function* terminal_of(MPI_Op op) const;
    /// Where the next stream is to be.
    MPIStream_State& add();
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

/// Throw InvalidArgument for handles that were not set up, and for streams whose channel is gone.
AttachedStream& state_of(MPIStream* stream);
MPIStream_ChannelState& state_of(MPIStream_Channel* channel);
/// Throws InvalidArgument for what cannot be the memory of an element or a result. A null pointer
/// is MPI_BOTTOM, good for types of absolute addresses.
void check_memory(const void* address, const mpi::PackedType& type, const char* name);

}  // namespace fluvial::c
