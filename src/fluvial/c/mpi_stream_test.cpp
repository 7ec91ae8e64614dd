// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/c/mpi_stream_fixture.hpp"

using namespace fluvial::c;

namespace {

extern "C" void add_numbers(void* in, void* inout, int* len, MPI_Datatype*) {
    if (*len == 0) {
        *static_cast<double*>(inout) = 0;
    }
    for (int i = 0; i < *len; ++i) {
        *static_cast<double*>(inout) += static_cast<double*>(in)[i];
    }
}

}  // namespace

TEST_CASE("elements of all producers are summed on the consumers") {
    World world(2);
    MPIStream_Operation operation = sum_of_longs();
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    constexpr long count = 20000;
    if (world.producer) {
        for (long i = 0; i < count; ++i) {
            REQUIRE(MPIStream_Send(&i, &stream) == MPI_SUCCESS);
        }
        CHECK(MPIStream_Flush(&stream) == MPI_SUCCESS);
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
        MPIStream_Statistics statistics;
        CHECK(MPIStream_GetStatistics(&statistics, &stream) == MPI_SUCCESS);
        CHECK(statistics.sent_elements == count);
        CHECK(statistics.sent_bytes == count * static_cast<long>(sizeof(long)));
    }
    if (world.consumer) {
        CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
        long sum = -1;
        long long elements = -1;
        CHECK(MPIStream_Result(&sum, &elements, &stream) == MPI_SUCCESS);
        CHECK(sum == world.producers * count * (count - 1) / 2);
        CHECK(elements == world.producers * count);
    } else {
        long sum = -1;
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_ERR_ARG);
        CHECK(error_says("result_on_producers"));
    }
}

TEST_CASE("no call blocks: isend, iterminate, ioperate, test, wait") {
    World world;
    MPIStream_Operation operation = sum_of_longs();
    MPIStream_Options options;
    REQUIRE(MPIStream_Options_init(&options) == MPI_SUCCESS);
    options.result_on_producers = 1;
    MPIStream streams[2];
    for (MPIStream& stream : streams) {
        REQUIRE(MPIStream_AttachWith(&options, MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                     &world.channel) == MPI_SUCCESS);
    }
    std::vector<long> values(3000);
    std::iota(values.begin(), values.end(), 0L);
    if (world.producer) {
        for (const long& value : values) {
            REQUIRE(MPIStream_Isend(&value, &streams[0]) == MPI_SUCCESS);
            REQUIRE(MPIStream_Isend(&value, &streams[1]) == MPI_SUCCESS);
        }
        CHECK(MPIStream_Iterminate(&streams[0]) == MPI_SUCCESS);
        CHECK(MPIStream_Iterminate(&streams[1]) == MPI_SUCCESS);
    }
    int turns = 0;
    for (int ended = 0; ended == 0; ++turns) {
        int flags[2] = {};
        for (int i = 0; i < 2; ++i) {
            if (world.consumer) {
                REQUIRE(MPIStream_Ioperate(&streams[i]) == MPI_SUCCESS);
            }
            REQUIRE(MPIStream_Test(&flags[i], &streams[i]) == MPI_SUCCESS);
        }
        ended = flags[0] * flags[1];
    }
    CHECK(turns > 0);
    for (MPIStream& stream : streams) {
        CHECK(MPIStream_Wait(&stream) == MPI_SUCCESS);
        long sum = -1;
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);  // on producers, too
        CHECK(sum == world.producers * 3000L * 2999 / 2);
    }
}

TEST_CASE("test and wait tell the end to consumers that have not operated") {
    World world;
    MPIStream_Operation operation = sum_of_longs();
    for (const bool waits : {false, true}) {
        CAPTURE(waits);
        MPIStream stream;
        REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                 &world.channel) == MPI_SUCCESS);
        const long value = 3;
        int flag = -1;
        if (world.producer) {
            REQUIRE(MPIStream_Isend(&value, &stream) == MPI_SUCCESS);
            CHECK(MPIStream_Wait(&stream) == MPI_SUCCESS);  // of what was sent, on a consumer, too
        } else {
            REQUIRE(MPIStream_Test(&flag, &stream) == MPI_SUCCESS);
            CHECK(flag == 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (world.producer) {
            REQUIRE(MPIStream_Send(&value, &stream) == MPI_SUCCESS);
            CHECK(MPIStream_Iterminate(&stream) == MPI_SUCCESS);
        }
        if (waits) {
            CHECK(MPIStream_Wait(&stream) == MPI_SUCCESS);
        } else {
            for (flag = 0; flag == 0;) {
                REQUIRE(MPIStream_Test(&flag, &stream) == MPI_SUCCESS);
            }
        }
        MPIStream_Statistics statistics;
        CHECK(MPIStream_GetStatistics(&statistics, &stream) == MPI_SUCCESS);
        CHECK(statistics.elements == (world.consumer ? 2 * world.producers : 0));
    }
}

TEST_CASE("the outer layer of a mesh is streamed out from where it lies") {
    World world;
    const int shape[] = {6, 8}, inner[] = {4, 6}, one[] = {1, 1};
    MPI_Datatype layer;
    // The four sides: two rows and two columns of what lies inside the halo.
    MPI_Datatype sides[4];
    for (int side = 0; side < 4; ++side) {
        int count[] = {inner[0], inner[1]}, start[] = {one[0], one[1]};
        const int axis = side / 2;
        start[axis] = side % 2 == 0 ? 1 : inner[axis];
        count[axis] = 1;
        if (axis == 1) {  // corners once
            count[0] -= 2;
            start[0] += 1;
        }
        MPI_Type_create_subarray(2, shape, count, start, MPI_ORDER_C, MPI_DOUBLE, &sides[side]);
    }
    const int ones[] = {1, 1, 1, 1};
    const MPI_Aint zeros[4] = {};
    MPI_Type_create_struct(4, ones, zeros, sides, &layer);
    MPI_Type_commit(&layer);
    MPIStream_Operation operation = {&add_numbers, MPI_SUM};
    MPIStream stream;
    REQUIRE(MPIStream_Attach(layer, MPI_DOUBLE, MPI_DOUBLE, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    for (MPI_Datatype& type : sides) {
        MPI_Type_free(&type);
    }
    MPI_Type_free(&layer);
    std::vector<double> mesh(6 * 8);
    double expected = 0;
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 8; ++j) {
            mesh[static_cast<std::size_t>(8 * i + j)] = 100 * i + j;
            const bool inside = i >= 1 && i <= 4 && j >= 1 && j <= 6;
            const bool outer = i == 1 || i == 4 || j == 1 || j == 6;
            expected += inside && outer ? 100 * i + j : 0;
        }
    }
    if (world.producer) {
        REQUIRE(MPIStream_Send(mesh.data(), &stream) == MPI_SUCCESS);
        REQUIRE(MPIStream_Isend(mesh.data(), &stream) == MPI_SUCCESS);
        CHECK(MPIStream_Wait(&stream) == MPI_SUCCESS);
        CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
    }
    if (world.consumer) {
        double sum = 0;
        CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);
        CHECK(sum == 2 * expected * world.producers);
    }
}

namespace {

struct Keyed {
    int key;
    int value;
};

int note_keys(const void* elements, long long count, void* inout, void* context) {
    auto* const keys = static_cast<std::set<int>*>(context);
    const auto* keyed = static_cast<const Keyed*>(elements);
    auto* const total = static_cast<int*>(inout);
    if (count == 0) {
        *total = 0;
    }
    for (long long i = 0; i < count; ++i) {
        keys->insert(keyed[i].key);
        *total += keyed[i].value;
    }
    return 0;
}

unsigned long long by_parity(const void* element, void* context) {
    CHECK(*static_cast<int*>(context) == 42);
    return static_cast<unsigned long long>(static_cast<const Keyed*>(element)->key % 2);
}

}  // namespace

TEST_CASE("elements go where an association says, many at once, or written in place") {
    World world(2);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int context = 42;
    for (const int association :
         {MPISTREAM_ROUND_ROBIN, MPISTREAM_MOST_ROOM, MPISTREAM_BY_KEY, MPISTREAM_BY_FUNCTION}) {
        CAPTURE(association);
        std::set<int> keys;
        MPIStream_Options options;
        MPIStream_Options_init(&options);
        options.name = "pairs";
        options.association = association;
        options.key_bytes = sizeof(int);
        options.choose = by_parity;
        options.choose_context = &context;
        options.batch = note_keys;
        options.batch_context = &keys;
        options.buffer_bytes = 64 << 10;
        MPIStream_Operation operation = {nullptr, MPI_SUM};
        MPIStream stream;
        REQUIRE(MPIStream_AttachWith(&options, pair, MPI_INT, MPI_INT, &operation, &stream,
                                     &world.channel) == MPI_SUCCESS);
        std::vector<Keyed> elements;
        for (int i = 0; i < 1000; ++i) {
            elements.push_back({i % 10, 1});
        }
        long long reserved = 0;
        if (world.producer) {
            CHECK(MPIStream_SendMany(elements.data(), 1000, &stream) == MPI_SUCCESS);
            if (association < MPISTREAM_BY_KEY) {
                void* room = nullptr;
                reserved = 3;
                REQUIRE(MPIStream_Reserve(&room, &reserved, &stream) == MPI_SUCCESS);
                std::copy_n(elements.data(), reserved, static_cast<Keyed*>(room));
                CHECK(MPIStream_Send(elements.data(), &stream) == MPI_ERR_ARG);
                CHECK(MPIStream_Commit(reserved, &stream) == MPI_SUCCESS);
            }
            CHECK(MPIStream_Terminate(&stream) == MPI_SUCCESS);
        }
        long long in_place = 0;
        MPI_Allreduce(&reserved, &in_place, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (world.consumer) {
            int total = 0;
            CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
            CHECK(MPIStream_Result(&total, nullptr, &stream) == MPI_SUCCESS);
            CHECK(total == 1000 * world.producers + in_place);
            if (association == MPISTREAM_BY_FUNCTION && world.size > 2) {
                CHECK(keys.size() == 5);
            }
        }
    }
    MPI_Type_free(&pair);
}

namespace {

struct Ended {
    long sum, ends;
};

extern "C" void add_first(void* in, void* inout, int* len, MPI_Datatype*) {
    auto* const total = static_cast<Ended*>(inout);
    *total = *len == 0 ? Ended{0, 0} : Ended{total->sum + *static_cast<long*>(in), total->ends};
}

extern "C" void end_and_add(void* in, void* inout, int* len, MPI_Datatype*) {
    auto* const mine = static_cast<Ended*>(inout);
    if (*len == 0) {
        ++mine->ends;
        return;
    }
    const auto* other = static_cast<const Ended*>(in);
    *mine = {mine->sum + other->sum, mine->ends + other->ends};
}

}  // namespace

TEST_CASE("a terminal function is called once on every consumer, and then combines") {
    World world(3);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    MPIStream_Operation operation = {&add_first, MPI_OP_NULL};
    REQUIRE(MPIStream_Terminal(&end_and_add, &operation.terminal_function, &world.channel) ==
            MPI_SUCCESS);
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, pair, MPI_DATATYPE_NULL, &operation, &stream,
                             &world.channel) == MPI_SUCCESS);
    if (world.producer) {
        const long value = 7;
        MPIStream_Send(&value, &stream);
        MPIStream_Terminate(&stream);
    }
    if (world.consumer) {
        Ended total{};
        CHECK(MPIStream_Operate(&stream) == MPI_SUCCESS);
        CHECK(MPIStream_Result(&total, nullptr, &stream) == MPI_SUCCESS);
        CHECK(total.sum == 7 * world.producers);
        CHECK(total.ends == std::max(world.size - world.producers, 1));
    }
    MPI_Type_free(&pair);
}

TEST_CASE("without a terminal function each consumer keeps its own result") {
    World world(2);
    MPIStream_Operation operation = {&add_long, MPI_OP_NULL};
    MPIStream stream;
    REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream, &world.channel) ==
            MPI_SUCCESS);
    long sum = 0, all = 0;
    if (world.producer) {
        const long one = 1;
        MPIStream_Send(&one, &stream);
        MPIStream_Terminate(&stream);
    }
    if (world.consumer) {
        CHECK(MPIStream_Result(&sum, nullptr, &stream) == MPI_SUCCESS);  // operates, too
    }
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == world.producers);
}

TEST_CASE("channels without a stream's end, and channels to which no rank sends") {
    for (int round = 0; round < 20; ++round) {
        World world(2);
        MPIStream_Operation operation = {MPIStream_Elementwise(MPI_MAX), MPI_MAX};
        MPIStream stream;
        REQUIRE(MPIStream_Attach(MPI_LONG, MPI_LONG, MPI_LONG, &operation, &stream,
                                 &world.channel) == MPI_SUCCESS);
        const long value = world.rank;
        if (world.producer && round % 2 == 0) {
            MPIStream_Send(&value, &stream);
        }
        if (round % 3 == 0) {
            continue;  // FreeChannel ends it
        }
        if (world.producer) {
            MPIStream_Terminate(&stream);
        }
        if (world.consumer) {
            long most = -1;
            const int code = MPIStream_Result(&most, nullptr, &stream);
            CHECK(code == (round % 2 == 0 ? MPI_SUCCESS : MPI_ERR_ARG));
            CHECK(most == (round % 2 == 0 ? world.producers - 1 : -1));
        }
    }
}
