// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "fluvial/c/mpi_stream_fixture.hpp"

using namespace fluvial::c;

TEST_CASE("ranks without a part") {
    const int rank = world_rank(), size = world_size();
    if (size < 3) {
        return;
    }
    MPIStream_Channel channel;
    REQUIRE(MPIStream_CreateChannel(rank == 0, rank == 1, MPI_COMM_WORLD, &channel) == MPI_SUCCESS);
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &channel) ==
            MPI_SUCCESS);
    const long value = 5;
    CHECK(MPIStream_Send(&value, &stream) == (rank == 0 ? MPI_SUCCESS : MPI_ERR_ARG));
    CHECK(MPIStream_FreeChannel(&channel) == MPI_SUCCESS);
}

TEST_CASE("what goes wrong is a code and a text, on all ranks that it concerns") {
    MPIStream_Channel none;
    CHECK(MPIStream_CreateChannel(1, 0, MPI_COMM_WORLD, &none) == MPI_ERR_ARG);
    CHECK(error_says("no consumer"));
    CHECK(none.state == nullptr);
    CHECK(MPIStream_FreeChannel(&none) == MPI_ERR_ARG);
    CHECK(MPIStream_CreateChannel(1, 1, MPI_COMM_NULL, &none) == MPI_ERR_ARG);
    CHECK(MPIStream_CreateChannel(1, 1, MPI_COMM_WORLD, nullptr) == MPI_ERR_ARG);
    MPIStream lost = {nullptr};
    CHECK(MPIStream_Send(&lost, &lost) == MPI_ERR_ARG);
    CHECK(error_says("attached"));

    World world;
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    const MPI_Datatype wrong_on_last = world.rank == world.size - 1 ? MPI_DATATYPE_NULL : MPI_LONG;
    CHECK(MPIStream_Attach(wrong_on_last, MPI_LONG, MPI_LONG, &operation, &stream,
                           &world.channel) == MPI_ERR_ARG);
    CHECK(error_says("MPI_DATATYPE_NULL"));
    CHECK(stream.state == nullptr);
    const MPI_Datatype other = world.rank == 0 ? MPI_DOUBLE : MPI_FLOAT;
    if (world.size > 1) {
        CHECK(MPIStream_Attach(other, MPI_LONG, MPI_DATATYPE_NULL, &operation, &stream,
                               &world.channel) == MPI_ERR_ARG);
        CHECK(error_says("the ranks differ in the elements of stream 0"));
    }
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    const long value = 1;
    if (!world.producer) {
        CHECK(MPIStream_Send(&value, &stream) == MPI_ERR_ARG);
        CHECK(error_says("no producer"));
    }
    if (world.producer) {
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
        CHECK(MPIStream_Send(&value, &stream) == MPI_ERR_ARG);
        CHECK(error_says("terminated"));
    }
}

namespace {

int fail_at_once(const void*, long long count, void*, void*) {
    return count == 0 ? 0 : 3;
}

template <class Set>
MPIStream failing_stream(World& world, Set set) {
    MPIStream_Options options;
    MPIStream_Options_init(&options);
    options.batch = fail_at_once;
    set(options);
    MPIStream_Operation operation = {nullptr, MPI_SUM};
    MPIStream stream;
    REQUIRE(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                 &world.channel) == MPI_SUCCESS);
    return stream;
}

}  // namespace

TEST_CASE("a failing operation is an error on every rank, and the channel can be freed") {
    World world;
    MPIStream stream = failing_stream(world, [](auto& options) { options.buffer_bytes = 8192; });
    int code = MPI_SUCCESS;
    for (long i = 0; i < 100'000 && code == MPI_SUCCESS && world.producer; ++i) {
        code = MPIStream_Send(&i, &stream);
    }
    if (world.consumer && code == MPI_SUCCESS) {
        code = MPIStream_Operate(&stream);
    }
    CHECK(all_ranks(code == MPI_ERR_OTHER));
    CHECK(error_says("batch function"));
}

TEST_CASE("a rank that only tests, with nothing under way, learns of a failure") {
    World world;
    MPIStream stream = failing_stream(world, [](auto& options) { options.latency_s = 0; });
    const long value = 1;
    int code = MPI_SUCCESS;
    if (world.rank == 0) {  // other producers do nothing at all
        code = MPIStream_Send(&value, &stream);
        code = code == MPI_SUCCESS ? MPIStream_Flush(&stream) : code;
    }
    const double begin = MPI_Wtime();
    while (code == MPI_SUCCESS && MPI_Wtime() - begin < 20) {
        int flag = 0;
        code = MPIStream_Test(&flag, &stream);
    }
    CHECK(all_ranks(code == MPI_ERR_OTHER));
    CHECK(error_says("batch function"));
    int flag = 0;
    CHECK(MPIStream_Test(&flag, &stream) == MPI_ERR_OTHER);
}
