// SPDX-License-Identifier: Apache-2.0
/// What MPIStream.h has beyond the paper's functions.
#include "fluvial/base/error.hpp"
#include "fluvial/c/mpi_stream_state.hpp"
#include "fluvial/mpi/local_operation.hpp"

using namespace fluvial;
using fluvial::c::check_given;
using fluvial::c::check_memory;
using fluvial::c::mpi_guarded;
using fluvial::c::state_of;

int MPIStream_Test(int* flag, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(flag, "flag");
        c::AttachedStream& state = state_of(stream);
        *flag = state.test() ? 1 : 0;
        state.report();
    });
}

int MPIStream_Wait(MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        state.wait();
        state.report();
    });
}

int MPIStream_SendMany(const void* sendbuf, long long count, MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        if (count < 0) {
            throw InvalidArgument(
                Problem{"a number of elements is negative", text(count), "0 or more", ""});
        }
        if (count > 0) {
            check_memory(sendbuf, state.types->element, "sendbuf");
        }
        if (state.types->element.contiguous()) {
            state.stream.send(sendbuf, count);
            return;
        }
        const auto* element = static_cast<const std::byte*>(sendbuf);
        for (long long i = 0; i < count; ++i, element += state.types->element.extent()) {
            state.send(element);
        }
    });
}

int MPIStream_Reserve(void** room, long long* count, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(room, "room");
        check_given(count, "count");
        c::AttachedStream& state = state_of(stream);
        const auto bytes = state.stream.reserve_many(*count);
        *room = bytes.data();
        *count = static_cast<long long>(bytes.size() / state.types->element.bytes());
    });
}

int MPIStream_Commit(long long count, MPIStream* stream) {
    return mpi_guarded([&] { state_of(stream).stream.commit(count); });
}

int MPIStream_Flush(MPIStream* stream) {
    return mpi_guarded([&] { state_of(stream).stream.flush(); });
}

int MPIStream_Result(void* resultbuf, long long* elements, MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        check_memory(resultbuf, state.types->result, "resultbuf");
        const c::TravellingResult result = state.result();
        state.report();
        if (!result.known) {
            throw InvalidArgument(Problem{
                "a stream without elements has no result", "an MPI_Op that has no value of nothing",
                "one element or more", "Write an intermediate function that says what it is"});
        }
        state.types->result.unpack(result.packed.data(), resultbuf);
        if (elements != nullptr) {
            *elements = static_cast<long long>(result.elements);
        }
    });
}

int MPIStream_Terminal(MPI_User_function* function, MPI_Op* op, MPIStream_Channel* channel) {
    return mpi_guarded([&] {
        check_given(reinterpret_cast<const void*>(function), "function");
        check_given(op, "op");
        MPIStream_ChannelState& state = state_of(channel);
        *op = mpi::create_operation(function);
        state.terminals.emplace_back(*op, function);
    });
}

int MPIStream_Covered(long long* elements, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(elements, "elements");
        *elements = static_cast<long long>(state_of(stream).covered);
    });
}

int MPIStream_GetStatistics(MPIStream_Statistics* statistics, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(statistics, "statistics");
        const stream::Statistics s = state_of(stream).stream.statistics();
        const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
        const auto number = [](std::uint64_t n) { return static_cast<long long>(n); };
        *statistics = {.sent_elements = number(s.sent_elements),
                       .sent_bytes = number(s.sent_bytes),
                       .stalls = number(s.stalls),
                       .stalled_s = seconds(s.stalled_ns),
                       .elements = number(s.elements),
                       .bytes = number(s.bytes),
                       .batches = number(s.batches),
                       .processing_s = seconds(s.processing_ns),
                       .idle_s = seconds(s.idle_ns),
                       .depth_bytes = number(s.depth_bytes),
                       .depth_bytes_max = number(s.depth_bytes_max),
                       .memory_bytes = number(s.memory_bytes),
                       .queries_answered = number(s.queries_answered)};
    });
}

const char* MPIStream_LastError(void) {
    return fluvial_last_message();
}
