// SPDX-License-Identifier: Apache-2.0
/// What producers ask while a stream runs.
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/c/mpi_stream_fixture.hpp"

using namespace fluvial::c;

TEST_CASE("producers ask for the result so far, blocking and not") {
    World world(2);
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    const long count = 300;
    if (world.producer) {
        long last = 0;
        for (long i = 1; i <= count; ++i) {
            REQUIRE(MPIStream_Send(&i, &stream) == MPI_SUCCESS);
            if (i % 100 != 0) {
                continue;
            }
            long sum = -1;
            int flag = 0;
            REQUIRE(MPIStream_Query(&sum, &flag, &stream) == MPI_SUCCESS);
            long long covered = -1;
            CHECK(MPIStream_Covered(&covered, &stream) == MPI_SUCCESS);
            CHECK(flag == 1);
            CHECK(sum >= last);
            CHECK(covered <= world.producers * count);
            CHECK(sum <= world.producers * count * (count + 1) / 2);
            last = sum;
            flag = 0;
            while (flag == 0) {
                REQUIRE(MPIStream_Iquery(&sum, &flag, &stream) == MPI_SUCCESS);
            }
            CHECK(sum >= last);
            last = sum;
        }
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
    }
    if (world.consumer) {
        long sum = -1;
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);
        CHECK(sum == world.producers * count * (count + 1) / 2);
    }
}

TEST_CASE("without a terminal function the result is the first consumer's own") {
    World world(2);
    for (const bool with_first : {true, false}) {
        CAPTURE(with_first);
        MPIStream_Options options;
        MPIStream_Options_init(&options);
        options.association = MPISTREAM_BY_FUNCTION;
        options.choose = [](const void* element, void*) {
            return static_cast<unsigned long long>(*static_cast<const long*>(element) % 2);
        };
        options.result_on_producers = 1;
        MPIStream_Operation operation = {MPIStream_Elementwise(MPI_MAX), MPI_OP_NULL};
        MPIStream stream;
        REQUIRE(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                     &world.channel) == MPI_SUCCESS);
        const int consumers = world.size - world.producers;
        const bool has_first = with_first || consumers < 2;
        if (world.producer) {
            for (long i = 0; i < 10; ++i) {
                const long element = with_first ? i : 2 * i + 1;
                REQUIRE(MPIStream_Send(&element, &stream) == MPI_SUCCESS);
            }
            REQUIRE(MPIStream_Terminate(&stream) == MPI_SUCCESS);
        }
        const long most = with_first ? (consumers < 2 ? 9 : 8) : 19;
        const long long covered_all = world.producers * (with_first && consumers > 1 ? 5 : 10);
        if (world.producer && !world.consumer) {
            long found = -7;
            long long elements = -7;
            CHECK(MPIStream_Result(&found, &elements, &stream) ==
                  (has_first ? MPI_SUCCESS : MPI_ERR_ARG));
            CHECK(found == (has_first ? most : -7));
            CHECK(elements == (has_first ? covered_all : -7));
            int flag = -7;
            found = -7;
            CHECK(MPIStream_Query(&found, &flag, &stream) == MPI_SUCCESS);
            CHECK(flag == (has_first ? 1 : 0));
            CHECK(found == (has_first ? most : -7));
            CHECK(MPIStream_Covered(&elements, &stream) == MPI_SUCCESS);
            CHECK(elements == (has_first ? covered_all : 0));
        } else {
            CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
        }
    }
}

TEST_CASE("nothing yet is no result") {
    World world;
    MPIStream_Operation operation = {MPIStream_Elementwise(MPI_MAX), MPI_MAX};
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    if (world.producer) {
        long most = -7;
        int flag = 1;
        if (world.rank == 0) {
            CHECK(MPIStream_Query(&most, &flag, &stream) == MPI_SUCCESS);
            CHECK(flag == 0);
            CHECK(most == -7);
        }
        int verdict = 0;
        CHECK(MPIStream_ThresholdColl(&most, &verdict, &stream) == MPI_ERR_ARG);
        CHECK(error_says("nothing that judges"));
    }
}

namespace {

struct Judge {
    int producers;
    double limit;
    MPIStream stream;
};
Judge rule;

extern "C" void judge_sum(void* in, void* inout, int* len, MPI_Datatype*) {
    auto* const state = static_cast<double*>(inout);  // contributions and their sum
    if (*len == 0) {
        state[0] = state[1] = 0;
        return;
    }
    state[0] += 1;
    state[1] += *static_cast<double*>(in);
    if (state[0] == rule.producers || state[1] > rule.limit) {
        int verdict = state[1] > rule.limit ? 1 : 0;
        CHECK(MPIStream_ThresholdColl(nullptr, &verdict, &rule.stream) == MPI_SUCCESS);
    }
}

}  // namespace

TEST_CASE("a threshold collective has one verdict a round, which the intermediate function gives") {
    World world(2);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    MPIStream_Operation operation = {&judge_sum, MPI_OP_NULL};
    rule = {world.producers, 10, {nullptr}};  // contributions may come while others still attach
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_DOUBLE, pair, MPI_DOUBLE, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    std::vector<int> verdicts;
    if (world.producer) {
        for (int round = 0; round < 50; ++round) {
            // Alone over the limit in every fifth round; together in no other.
            const bool over = round % 5 == 0 && world.rank == round % world.producers;
            const double mine = over ? 11 : 9.0 / world.producers;
            int verdict = -1;
            REQUIRE(MPIStream_ThresholdColl(&mine, &verdict, &stream) == MPI_SUCCESS);
            verdicts.push_back(verdict);
        }
        MPIStream_Terminate(&stream);
    }
    if (world.consumer) {
        CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
        int verdict = 1;
        CHECK(MPIStream_ThresholdColl(nullptr, &verdict, &stream) == MPI_ERR_ARG);
        CHECK(error_says("intermediate function"));
    }
    for (std::size_t round = 0; round < verdicts.size(); ++round) {
        CAPTURE(round);
        CHECK(verdicts[round] == (round % 5 == 0 ? 1 : 0));
    }
    MPI_Type_free(&pair);
}
