// SPDX-License-Identifier: Apache-2.0
/// Attributes that C says of series, steps and datasets, and the numbers of steps.
#include <climits>
#include <cmath>
#include <string>
#include <vector>

#include "fluvial/c/series_fixture.hpp"

using namespace fluvial::c;

namespace {

/// Puts one number a rank into a step of a stream; whether the queue took the step.
bool put_step(fluvial_writer* writer, const Folder& folder, long long iteration) {
    const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
    const double value = 1;
    int accepted = -1;
    REQUIRE(fluvial_writer_begin_step(writer, 0, iteration, &accepted) == FLUVIAL_OK);
    CHECK(fluvial_writer_put(writer, "m/x", MPI_DOUBLE, 1, offset, count, shape, &value) ==
          FLUVIAL_OK);
    REQUIRE(fluvial_writer_end_step(writer) == FLUVIAL_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    return accepted == 1;
}

void check_text(fluvial_reader* reader, const char* name, const char* wanted) {
    char found[32] = "";
    CHECK(fluvial_reader_get_att_text(reader, FLUVIAL_DATASET, "m/x", name, sizeof found, found) ==
          FLUVIAL_OK);
    CHECK(std::string(found) == wanted);
}

}  // namespace

TEST_CASE("what is said of a dataset in a step that is discarded is in the next one") {
    const Folder folder;
    const Options writing{{"directory", folder.path()},
                          {"readers", "0"},
                          {"queue_steps", "1"},
                          {"full", "discard-newest"}};
    const Options reading{{"directory", folder.path()}, {"stall_timeout", "30"}};
    fluvial_writer* writer = nullptr;
    fluvial_reader* reader = nullptr;
    int more = 0;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, "plate", writing, &writer) == FLUVIAL_OK);
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_GROUP, "m/", "a", "b") == FLUVIAL_EINVAL);
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, "plate", reading, &reader) == FLUVIAL_OK);
    CHECK(put_step(writer, folder, FLUVIAL_NEXT));
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_DATASET, "m/x", "units", "K") == FLUVIAL_OK);
    CHECK_FALSE(put_step(writer, folder, FLUVIAL_NEXT));
    REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    // A reader that leaves makes room in the queue.
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, "plate", reading, &reader) == FLUVIAL_OK);
    CHECK(put_step(writer, folder, 100));
    REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
    check_text(reader, "units", "K");
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
    CHECK(fluvial_writer_close(writer) == FLUVIAL_OK);
}

TEST_CASE("attributes that are said one after the other all stay, in streams and files") {
    const Folder folder;
    for (const std::string& name : {std::string("plate"), folder / "plate%T.nc"}) {
        CAPTURE(name);
        const Options writing{{"directory", folder.path()}, {"readers", "0"}};
        const Options reading{{"directory", folder.path()}};
        fluvial_writer* writer = nullptr;
        fluvial_reader* reader = nullptr;
        REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, name.c_str(), writing, &writer) == FLUVIAL_OK);
        for (const std::string said : {"units", "about", ""}) {
            if (!said.empty()) {
                CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_DATASET, "x", said.c_str(),
                                                  said.c_str()) == FLUVIAL_OK);
            }
            CHECK(put_step_of_file(writer, folder) == FLUVIAL_OK);
        }
        const bool live = name == "plate";
        if (live) {
            REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, name.c_str(), reading, &reader) ==
                    FLUVIAL_OK);
        }
        REQUIRE(fluvial_writer_close(writer) == FLUVIAL_OK);
        if (!live) {
            REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, name.c_str(), reading, &reader) ==
                    FLUVIAL_OK);
        }
        for (int step = 0; step < 3; ++step) {
            int more = 0;
            char text[16];
            REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
            REQUIRE(more == 1);
            const auto ask = [&](const char* said) {
                return fluvial_reader_get_att_text(reader, FLUVIAL_DATASET, "x", said, sizeof text,
                                                   text);
            };
            CHECK(ask("units") == FLUVIAL_OK);
            CHECK(ask("about") == (step == 0 ? FLUVIAL_EINVAL : FLUVIAL_OK));
        }
        CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
    }
}

TEST_CASE("the next iteration is one more than the last, in streams and files") {
    const Folder folder;
    const Options writing{{"directory", folder.path()}, {"readers", "0"}, {"queue_steps", "8"}};
    const Options reading{{"directory", folder.path()}, {"stall_timeout", "30"}};
    fluvial_writer* writer = nullptr;
    fluvial_reader* reader = nullptr;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, "plate", writing, &writer) == FLUVIAL_OK);
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, "plate", reading, &reader) == FLUVIAL_OK);
    for (const long long said :
         {static_cast<long long>(FLUVIAL_NEXT), 100LL, static_cast<long long>(FLUVIAL_NEXT)}) {
        CHECK(put_step(writer, folder, said));
    }
    CHECK(fluvial_writer_close(writer) == FLUVIAL_OK);
    for (const long long wanted : {0, 100, 101}) {
        int more = 0;
        long long iteration = -1;
        REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
        CHECK(fluvial_reader_inq_iteration(reader, &iteration) == FLUVIAL_OK);
        CHECK(iteration == wanted);
    }
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
}

TEST_CASE("no iteration comes after the largest, in streams and files") {
    const Folder folder;
    for (const std::string& name : {std::string("plate"), folder / "plate.nc", folder / "p%T.nc"}) {
        CAPTURE(name);
        const Options writing{{"directory", folder.path()}, {"readers", "0"}};
        const bool live = name == "plate";
        fluvial_writer* writer = nullptr;
        REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, name.c_str(),
                                    live ? static_cast<MPI_Info>(writing) : MPI_INFO_NULL,
                                    &writer) == FLUVIAL_OK);
        REQUIRE(fluvial_writer_begin_step(writer, 0, LLONG_MAX, nullptr) == FLUVIAL_OK);
        const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
        const double value = 1;
        CHECK(fluvial_writer_put(writer, "x", MPI_DOUBLE, 1, offset, count, shape, &value) ==
              FLUVIAL_OK);
        REQUIRE(fluvial_writer_end_step(writer) == FLUVIAL_OK);
        CHECK(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, nullptr) == FLUVIAL_EINVAL);
        CHECK(says("iteration is out of range: got 9223372036854775808"));
        REQUIRE(fluvial_writer_close(writer) == FLUVIAL_OK);
    }
}

TEST_CASE("numbers of attributes are those that were said, or codes") {
    const Folder folder;
    const std::string path = folder / "plate.nc";
    fluvial_writer* writer = nullptr;
    fluvial_reader* reader = nullptr;
    const long long large[] = {9007199254740993, 4};
    const double half = 0.5;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &writer) ==
            FLUVIAL_OK);
    CHECK(fluvial_writer_put_att_longlong(writer, FLUVIAL_SERIES, nullptr, "large", 2, large) ==
          FLUVIAL_OK);
    CHECK(fluvial_writer_put_att_double(writer, FLUVIAL_SERIES, nullptr, "half", 1, &half) ==
          FLUVIAL_OK);
    CHECK(put_step_of_file(writer, folder) == FLUVIAL_OK);
    REQUIRE(fluvial_writer_close(writer) == FLUVIAL_OK);
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &reader) ==
            FLUVIAL_OK);
    long long whole[2] = {};
    double real[2] = {};
    const auto wholes = [&](const char* name, std::size_t count) {
        return fluvial_reader_get_att_longlong(reader, FLUVIAL_SERIES, nullptr, name, count, whole);
    };
    const auto reals = [&](const char* name, std::size_t count) {
        return fluvial_reader_get_att_double(reader, FLUVIAL_SERIES, nullptr, name, count, real);
    };
    CHECK(wholes("large", 2) == FLUVIAL_OK);
    CHECK((whole[0] == large[0] && whole[1] == large[1]));
    CHECK(reals("large", 2) == FLUVIAL_ERANGE);
    CHECK(wholes("large", 1) == FLUVIAL_EINVAL);
    CHECK(reals("half", 1) == FLUVIAL_OK);
    CHECK(real[0] == half);
    CHECK(wholes("half", 1) == FLUVIAL_ERANGE);
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
}

TEST_CASE("elements are rounded to floating-point types, and fit integers or are codes") {
    const Folder folder;
    const std::string path = folder / "plate.nc";
    const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
    const long long odd = 9007199254740993;
    const double real = 1e300, half = 0.5;
    fluvial_writer* writer = nullptr;
    fluvial_reader* reader = nullptr;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &writer) ==
            FLUVIAL_OK);
    REQUIRE(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, nullptr) == FLUVIAL_OK);
    const auto put = [&](const char* name, MPI_Datatype type, const void* value) {
        return fluvial_writer_put(writer, name, type, 1, offset, count, shape, value);
    };
    CHECK(put("odd", MPI_LONG_LONG, &odd) == FLUVIAL_OK);
    CHECK(put("real", MPI_DOUBLE, &real) == FLUVIAL_OK);
    CHECK(put("half", MPI_DOUBLE, &half) == FLUVIAL_OK);
    REQUIRE(fluvial_writer_end_step(writer) == FLUVIAL_OK);
    REQUIRE(fluvial_writer_close(writer) == FLUVIAL_OK);
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &reader) ==
            FLUVIAL_OK);
    int more = 0, whole = 0;
    float single = 0;
    double found = 0;
    REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
    CHECK(fluvial_reader_get(reader, "odd", MPI_DOUBLE, offset, count, &found) == FLUVIAL_OK);
    CHECK(found == 9007199254740992.0);
    CHECK(fluvial_reader_get(reader, "odd", MPI_INT, offset, count, &whole) == FLUVIAL_ERANGE);
    CHECK(fluvial_reader_get(reader, "half", MPI_INT, offset, count, &whole) == FLUVIAL_ERANGE);
    CHECK(fluvial_reader_get(reader, "half", MPI_FLOAT, offset, count, &single) == FLUVIAL_OK);
    CHECK(single == 0.5F);
    CHECK(fluvial_reader_get(reader, "real", MPI_FLOAT, offset, count, &single) == FLUVIAL_ERANGE);
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
}

#ifdef FLUVIAL_HDF5
TEST_CASE("an attribute without a name is refused in each step, not in the first alone") {
    const Folder folder;
    const std::string path = folder / "plate.h5";
    for (const int of : {FLUVIAL_SERIES, FLUVIAL_DATASET}) {
        CAPTURE(of);
        fluvial_writer* writer = nullptr;
        REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &writer) ==
                FLUVIAL_OK);
        CHECK(fluvial_writer_put_att_text(writer, of, of == FLUVIAL_SERIES ? nullptr : "x", "",
                                          "y") == FLUVIAL_OK);
        for (int step = 0; step < 3; ++step) {
            CHECK(put_step_of_file(writer, folder) == FLUVIAL_EINVAL);
            CHECK(says(of == FLUVIAL_SERIES ? "an attribute of the series has no name"
                                            : "an attribute of 'x' has no name"));
        }
        CHECK(fluvial_writer_abort(writer) == FLUVIAL_OK);
    }
}
#endif
