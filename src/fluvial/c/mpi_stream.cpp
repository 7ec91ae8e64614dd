// SPDX-License-Identifier: Apache-2.0
/// The functions of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131), section 3.2.
#include <new>

#include "fluvial/base/error.hpp"
#include "fluvial/c/mpi_stream_state.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/local_operation.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stream/channel_state.hpp"

using fluvial::c::check_given;
using fluvial::c::check_memory;
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
            if (options.key_bytes == 0) {
                throw InvalidArgument(
                    Problem{"key_bytes is out of range", "0", "1 or more, inside of an element",
                            "Set key_offset and key_bytes of the options to where the key lies"});
            }
            if (options.key_bytes > element_bytes ||
                options.key_offset > element_bytes - options.key_bytes) {
                throw InvalidArgument(
                    Problem{"the key lies outside of the stream's elements",
                            text(options.key_bytes, " bytes from ", options.key_offset, " on"),
                            text("the ", element_bytes, " bytes of an element"), ""});
            }
            return stream::Association::by_key(options.key_offset, options.key_bytes);
        case MPISTREAM_BY_FUNCTION:
            if (options.choose == nullptr) {
                throw InvalidArgument(
                    Problem{"`choose` is null, and the association is MPISTREAM_BY_FUNCTION",
                            "a null pointer", "a function that chooses the consumer of an element",
                            "Set `choose` of the options on all ranks"});
            }
            return stream::Association::by(
                [choose = options.choose, context = options.choose_context](
                    std::span<const std::byte> element) -> std::uint64_t {
                    return choose(element.data(), context);
                },
                options.functions == nullptr ? "a function" : options.functions);
    }
    throw InvalidArgument(Problem{"no such association of producers and consumers",
                                  text(options.association), "MPISTREAM_NEAREST and its siblings",
                                  ""});
}

stream::ChannelOptions channel_options(const MPIStream_ChannelOptions& options) {
    return {.shared_memory = options.shared_memory != 0,
            .timeout_s = options.timeout_s,
            .dead_after_s = options.dead_after_s,
            .stall_timeout_s = options.stall_timeout_s,
            .trace_file = options.trace_file == nullptr ? "" : options.trace_file};
}

stream::StreamOptions stream_options(const MPIStream_Options& options,
                                     const c::StreamTypes& types) {
    stream::StreamOptions all;
    all.name = options.name == nullptr ? "" : options.name;
    all.element = types.transported();
    all.element_type = types.describe();
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
        const stream::ChannelState::Together together =
            state.begin_together(stream::Collective::AttachStream);
        mpi::agree(state.comm, validate);
    } else {
        validate();
    }
}

/// Consumers judge, so the consumers say whether they can.
bool judges(const MPIStream_Options& options, const MPIStream_Operation& operation,
            const stream::Channel& channel) {
    const bool here = !consumes(channel.role()) ||
                      (options.batch == nullptr &&
                       c::elementwise_op(operation.intermediate_function) == MPI_OP_NULL);
    const stream::ChannelState& state = *channel.state();
    return state.takes_part() ? state.comm.all(here) : here;
}

void attach(const MPIStream_Options* options, MPI_Datatype element, MPI_Datatype result,
            MPI_Datatype process, const MPIStream_Operation* operation, MPIStream* handle,
            MPIStream_ChannelState& channel) {
    std::shared_ptr<const c::StreamTypes> types;
    stream::StreamOptions all;
    std::unique_ptr<c::CombinedOperation> work;
    agree(channel, [&] {
        check_given(handle, "stream");
        check_given(options, "options");
        check_given(operation, "operation");
        types = std::make_shared<const c::StreamTypes>(
            element, result, process, operation->terminal_function,
            channel.terminal_of(operation->terminal_function), channel.self);
        all = stream_options(*options, *types);
        if (consumes(channel.channel.role())) {
            work =
                c::make_operation(types, operation->intermediate_function, *options, channel.self);
        }
    });
    const auto last = work ? work->last() : nullptr;
    c::AttachedStream attached{.channel = &channel.channel,
                               .types = types,
                               .stream = stream::Stream(channel.channel, all, std::move(work)),
                               .own_result = last,
                               .choosing = options->association >= MPISTREAM_BY_KEY};
    if (judges(*options, *operation, channel.channel)) {
        attached.threshold.emplace(channel.channel,
                                   c::threshold_rule(types, operation->intermediate_function));
    }
    MPIStream_State& state = channel.add();
    state.attached.emplace(std::move(attached));
    handle->state = &state;
}

}  // namespace

int MPIStream_ChannelOptions_init(MPIStream_ChannelOptions* options) {
    return mpi_guarded([&] {
        check_given(options, "options");
        const stream::ChannelOptions usual;
        *options = {.shared_memory = usual.shared_memory ? 1 : 0,
                    .timeout_s = usual.timeout_s,
                    .dead_after_s = usual.dead_after_s,
                    .stall_timeout_s = usual.stall_timeout_s,
                    .trace_file = nullptr};
    });
}

int MPIStream_CreateChannel(int isProducer, int isConsumer, MPI_Comm comm,
                            MPIStream_Channel* channel) {
    MPIStream_ChannelOptions options;
    MPIStream_ChannelOptions_init(&options);
    return MPIStream_CreateChannelWith(&options, isProducer, isConsumer, comm, channel);
}

int MPIStream_CreateChannelWith(const MPIStream_ChannelOptions* options, int isProducer,
                                int isConsumer, MPI_Comm comm, MPIStream_Channel* channel) {
    if (channel != nullptr) {
        channel->state = nullptr;
    }
    return mpi_guarded([&] {
        const progress::Setup setup(
            options != nullptr && options->timeout_s > 0
                ? progress::time_limit(options->timeout_s, "Fluvial could not open a channel")
                : nullptr);
        mpi::Comm own = mpi::Comm::duplicate(comm);
        try {
            mpi::agree(own, [&] {
                check_given(channel, "channel");
                check_given(options, "options");
            });
        } catch (...) {
            own.close();
            throw;
        }
        channel->state = new MPIStream_ChannelState{
            .channel = stream::Channel(std::move(own), role_of(isProducer != 0, isConsumer != 0),
                                       channel_options(*options)),
            .self = mpi::Comm::duplicate(MPI_COMM_SELF)};
    });
}

int MPIStream_FreeChannel(MPIStream_Channel* channel) {
    return mpi_guarded([&] {
        MPIStream_ChannelState& open = state_of(channel);
        if (open.channel.state()->operations_under_way() > 0) {
            throw InvalidArgument(Problem{"an operation frees the channel that it works for", "",
                                          "", "Free it outside of the operation"});
        }
        const std::unique_ptr<MPIStream_ChannelState> state(&open);
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
    if (stream != nullptr) {
        stream->state = nullptr;
    }
    return mpi_guarded([&] {
        attach(options, streamDataType, resultDataType, processDataType, operation, stream,
               state_of(channel));
    });
}

int MPIStream_Send(const void* sendbuf, MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        check_memory(sendbuf, state.types->element, "sendbuf");
        state.send(sendbuf);
    });
}

int MPIStream_Isend(const void* sendbuf, MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        check_memory(sendbuf, state.types->element, "sendbuf");
        state.isend(sendbuf);
    });
}

int MPIStream_Terminate(MPIStream* stream) {
    return mpi_guarded([&] { state_of(stream).stream.terminate(); });
}

int MPIStream_Iterminate(MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        state.under_way.push_back(state.stream.iterminate());
    });
}

int MPIStream_Operate(MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        state.stream.operate();
        state.report();
    });
}

int MPIStream_Ioperate(MPIStream* stream) {
    return mpi_guarded([&] {
        c::AttachedStream& state = state_of(stream);
        state.stream.operate_some();
        state.report();
    });
}

int MPIStream_Query(void* resultbuf, int* flag, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(flag, "flag");
        c::AttachedStream& state = state_of(stream);
        check_memory(resultbuf, state.types->result, "resultbuf");
        *flag = state.take_result(state.stream.query(), resultbuf) ? 1 : 0;
    });
}

int MPIStream_Iquery(void* resultbuf, int* flag, MPIStream* stream) {
    return mpi_guarded([&] {
        check_given(flag, "flag");
        c::AttachedStream& state = state_of(stream);
        check_memory(resultbuf, state.types->result, "resultbuf");
        *flag = 0;
        if (!state.inquiry) {
            state.inquiry = state.stream.iquery();
        }
        if (state.inquiry->test()) {
            *flag = state.take_result(state.inquiry->wait(), resultbuf) ? 1 : 0;
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
        c::AttachedStream& state = state_of(stream);
        if (!state.threshold) {
            throw InvalidArgument(Problem{"this stream has nothing that judges contributions",
                                          "a batch function or an MPI_Op",
                                          "an intermediate function", ""});
        }
        check_memory(local_result, state.types->element, "local_result");
        std::vector<std::byte> packed(state.types->element.bytes());
        state.types->element.pack(local_result, packed.data());
        *static_cast<int*>(global_result) = state.threshold->contribute(packed) ? 1 : 0;
    });
}
