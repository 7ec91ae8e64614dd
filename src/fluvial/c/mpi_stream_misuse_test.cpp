// SPDX-License-Identifier: Apache-2.0
/// Calls that make no sense, come too late, or differ between ranks.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/c/mpi_stream_fixture.hpp"

using namespace fluvial::c;

namespace {

int add_batch(const void* elements, long long count, void* inout, void*) {
    auto& sum = *static_cast<long*>(inout);
    if (count == 0) {
        sum = 0;
    }
    for (long long i = 0; i < count; ++i) {
        sum += static_cast<const long*>(elements)[i];
    }
    return 0;
}

MPIStream_Channel* own_channel;
MPIStream* own_stream;
int code_inside;

void free_inside(void*, void* inout, int* len, MPI_Datatype*) {
    *static_cast<long*>(inout) = 0;
    if (*len > 0) {
        code_inside = MPIStream_FreeChannel(own_channel);
    }
}

long sum_inside;
long later_values[4] = {3, 2, 1, 0};

/// Sends on what is one less, to itself.
void send_inside(void* in, void* inout, int* len, MPI_Datatype*) {
    auto& sum = *static_cast<long*>(inout);
    if (*len == 0) {
        sum = 0;
        return;
    }
    const long value = *static_cast<long*>(in);
    sum += value;
    sum_inside = sum;
    if (value > 0) {
        CHECK(MPIStream_Isend(&later_values[4 - value], own_stream) == MPI_SUCCESS);
        int flag = 0;
        CHECK(MPIStream_Test(&flag, own_stream) == MPI_SUCCESS);
    }
}

}  // namespace

TEST_CASE("consumers alone need a function") {
    for (const int kind : {0, 1, 2}) {
        CAPTURE(kind);
        World world;
        MPIStream_Options options;
        MPIStream_Options_init(&options);
        MPIStream_Operation operation = {nullptr, MPI_SUM};
        if (world.consumer && kind == 0) {
            options.batch = add_batch;
        } else if (world.consumer) {
            operation.intermediate_function = kind == 1 ? MPIStream_Elementwise(MPI_SUM) : add_long;
        }
        MPIStream stream;
        REQUIRE(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                     &world.channel) == MPI_SUCCESS);
        const long value = 2;
        if (world.producer) {
            CHECK(MPIStream_Send(&value, &stream) == MPI_SUCCESS);
            CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
        }
        if (world.consumer) {
            long sum = 0;
            CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);
            CHECK(sum == 2 * world.producers);
        }
    }
}

TEST_CASE("an association that lacks its key, or its function, says so") {
    World world;
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    const auto refused = [&](int association, size_t offset, size_t bytes) {
        MPIStream_Options options;
        MPIStream_Options_init(&options);
        options.association = association;
        options.key_offset = offset;
        options.key_bytes = bytes;
        return MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                    &world.channel) == MPI_ERR_ARG;
    };
    CHECK(refused(MPISTREAM_BY_KEY, 0, 0));
    CHECK(error_says("key_bytes is out of range: got 0; allowed: 1 or more"));
    CHECK(refused(MPISTREAM_BY_KEY, 4, 5));
    CHECK(error_says("the key lies outside of the stream's elements"));
    CHECK(refused(MPISTREAM_BY_FUNCTION, 0, 0));
    CHECK(error_says("`choose` is null"));
    CHECK(refused(5, 0, 0));
    CHECK(error_says("no such association of producers and consumers: got 5"));
}

TEST_CASE("a function cannot free the channel that it works for") {
    World world;
    own_channel = &world.channel;
    code_inside = MPI_SUCCESS;
    MPIStream_Operation operation = {free_inside, MPI_SUM};
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    const long value = 1;
    if (world.producer) {
        CHECK(MPIStream_Send(&value, &stream) == MPI_SUCCESS);
    }
    CHECK(MPIStream_FreeChannel(&world.channel) == MPI_SUCCESS);
    if (world.consumer) {
        CHECK(code_inside == MPI_ERR_ARG);
    }
}

TEST_CASE("after its channel a stream is nothing but an error") {
    MPIStream old;
    for (int round = 0; round < 3; ++round) {
        World world;
        MPIStream_Operation operation = sum_of_longs();
        MPIStream stream;
        REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                 &world.channel) == MPI_SUCCESS);
        if (round > 0) {
            CHECK(stream.state != old.state);
            CHECK(MPIStream_Terminate(&old) == MPI_ERR_ARG);
        }
        old = stream;
        CHECK(MPIStream_FreeChannel(&world.channel) == MPI_SUCCESS);
        long sum = 0;
        int flag = 0;
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_ERR_ARG);
        CHECK(error_says("was freed"));
        CHECK(MPIStream_Send(&sum, &stream) == MPI_ERR_ARG);
        CHECK(MPIStream_Test(&flag, &stream) == MPI_ERR_ARG);
        CHECK(MPIStream_FreeChannel(&world.channel) == MPI_ERR_ARG);
    }
}

TEST_CASE("what is no memory") {
    World world;
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    int flag = 0;
    if (world.producer) {
        for (const void* const wrong :
             {static_cast<const void*>(nullptr), static_cast<const void*>(MPI_IN_PLACE)}) {
            CHECK(MPIStream_Send(wrong, &stream) == MPI_ERR_ARG);
            CHECK(error_says("sendbuf"));
            CHECK(MPIStream_Isend(wrong, &stream) == MPI_ERR_ARG);
            CHECK(MPIStream_SendMany(wrong, 2, &stream) == MPI_ERR_ARG);
            CHECK(MPIStream_Query(const_cast<void*>(wrong), &flag, &stream) == MPI_ERR_ARG);
            if (wrong != nullptr) {
                CHECK(MPIStream_ThresholdColl(wrong, &flag, &stream) == MPI_ERR_ARG);
            }
        }
        CHECK(MPIStream_SendMany(nullptr, 0, &stream) == MPI_SUCCESS);
        const long value = 1;
        CHECK(MPIStream_SendMany(&value, -1, &stream) == MPI_ERR_ARG);
    } else {
        CHECK(MPIStream_Result(MPI_IN_PLACE, nullptr, &stream) == MPI_ERR_ARG);
        CHECK(MPIStream_Result(nullptr, nullptr, &stream) == MPI_ERR_ARG);
    }
}

TEST_CASE("types with gaps and of absolute addresses") {
    World world;
    long values[3] = {4, -1, 5};
    MPI_Datatype absolute;
    MPI_Aint where[2];
    MPI_Get_address(&values[0], &where[0]);
    MPI_Get_address(&values[2], &where[1]);
    const int lengths[2] = {1, 1};
    MPI_Type_create_hindexed(2, lengths, where, MPI_LONG, &absolute);
    MPI_Type_commit(&absolute);
    MPIStream_Operation operation = {&add_long, MPI_SUM};
    MPIStream stream;
    REQUIRE(MPIStream_Attach(absolute, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    if (world.producer) {
        CHECK(MPIStream_Send(MPI_BOTTOM, &stream) == MPI_SUCCESS);
        CHECK(MPIStream_SendMany(MPI_BOTTOM, -1, &stream) == MPI_ERR_ARG);
        CHECK(MPIStream_SendMany(MPI_BOTTOM, 1, &stream) == MPI_SUCCESS);
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
    }
    if (world.consumer) {
        long sum = 0;
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);
        CHECK(sum == 18 * world.producers);
    }
    MPI_Type_free(&absolute);
}

TEST_CASE("elements past what MPI can pack are refused on all ranks") {
    World world;
    MPI_Datatype large;
    MPI_Type_contiguous(1 << 28, MPI_LONG, &large);  // 2 GiB
    MPI_Type_commit(&large);
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    CHECK(MPIStream_Attach(large, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
          MPI_ERR_ARG);
    CHECK(error_says("2147483648 bytes"));
    MPI_Type_free(&large);
}

TEST_CASE("what is missing on one rank is an error on all") {
    const int rank = world_rank(), size = world_size();
    const bool last = rank == size - 1;
    MPIStream_Channel unused;
    CHECK(MPIStream_CreateChannel(1, 1, MPI_COMM_WORLD, last ? nullptr : &unused) == MPI_ERR_ARG);
    CHECK(error_says("channel is missing"));
    World world;
    MPIStream_Options options;
    MPIStream_Options_init(&options);
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream, *const handle = &stream;
    CHECK(MPIStream_AttachWith(last ? nullptr : &options, MPI_LONG, MPI_LONG, MPI_LONG, &operation,
                               handle, &world.channel) == MPI_ERR_ARG);
    CHECK(error_says("options is missing"));
    CHECK(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation,
                               last ? nullptr : handle, &world.channel) == MPI_ERR_ARG);
    CHECK(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, last ? nullptr : &operation,
                               handle, &world.channel) == MPI_ERR_ARG);
}

TEST_CASE("a stream that was not attached, because its channel had failed") {
    World world;
    MPIStream_Operation operation = {nullptr, MPI_SUM};
    MPIStream_Options options;
    MPIStream_Options_init(&options);
    options.batch = [](const void*, long long count, void*, void*) { return count > 0 ? 1 : 0; };
    MPIStream failing;
    REQUIRE(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &failing,
                                 &world.channel) == MPI_SUCCESS);
    const long value = 1;
    // A consumer may have failed already, of what another producer sent.
    const auto sent_or_failed = [](int code) {
        return code == MPI_SUCCESS || code == MPI_ERR_OTHER;
    };
    if (world.producer) {
        CHECK(sent_or_failed(MPIStream_Send(&value, &failing)));
        CHECK(sent_or_failed(MPIStream_Flush(&failing)));
    }
    int code = MPI_SUCCESS;
    while (world.consumer && code == MPI_SUCCESS) {
        code = MPIStream_Ioperate(&failing);
    }
    code = MPI_SUCCESS;
    operation = sum_of_longs();
    MPIStream stream;
    for (int i = 0; code == MPI_SUCCESS; ++i) {
        code = MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel);
    }
    CHECK(code == MPI_ERR_OTHER);
    CHECK(stream.state == nullptr);
    CHECK(MPIStream_Send(&value, &stream) == MPI_ERR_ARG);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("a function may send and test while its rank waits for what it has sent") {
    if (world_size() > 1) {
        return;
    }
    World world;
    MPIStream_Operation operation = {send_inside, MPI_SUM};
    MPIStream stream;
    own_stream = &stream;
    sum_inside = 0;
    MPIStream_Options options;
    MPIStream_Options_init(&options);
    options.buffer_bytes = 8192;
    REQUIRE(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                 &world.channel) == MPI_SUCCESS);
    long four = 4;
    std::vector<long> many(100'000, 0);
    CHECK(MPIStream_Isend(&four, &stream) == MPI_SUCCESS);
    for (long& zero : many) {
        CHECK(MPIStream_Isend(&zero, &stream) == MPI_SUCCESS);
    }
    CHECK(MPIStream_Wait(&stream) == MPI_SUCCESS);
    while (sum_inside < 10) {
        REQUIRE(MPIStream_Ioperate(&stream) == MPI_SUCCESS);
    }
    CHECK(MPIStream_Iterminate(&stream) == MPI_SUCCESS);
    CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
    long sum = 0;
    CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);
    CHECK(sum == 10);
}

namespace {

int calls, first_calls;

struct Round {
    double contributions, sum;
};

void count_calls(void* in, void* inout, int* len, MPI_Datatype*) {
    auto* const round = static_cast<Round*>(inout);
    if (*len == 0) {
        *round = {};
        ++first_calls;
        return;
    }
    ++calls;
    round->contributions += 1;
    round->sum += *static_cast<double*>(in);
}

}  // namespace

TEST_CASE("a threshold's function is called once for each contribution") {
    calls = first_calls = 0;
    constexpr int rounds = 7;
    int producers = 0;
    {
        World world;
        producers = world.producers;
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
        MPI_Type_commit(&pair);
        MPIStream_Operation operation = {&count_calls, MPI_OP_NULL};
        MPIStream stream;
        REQUIRE(MPIStream_Attach(MPI_DOUBLE, pair, MPI_DOUBLE, &operation, &stream,
                                 &world.channel) == MPI_SUCCESS);
        first_calls = 0;  // the stream's own result
        const double one = 1;
        int verdict = 1;
        for (int round = 0; world.producer && round < rounds; ++round) {
            CHECK(MPIStream_ThresholdColl(&one, &verdict, &stream) == MPI_SUCCESS);
            CHECK(verdict == 0);
        }
        MPI_Type_free(&pair);
    }
    CHECK(sum_over_world(calls) == rounds * producers);
    CHECK(sum_over_world(first_calls) == rounds);
}

TEST_CASE("channels have options") {
    const int rank = world_rank(), size = world_size();
    const std::string path = "c_channel_options_" + std::to_string(size) + ".json";
    MPIStream_ChannelOptions options;
    CHECK(MPIStream_ChannelOptions_init(nullptr) == MPI_ERR_ARG);
    REQUIRE(MPIStream_ChannelOptions_init(&options) == MPI_SUCCESS);
    CHECK(options.shared_memory == 1);
    options.shared_memory = 0;
    options.trace_file = path.c_str();
    options.timeout_s = -1;
    MPIStream_Channel channel;
    CHECK(MPIStream_CreateChannelWith(&options, 1, 1, MPI_COMM_WORLD, &channel) == MPI_ERR_ARG);
    CHECK(error_says("timeout_s"));
    options.timeout_s = 1;
    const bool consumer = rank == size - 1;
    REQUIRE(MPIStream_CreateChannelWith(&options, !consumer || size == 1, consumer, MPI_COMM_WORLD,
                                        &channel) == MPI_SUCCESS);
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &channel) ==
            MPI_SUCCESS);
    if (consumer) {  // no producer has sent anything
        CHECK(MPIStream_Operate(&stream) == MPI_ERR_OTHER);
        CHECK(error_says("in time"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPIStream_FreeChannel(&channel) == MPI_SUCCESS);
    if (rank == 0) {
        std::ifstream trace(path);
        CHECK(trace.good());
        std::remove(path.c_str());
    }
}
