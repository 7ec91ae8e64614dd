// SPDX-License-Identifier: Apache-2.0
/// The functions of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131), section 3.2.
#include <new>

#include "fluvial/base/error.hpp"
#include "fluvial/c/mpi_stream_state.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/local_operation.hpp"
#include "fluvial/stream/channel_state.hpp"

using fluvial::c::check_given;
using fluvial::c::mpi_guarded;
using fluvial::c::state_of;

namespace {

using namespace fluvial;

stream::Role role_of(bool produces, bool consumes) {
    return static_cast<stream::Role>((produces ? 1 : 0) + (consumes ? 2 : 0));
}

stream::Association association_of(const MPIStream_Options& options, std::size_t element_bytes) {
    switch (options.association) {
        case MPISTREAM_NEAREST:
            return stream::Association::nearest();
        case MPISTREAM_ROUND_ROBIN:
            return stream::Association::round_robin();
        case MPISTREAM_MOST_ROOM:
            return stream::Association::most_room();
        case MPISTREAM_BY_KEY:
            if (options.key_bytes > element_bytes ||
                options.key_offset > element_bytes - options.key_bytes) {
                throw InvalidArgument(
                    Problem{"the key lies outside of the stream's elements",
                            text(options.key_bytes, " bytes from ", options.key_offset, " on"),
                            text("the ", element_bytes, " bytes of an element"), ""});
            }
            return stream::Association::by_key(options.key_offset, options.key_bytes);
        case MPISTREAM_BY_FUNCTION:
            if (options.choose != nullptr) {
                return stream::Association::by(
                    [choose = options.choose, context = options.choose_context](
                        std::span<const std::byte> element) -> std::uint64_t {
                        return choose(element.data(), context);
                    });
            }
    }
    throw InvalidArgument(Problem{"no such association of producers and consumers",
                                  text(options.association), "MPISTREAM_NEAREST and its siblings",
                                  "MPISTREAM_BY_FUNCTION needs a function"});
}

stream::StreamOptions stream_options(const MPIStream_Options& options,
                                     const c::StreamTypes& types) {
    stream::StreamOptions all;
    all.name = options.name == nullptr ? "" : options.name;
    all.element = types.transported();
    all.buffer_bytes = options.buffer_bytes;
    all.latency_s = options.latency_s;
    all.result_on_producers = options.result_on_producers != 0;
    all.association = association_of(options, types.element.bytes());
    return all;
}

/// What fails on one rank fails on all, so that none waits for it.
template <class Validate>
void agree(const MPIStream_ChannelState& channel, Validate&& validate) {
    stream::ChannelState& state = *channel.channel.state();
    state.check_usable();
    if (state.takes_part()) {
        state.meet("attach a stream");
        mpi::agree(state.comm, validate);
    } else {
        validate();
    }
}

void attach(const MPIStream_Options& options, MPI_Datatype element, MPI_Datatype result,
            MPI_Datatype process, const MPIStream_Operation* operation, MPIStream* handle,
            MPIStream_ChannelState& channel) {
    std::shared_ptr<const c::StreamTypes> types;
    stream::StreamOptions all;
    std::unique_ptr<c::CombinedOperation> work;
    agree(channel, [&] {
        check_given(handle, "stream");
        handle->state = nullptr;
        check_given(operation, "operation");
        types = std::make_shared<const c::StreamTypes>(
            element, result, process, operation->terminal_function,
            channel.terminal_of(operation->terminal_function), channel.self);
        all = stream_options(options, *types);
        if (consumes(channel.channel.role())) {
            work =
                c::make_operation(types, operation->intermediate_function, options, channel.self);
        }
    });
    c::CombinedOperation* const seen = work.get();
    channel.streams.push_back({.channel = &channel.channel,
                               .types = types,
                               .stream = stream::Stream(channel.channel, all, std::move(work)),
                               .operation = seen,
                               .choosing = options.association >= MPISTREAM_BY_KEY});
    MPIStream_State& state = channel.streams.back();
    if (options.batch == nullptr &&
        c::elementwise_op(operation->intermediate_function) == MPI_OP_NULL) {
        state.threshold.emplace(channel.channel,
                                c::threshold_rule(types, operation->intermediate_function));
    }
    handle->state = &state;
}

}  // namespace

int MPIStream_CreateChannel(int isProducer, int isConsumer, MPI_Comm comm,
                            MPIStream_Channel* channel) {
    return mpi_guarded([&] {
        check_given(channel, "channel");
        channel->state = nullptr;
        mpi::Comm own = mpi::Comm::duplicate(comm);
        channel->state = new MPIStream_ChannelState{
            .channel = stream::Channel(std::move(own), role_of(isProducer != 0, isConsumer != 0)),
            .self = mpi::Comm::duplicate(MPI_COMM_SELF)};
    });
}

int MPIStream_FreeChannel(MPIStream_Channel* channel) {
    return mpi_guarded([&] {
        const std::unique_ptr<MPIStream_ChannelState> state(&state_of(channel));
        channel->state = nullptr;
        state->free();
    });
}

int MPIStream_Options_init(MPIStream_Options* options) {
    return mpi_guarded([&] {
        check_given(options, "options");
        *options = {};
        options->latency_s = stream::StreamOptions{}.latency_s;
    });
}

int MPIStream_Attach(MPI_Datatype streamDataType, MPI_Datatype resultDataType,
                     MPI_Datatype processDataType, MPIStream_Operation* operation,
                     MPIStream* stream, MPIStream_Channel* channel) {
    MPIStream_Options options;
    MPIStream_Options_init(&options);
    return MPIStream_AttachWith(&options, streamDataType, resultDataType, processDataType,
                                operation, stream, channel);
}

int MPIStream_AttachWith(const MPIStream_Options* options, MPI_Datatype streamDataType,
                         MPI_Datatype resultDataType, MPI_Datatype processDataType,
                         MPIStream_Operation* operation, MPIStream* stream,
                         MPIStream_Channel* channel) {
    return mpi_guarded([&] {
        check_given(options, "options");
        attach(*options, streamDataType, resultDataType, processDataType, operation, stream,
               state_of(channel));
    });
}

int MPIStream_Send(const void* sendbuf, MPIStream* stream) {
    return mpi_guarded([&] { state_of(stream).send(sendbuf); });
}

int MPIStream_Isend(const void* sendbuf, MPIStream* stream) {
    return mpi_guarded([&] { state_of(stream).isend(sendbuf); });
}

int MPIStream_Terminate(MPIStream* stream) {
    return mpi_guarded([&] { state_of(stream).stream.terminate(); });
}

int MPIStream_Iterminate(MPIStream* stream) {
    return mpi_guarded([&] {
        MPIStream_State& state = state_of(stream);
        state.under_way.push_back(state.stream.iterminate());
    });
}

int MPIStream_Operate(MPIStream* stream) {
    return mpi_guarded([&] {
        MPIStream_State& state = state_of(stream);
        state.stream.operate();
        state.report();
    });
}

int MPIStream_Ioperate(MPIStream* stream) {
    return mpi_guarded([&] {
        MPIStream_State& state = state_of(stream);
        state.operating = true;
        state.stream.operate_some();
        state.report();
    });
}

int MPIStream_Query(void* resultbuf, int* flag, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(resultbuf, "resultbuf");
        check_given(flag, "flag");
        MPIStream_State& state = state_of(stream);
        *flag = state.take_answer(state.stream.query(), resultbuf) ? 1 : 0;
    });
}

int MPIStream_Iquery(void* resultbuf, int* flag, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(resultbuf, "resultbuf");
        check_given(flag, "flag");
        MPIStream_State& state = state_of(stream);
        *flag = 0;
        if (!state.inquiry) {
            state.inquiry = state.stream.iquery();
        }
        if (state.inquiry->test()) {
            *flag = state.take_answer(state.inquiry->wait(), resultbuf) ? 1 : 0;
            state.inquiry.reset();
        }
    });
}

int MPIStream_ThresholdColl(const void* local_result, void* global_result, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(global_result, "global_result");
        if (local_result == nullptr) {
            c::give_verdict(*static_cast<const int*>(global_result) != 0);
            return;
        }
        MPIStream_State& state = state_of(stream);
        if (!state.threshold) {
            throw InvalidArgument(Problem{"this stream has nothing that judges contributions",
                                          "a batch function or an MPI_Op",
                                          "an intermediate function", ""});
        }
        std::vector<std::byte> packed(state.types->element.bytes());
        state.types->element.pack(local_result, packed.data());
        *static_cast<int*>(global_result) = state.threshold->contribute(packed) ? 1 : 0;
    });
}
