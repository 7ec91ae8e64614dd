// SPDX-License-Identifier: Apache-2.0
/// C programs whose ranks ask for different things are told so on all of them.
#include <algorithm>
#include <cstring>
#include <functional>

#include <doctest/doctest.h>

#include "fluvial/c/mpi_stream_fixture.hpp"
#include "fluvial/c/object_io_fixture.hpp"

using namespace fluvial::c;

namespace {

void first_of(const double* const* in, double* out, std::size_t n, void*) {
    std::copy(in[0], in[0] + n, out);
}

bool message_says(const std::string& words) {
    INFO(std::string(fluvial_last_message()));
    return std::strstr(fluvial_last_message(), words.c_str()) != nullptr;
}

void no_sum(void* in, void* inout, int* len, MPI_Datatype*) {
    std::memcpy(inout, in, static_cast<std::size_t>(*len) * sizeof(long));
}

/// Attaches a stream; another one on the last rank, which `spoil` makes.
int attach(World& world, const std::function<void(MPIStream_Operation&, MPIStream_Options&,
                                                  MPI_Datatype& result)>& spoil) {
    MPIStream_Operation operation = {MPIStream_Elementwise(MPI_SUM), MPI_SUM};
    MPIStream_Options options;
    MPIStream_Options_init(&options);
    MPI_Datatype result = MPI_LONG;
    if (world.rank == world.size - 1) {
        spoil(operation, options, result);
    }
    MPIStream stream;
    const int code = MPIStream_AttachWith(&options, MPI_LONG, result, MPI_DATATYPE_NULL, &operation,
                                          &stream, &world.channel);
    if (code == MPI_SUCCESS && world.producer) {
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
    }
    return code;
}

}  // namespace

TEST_CASE("object I/Os whose operators differ by rank are refused on every rank") {
    const SharedFile shared(known_file());
    fluvial_file* file = nullptr;
    REQUIRE(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), MPI_INFO_NULL, &file) ==
            FLUVIAL_OK);
    const bool last = shared.rank() == shared.ranks() - 1;
    fluvial_object_io io;
    REQUIRE(fluvial_object_io_init(&io, file, "int") == FLUVIAL_OK);
    io.shuffle = FLUVIAL_COMMON;
    double results[2] = {};
    CHECK(fluvial_object_get(&io, last ? "histogram edges=0,10,20" : "histogram edges=0,10,30", 2,
                             results) == FLUVIAL_EINVAL);
    CHECK(message_says("the operator of 'result': got histogram(edges=[0, 10, 20], skipna=false)"));
    CHECK(fluvial_object_get(&io, last ? "std" : "std ddof=0", 1, results) == FLUVIAL_OK);
    CHECK(fluvial_object_get(&io, last ? "std ddof=1" : "std", 1, results) == FLUVIAL_EINVAL);
    CHECK(message_says("ddof=1"));
    int result = 0;
    CHECK(fluvial_object_get_vara_int(&io, last ? MPI_BAND : MPI_BOR, &result) == FLUVIAL_EINVAL);
    CHECK(message_says("got mpi_function(MPI_BAND, int32) on rank"));
    CHECK((last ? fluvial_object_get_vara_int(&io, MPI_SUM, &result)
                : fluvial_object_get_vara_double(&io, MPI_SUM, results)) == FLUVIAL_EINVAL);
    CHECK(message_says("the type of the result: got int32"));
    io.map = &first_of;
    io.functions = last ? "first 2" : "first 1";
    CHECK(fluvial_object_get(&io, "mean", 1, results) == FLUVIAL_EINVAL);
    CHECK(message_says("io->functions: got 'first 2' on rank"));
    io.functions = "first 1";
    CHECK(fluvial_object_get(&io, "mean", 1, results) == FLUVIAL_OK);
    if (last) {
        io.map = nullptr;
    }
    CHECK(fluvial_object_get(&io, "mean", 1, results) == FLUVIAL_EINVAL);
    CHECK(message_says("the operator of 'result': got mean(skipna=false) on rank"));
    CHECK(fluvial_close(file) == FLUVIAL_OK);
}

TEST_CASE("the hint for reproducible results is the same on all ranks, or refused") {
    const SharedFile shared(known_file());
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    const bool last = shared.rank() == shared.ranks() - 1;
    for (const char* other : {"true", "false"}) {
        MPI_Info_set(info, "fluvial_reproducible", last ? "true" : other);
        fluvial_file* file = nullptr;
        REQUIRE(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), info, &file) == FLUVIAL_OK);
        fluvial_object_io io;
        REQUIRE(fluvial_object_io_init(&io, file, "double") == FLUVIAL_OK);
        double result = 0;
        const bool same = std::string(other) == "true";
        CHECK(fluvial_object_get_vara_double(&io, MPI_SUM, &result) ==
              (same ? FLUVIAL_OK : FLUVIAL_EINVAL));
        CHECK((same || message_says("whether the result is to be reproducible")));
        CHECK(fluvial_close(file) == FLUVIAL_OK);
    }
    MPI_Info_set(info, "fluvial_reproducible", "perhaps");
    fluvial_file* file = nullptr;
    CHECK(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), info, &file) == FLUVIAL_EINVAL);
    CHECK(message_says("'perhaps'"));
    MPI_Info_free(&info);
}

TEST_CASE("streams of MPI programs whose operations differ by consumer are refused on every rank") {
    World world(2);
    using Operation = MPIStream_Operation;
    using Options = MPIStream_Options;
    CHECK(attach(world, [](Operation&, Options&, MPI_Datatype&) {}) == MPI_SUCCESS);
    CHECK(attach(world, [](Operation& operation, Options&, MPI_Datatype& result) {
              operation.intermediate_function = &add_long;
              result = MPI_LONG_LONG;
          }) == MPI_ERR_ARG);
    CHECK(error_says("the ranks differ in the elements of stream 1"));
    CHECK(attach(world, [](Operation&, Options& options, MPI_Datatype&) {
              options.functions = "accumulate 2";
          }) == (world.size > 2 ? MPI_ERR_ARG : MPI_SUCCESS));
    if (world.size < 3) {
        return;  // of the only consumer's operation no other rank says anything
    }
    CHECK(error_says("functions 'accumulate 2'"));
    CHECK(attach(world, [](Operation& operation, Options&, MPI_Datatype&) {
              operation.terminal_function = MPI_MAX;
          }) == MPI_ERR_ARG);
    CHECK(error_says("got intermediate MPI_SUM, terminal MPI_MAX on rank"));
    CHECK(attach(world, [](Operation& operation, Options&, MPI_Datatype&) {
              operation.intermediate_function = MPIStream_Elementwise(MPI_MAX);
          }) == MPI_ERR_ARG);
    CHECK(error_says("got intermediate MPI_MAX, terminal MPI_SUM on rank"));
    CHECK(attach(world, [](Operation& operation, Options&, MPI_Datatype&) {
              operation.intermediate_function = &no_sum;
          }) == MPI_ERR_ARG);
    CHECK(error_says("got intermediate a function, terminal MPI_SUM on rank"));
}
