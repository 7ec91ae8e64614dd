// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/c/object_io_fixture.hpp"

using namespace fluvial::c;

namespace {

/// The known file, open; part of it is this rank's.
struct Opened {
    explicit Opened(MPI_Info info = MPI_INFO_NULL) : shared(known_file()) {
        REQUIRE(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), info, &file) == FLUVIAL_OK);
    }
    ~Opened() { CHECK(fluvial_close(file) == FLUVIAL_OK); }

    fluvial_object_io object(const char* name) const {
        fluvial_object_io io;
        REQUIRE(fluvial_object_io_init(&io, file, name) == FLUVIAL_OK);
        return io;
    }
    /// As in Figure 6: an equal share of the steps; the last rank's is larger.
    fluvial_object_io share(const char* name) const {
        fluvial_object_io io = object(name);
        const MPI_Offset each = times / shared.ranks();
        io.start[0] = each * shared.rank();
        io.count[0] = shared.rank() + 1 < shared.ranks() ? each : times - io.start[0];
        return io;
    }

    SharedFile shared;
    fluvial_file* file = nullptr;
};

struct Found {
    double sum = 0, least = 1e300, most = -1e300;
    MPI_Offset least_at = -1, most_at = -1, count = 0;
};

Found loop(std::size_t variable, const MPI_Offset* start, const MPI_Offset* count,
           const MPI_Offset* stride) {
    Found found;
    for_region(variable, start, count, stride, [&](double x, MPI_Offset linear) {
        found.sum += x;
        ++found.count;
        if (x < found.least) {
            found.least = x;
            found.least_at = linear;
        }
        if (x > found.most) {
            found.most = x;
            found.most_at = linear;
        }
    });
    return found;
}

const MPI_Offset zeros[] = {0, 0, 0}, ones[] = {1, 1, 1}, all[] = {times, rows, columns};

MPI_Offset linear(const MPI_Offset* at) {
    return (at[0] * rows + at[1]) * columns + at[2];
}

/// Sum, extrema and bitwise or in the type of `get`.
template <class T>
void check_type(const Opened& opened, int (*get)(fluvial_object_io*, MPI_Op, T*)) {
    for (const std::size_t variable : {Byte, Short, Double, Uint64}) {
        CAPTURE(variable);
        fluvial_object_io io = opened.share(names[variable]);
        const Found found = loop(variable, zeros, all, ones);
        T result{};
        if (found.sum <= static_cast<double>(std::numeric_limits<T>::max())) {
            REQUIRE(get(&io, MPI_SUM, &result) == FLUVIAL_OK);
            CHECK(static_cast<double>(result) == found.sum);
        } else {
            result = 42;
            REQUIRE(get(&io, MPI_SUM, &result) == FLUVIAL_ERANGE);
            CHECK(result == 42);
            CHECK(std::strstr(fluvial_last_message(), "does not fit") != nullptr);
        }
        MPI_Offset where[3] = {};
        io.location = where;
        REQUIRE(get(&io, MPI_MAXLOC, &result) == FLUVIAL_OK);
        CHECK(static_cast<double>(result) == found.most);
        CHECK(linear(where) == found.most_at);
        REQUIRE(get(&io, MPI_MINLOC, &result) == FLUVIAL_OK);
        CHECK(static_cast<double>(result) == found.least);
        CHECK(linear(where) == found.least_at);
        REQUIRE(get(&io, MPI_MIN, &result) == FLUVIAL_OK);
        CHECK(static_cast<double>(result) == found.least);
        REQUIRE(get(&io, MPI_PROD, &result) == FLUVIAL_OK);
        CHECK(result == 0);
        long expected = 0;
        for_region(variable, zeros, all, ones,
                   [&](double x, MPI_Offset) { expected |= static_cast<long>(x); });
        if (std::numeric_limits<T>::is_integer) {
            REQUIRE(get(&io, MPI_BOR, &result) == FLUVIAL_OK);
            CHECK(static_cast<long>(result) == expected);
        } else {
            CHECK(get(&io, MPI_BOR, &result) == FLUVIAL_EINVAL);
        }
    }
}

void in_quadrature(void* in, void* inout, int* length, MPI_Datatype* type) {
    REQUIRE(*type == MPI_FLOAT);
    for (int i = 0; i < *length; ++i) {
        const float a = static_cast<float*>(in)[i], b = static_cast<float*>(inout)[i];
        static_cast<float*>(inout)[i] = std::sqrt(a * a + b * b);
    }
}

void not_commutative(void*, void*, int*, MPI_Datatype*) {}

void difference(const double* const* in, double* out, std::size_t n, void* context) {
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = in[0][i] - in[1][i] + *static_cast<double*>(context);
    }
}

}  // namespace

TEST_CASE("every type and predefined operation finds what a loop finds") {
    Opened opened;
    check_type<float>(opened, fluvial_object_get_vara_float);
    check_type<double>(opened, fluvial_object_get_vara_double);
    check_type<signed char>(opened, fluvial_object_get_vara_schar);
    check_type<unsigned char>(opened, fluvial_object_get_vara_uchar);
    check_type<short>(opened, fluvial_object_get_vara_short);
    check_type<unsigned short>(opened, fluvial_object_get_vara_ushort);
    check_type<int>(opened, fluvial_object_get_vara_int);
    check_type<unsigned int>(opened, fluvial_object_get_vara_uint);
    check_type<long long>(opened, fluvial_object_get_vara_longlong);
    check_type<unsigned long long>(opened, fluvial_object_get_vara_ulonglong);
}

TEST_CASE("a user's MPI_Op sees elements of the type asked for, blocking or not") {
    Opened opened;
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(in_quadrature, 1, &op);
    for (const std::size_t variable : {Float, Short, Double}) {
        double squares = 0;
        for_region(variable, zeros, all, ones, [&](double x, MPI_Offset) { squares += x * x; });
        for (const int block : {1, 0}) {
            fluvial_object_io io = opened.share(names[variable]);
            io.block = block;
            float result = -1;
            REQUIRE(fluvial_object_get_vara_float(&io, op, &result) == FLUVIAL_OK);
            if (block == 0) {
                CHECK(result == -1);
                CHECK(fluvial_object_get_vara_float(&io, op, &result) == FLUVIAL_EINVAL);
                int done = 0;
                while (done == 0) {
                    REQUIRE(fluvial_test(&io, &done) == FLUVIAL_OK);
                }
                CHECK(fluvial_progress(&io) == 1);
                REQUIRE(fluvial_wait(&io) == FLUVIAL_OK);
                REQUIRE(fluvial_wait(&io) == FLUVIAL_OK);
            }
            CHECK(result == doctest::Approx(std::sqrt(squares)));
        }
    }
    MPI_Op_free(&op);
}

TEST_CASE("each rank's own result, with strides, and some ranks without elements") {
    Opened opened;
    fluvial_object_io io = opened.object("float");
    io.shuffle = FLUVIAL_TO_ALL;
    io.start[0] = opened.shared.rank();
    io.stride[0] = 2;
    io.count[0] = 4;
    io.start[2] = 1;
    io.stride[2] = 3;
    io.count[2] = 2;
    double sum = 0;
    REQUIRE(fluvial_object_get_vara_double(&io, MPI_SUM, &sum) == FLUVIAL_OK);
    CHECK(sum == loop(Float, io.start, io.count, io.stride).sum);

    if (opened.shared.rank() == 0) {
        io.count[1] = 0;
    }
    REQUIRE(fluvial_object_get_vara_double(&io, MPI_SUM, &sum) == FLUVIAL_OK);
    CHECK(sum == loop(Float, io.start, io.count, io.stride).sum);
    float least = 0;
    REQUIRE(fluvial_object_get_vara_float(&io, MPI_MIN, &least) == FLUVIAL_OK);
    CHECK(std::isnan(least) == (opened.shared.rank() == 0));
    // What one rank cannot tell is an error on all, and none hangs.
    io.datasets[0] = Int;
    int integer = -1;
    CHECK(fluvial_object_get_vara_int(&io, MPI_MIN, &integer) == FLUVIAL_EINVAL);
    CHECK(std::strstr(fluvial_last_message(), "of no elements") != nullptr);
}

TEST_CASE("kept axes, the root and one request of all ranks") {
    Opened opened;
    for (const int shuffle : {FLUVIAL_TO_ONE, FLUVIAL_COMMON}) {
        fluvial_object_io io = opened.object("double");
        io.shuffle = shuffle;
        io.keep[0] = 1;
        io.root = opened.shared.ranks() - 1;
        if (shuffle == FLUVIAL_TO_ONE) {  // rows apart, the same steps
            const MPI_Offset each = rows / opened.shared.ranks();
            io.start[1] = each * opened.shared.rank();
            io.count[1] =
                opened.shared.rank() + 1 < opened.shared.ranks() ? each : rows - io.start[1];
        } else {
            io.stride[1] = 2;
            io.count[1] = 3;
        }
        std::vector<double> most(times, -1);
        std::vector<MPI_Offset> where(times * 3);
        io.location = where.data();
        REQUIRE(fluvial_object_get_vara_double(&io, MPI_MAXLOC, most.data()) == FLUVIAL_OK);
        for (MPI_Offset t = 0; t < times; ++t) {
            const MPI_Offset start[] = {t, 0, 0};
            const MPI_Offset count[] = {1, shuffle == FLUVIAL_TO_ONE ? rows : 3, columns};
            const MPI_Offset stride[] = {1, shuffle == FLUVIAL_TO_ONE ? 1 : 2, 1};
            const Found found = loop(Double, start, count, stride);
            const bool here = opened.shared.rank() == io.root;
            CHECK(most[static_cast<std::size_t>(t)] == (here ? found.most : -1));
            if (here) {
                CHECK(linear(where.data() + 3 * t) == found.most_at);
            }
        }
        if (opened.shared.rank() != io.root) {
            CHECK(fluvial_object_get_vara_double(&io, MPI_MAX, nullptr) == FLUVIAL_OK);
        } else {
            CHECK(fluvial_object_get_vara_double(&io, MPI_MAX, most.data()) == FLUVIAL_OK);
        }
    }
}

TEST_CASE("an independent object I/O needs no other rank") {
    Opened opened;
    if (opened.shared.rank() == opened.shared.ranks() - 1) {
        fluvial_object_io io = opened.share("int");
        io.mode = FLUVIAL_INDEPENDENT;
        for (const int block : {1, 0}) {
            io.block = block;
            int sum = -1;
            REQUIRE(fluvial_object_get_vara_int(&io, MPI_SUM, &sum) == FLUVIAL_OK);
            REQUIRE(fluvial_wait(&io) == FLUVIAL_OK);
            CHECK(sum == loop(Int, io.start, io.count, io.stride).sum);
            CHECK(io.bytes_sent == 0);
        }
        CHECK(fluvial_object_get_vara_int(&io, MPI_OP_NULL, nullptr) == FLUVIAL_EINVAL);
    }
}

TEST_CASE("operators by name, with options") {
    Opened opened;
    fluvial_object_io io = opened.share("float");
    const Found found = loop(Float, zeros, all, ones);
    double mean = 0;
    REQUIRE(fluvial_object_get(&io, "mean", 1, &mean) == FLUVIAL_OK);
    CHECK(mean == doctest::Approx(found.sum / static_cast<double>(found.count)));
    double counts[3] = {};
    REQUIRE(fluvial_object_get(&io, "histogram edges=0,10,20,1000", 3, counts) == FLUVIAL_OK);
    CHECK(counts[0] + counts[1] + counts[2] == static_cast<double>(found.count));
    double below = 0;
    for_region(Float, zeros, all, ones, [&](double x, MPI_Offset) { below += x < 10 ? 1 : 0; });
    CHECK(counts[0] == below);
    double median = 0;
    REQUIRE(fluvial_object_get(&io, "quantile  q=0.5 skipna=true", 1, &median) == FLUVIAL_OK);
    CHECK(median == doctest::Approx(50).epsilon(0.1));
    CHECK(fluvial_object_get(&io, "histogram edges=0,10,20", 1, counts) == FLUVIAL_EINVAL);
    CHECK(std::strstr(fluvial_last_message(), "room for 1; allowed: 2") != nullptr);
    CHECK(fluvial_object_get(&io, "mean", SIZE_MAX, counts) == FLUVIAL_EINVAL);
    CHECK(std::strstr(fluvial_last_message(), "room for 18446744073709551615;") != nullptr);
    for (const char* wrong : {"average", "mean skipna", "mean wrong=1", ""}) {
        CHECK(fluvial_object_get(&io, wrong, 1, &mean) == FLUVIAL_EINVAL);
    }
    CHECK(fluvial_object_get(&io, nullptr, 1, &mean) == FLUVIAL_EINVAL);
}

TEST_CASE("a function of two datasets, and decoding by the CF conventions") {
    Opened opened;
    fluvial_object_io io = opened.share("double");
    REQUIRE(fluvial_object_io_add(&io, "int") == FLUVIAL_OK);
    double more = 1000;
    io.map = difference;
    io.map_context = &more;
    double most = -1e300;
    MPI_Offset at = 0, where[3];
    for_region(Double, zeros, all, ones, [&](double x, MPI_Offset linear) {
        const double y =
            x - fluvial::store::ClassicFixture::value(Int, static_cast<std::uint64_t>(linear)) +
            1000;
        if (y > most) {
            most = y;
            at = linear;
        }
    });
    io.location = where;
    short found = 0;
    REQUIRE(fluvial_object_get_vara_short(&io, MPI_MAXLOC, &found) == FLUVIAL_OK);
    CHECK(found == most);
    CHECK(linear(where) == at);

    fluvial_object_io packed = opened.share("packed");
    double sum = 0, unpacked = 0, stored = 0;
    for_region(Packed, zeros, all, ones, [&](double x, MPI_Offset) {
        stored += x;
        unpacked += x == 7 ? 0 : x * 0.5 + 100;
    });
    REQUIRE(fluvial_object_get_vara_double(&packed, MPI_SUM, &sum) == FLUVIAL_OK);
    CHECK(sum == stored);
    CHECK(std::string(fluvial_last_warnings()).empty());
    packed.cf = 1;
    REQUIRE(fluvial_object_get_vara_double(&packed, MPI_SUM, &sum) == FLUVIAL_OK);
    CHECK(sum == doctest::Approx(unpacked));
    CHECK(std::strstr(fluvial_last_warnings(), "missing_value") != nullptr);
}

TEST_CASE("hints are followed, and every byte is read once in the job") {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "4096");
    MPI_Info_set(info, "fluvial_threads", "1");
    {
        Opened opened(info);
        fluvial_object_io io = opened.share("float");
        float sum = 0;
        REQUIRE(fluvial_object_get_vara_float(&io, MPI_SUM, &sum) == FLUVIAL_OK);
        long long bytes = io.bytes_read, all_bytes = 0;
        int read = bytes > 0 ? 1 : 0, readers = 0;
        MPI_Allreduce(&bytes, &all_bytes, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&read, &readers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(readers == 1);
        CHECK(all_bytes >= times * rows * columns * 4);
        MPI_Info_set(info, "cb_nodes", "many");
        fluvial_file* other = nullptr;
        CHECK(fluvial_open(MPI_COMM_WORLD, opened.shared.path().c_str(), info, &other) ==
              FLUVIAL_EINVAL);
        CHECK(other == nullptr);
        CHECK(std::strstr(fluvial_last_message(), "'many'") != nullptr);
    }
    MPI_Info_free(&info);
}

TEST_CASE("what goes wrong on one rank is a code on all, with a message") {
    Opened opened;
    const bool last = opened.shared.rank() == opened.shared.ranks() - 1;
    const bool alone = opened.shared.ranks() == 1;
    float result = 0;
    const auto fails = [&](const char* message, auto spoil) {
        CAPTURE(std::string(message));
        fluvial_object_io io = opened.share("float");
        if (last) {
            spoil(io);
        }
        CHECK(fluvial_object_get_vara_float(&io, MPI_SUM, &result) == FLUVIAL_EINVAL);
        CHECK_MESSAGE(std::strstr(fluvial_last_message(), message) != nullptr,
                      std::string(fluvial_last_message()));
    };
    fails("selection", [](auto& io) { io.count[1] = 100; });
    fails("outside", [](auto& io) { io.start[0] = -1; });
    fails("stride", [](auto& io) { io.stride[2] = 0; });
    fails("shuffle", [](auto& io) { io.shuffle = 7; });
    fails("rank", [](auto& io) { io.root = 99; });
    fails("no dataset of this number", [](auto& io) { io.datasets[0] = 77; });
    fails("ndatasets", [](auto& io) { io.ndatasets = 2; });
    fails("leaves nothing", [](auto& io) { io.keep[0] = io.keep[1] = io.keep[2] = 1; });
    fails("no dataset", [&](auto& io) {
        CHECK(fluvial_object_io_init(&io, opened.file, "v99") == FLUVIAL_EINVAL);
    });
    if (!alone) {
        fails("io->root: got 0", [](auto& io) { io.root = 0; });
        fails("io->keep", [](auto& io) { io.keep[1] = 1; });
    }
    fluvial_object_io io = opened.share("float");
    CHECK(fluvial_object_get_vara_float(&io, MPI_SUM, last ? nullptr : &result) == FLUVIAL_EINVAL);
    CHECK(fluvial_object_get_vara_float(&io, MPI_NO_OP, &result) == FLUVIAL_EINVAL);
    CHECK(fluvial_object_get_vara(&io, MPI_SUM, &result, MPI_FLOAT_INT) == FLUVIAL_EINVAL);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(not_commutative, 0, &op);
    CHECK(fluvial_object_get_vara_float(&io, op, &result) == FLUVIAL_EINVAL);
    MPI_Op_free(&op);
    if (!alone) {
        CHECK(fluvial_object_get_vara_float(&io, last ? MPI_MIN : MPI_SUM, &result) ==
              FLUVIAL_EINVAL);
        CHECK(std::strstr(fluvial_last_message(), "got min(") != nullptr);
    }
    CHECK(fluvial_object_get_vara_float(nullptr, MPI_SUM, &result) == FLUVIAL_EINVAL);
    io.block = 0;
    REQUIRE(fluvial_object_get_vara_float(&io, MPI_SUM, &result) == FLUVIAL_OK);
    CHECK(fluvial_close(opened.file) == FLUVIAL_EINVAL);
    CHECK(std::strstr(fluvial_last_message(), "fluvial_wait") != nullptr);
    CHECK(fluvial_wait(&io) == FLUVIAL_OK);
    CHECK(result == loop(Float, zeros, all, ones).sum);
}
