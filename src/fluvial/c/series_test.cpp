// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/series.h"

#include <cmath>
#include <string>
#include <vector>

#include "fluvial/c/series_fixture.hpp"

using namespace fluvial::c;

extern "C" {
const char* write_series_in_c(MPI_Comm comm, const char* name, MPI_Info options, MPI_Info reading,
                              fluvial_reader** reader);
const char* read_series_in_c(fluvial_reader* reader, int rows);
}

namespace {

constexpr int rows_each = 3;

void check_nothing_wrong(const char* wrong) {
    CHECK(std::string(wrong == nullptr ? "nothing" : wrong) == "nothing");
}

}  // namespace

TEST_CASE("what C99 writes into a stream it reads there") {
    const Folder folder;
    const Options writing{{"directory", folder.path()}, {"readers", "0"}, {"queue_steps", "8"}};
    const Options reading{{"directory", folder.path()}, {"stall_timeout", "30"}};
    fluvial_reader* reader = nullptr;
    check_nothing_wrong(write_series_in_c(MPI_COMM_WORLD, "plate", writing, reading, &reader));
    check_nothing_wrong(read_series_in_c(reader, folder.ranks * rows_each));
}

#ifdef FLUVIAL_HDF5
TEST_CASE("what C99 writes into files of openPMD it reads there") {
    const Folder folder;
    for (const char* name : {"plate.h5", "plate%T.h5", "packed.h5"}) {
        CAPTURE(name);
        const Options writing{
            {"compression", std::strcmp(name, "packed.h5") == 0 ? "gzip:1" : "none"}};
        const std::string path = folder / name;
        check_nothing_wrong(
            write_series_in_c(MPI_COMM_WORLD, path.c_str(), writing, MPI_INFO_NULL, nullptr));
        fluvial_reader* reader = nullptr;
        REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &reader) ==
                FLUVIAL_OK);
        check_nothing_wrong(read_series_in_c(reader, folder.ranks * rows_each));
    }
}
#endif

TEST_CASE("records of netCDF come without the axis of time") {
    const Folder folder;
    const std::string path = folder / "plate.nc";
    fluvial_writer* writer = nullptr;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &writer) ==
            FLUVIAL_OK);
    const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
    for (int step = 0; step < 3; ++step) {
        const float value = static_cast<float>(10 * step + folder.rank);
        REQUIRE(fluvial_writer_begin_step(writer, step, FLUVIAL_NEXT, nullptr) == FLUVIAL_OK);
        CHECK(fluvial_writer_put(writer, "t2m", MPI_FLOAT, 1, offset, count, shape, &value) ==
              FLUVIAL_OK);
        REQUIRE(fluvial_writer_end_step(writer) == FLUVIAL_OK);
    }
    REQUIRE(fluvial_writer_close(writer) == FLUVIAL_OK);
    fluvial_reader* reader = nullptr;
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &reader) ==
            FLUVIAL_OK);
    for (int step = 0; step < 3; ++step) {
        int more = 0, ndims = 0;
        double last = 0, sum = 0;
        MPI_Offset found[2] = {};
        REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
        REQUIRE(more == 1);
        double time = -1;
        CHECK(fluvial_reader_inq_time(reader, &time) == FLUVIAL_OK);
        CHECK(time == step);
        CHECK(fluvial_reader_inq_ndims(reader, "t2m", &ndims) == FLUVIAL_OK);
        CHECK(fluvial_reader_inq_shape(reader, "t2m", found) == FLUVIAL_OK);
        CHECK((ndims == 1 && found[0] == folder.ranks));
        const MPI_Offset start[] = {folder.ranks - 1};
        CHECK(fluvial_reader_get(reader, "t2m", MPI_DOUBLE, start, count, &last) == FLUVIAL_OK);
        CHECK(last == 10 * step + folder.ranks - 1);
        CHECK(fluvial_reader_get(reader, "t2m", MPI_DOUBLE, shape, count, &last) == FLUVIAL_EINVAL);
        CHECK(fluvial_reader_reduce(reader, "t2m", "sum", 1, &sum) == FLUVIAL_OK);
        CHECK(sum == 10 * step * folder.ranks + folder.ranks * (folder.ranks - 1) / 2);
        MPI_Offset place[2] = {-1, -1};
        CHECK(fluvial_reader_find(reader, "t2m", "argmax", &sum, place) == FLUVIAL_OK);
        CHECK(fluvial_reader_find(reader, "t2m", "argmax", &sum, nullptr) == FLUVIAL_EINVAL);
        CHECK(std::string(fluvial_last_message()).find("location") != std::string::npos);
        CHECK(sum == last);
        CHECK((place[0] == folder.ranks - 1 && place[1] == -1));
    }
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
}

TEST_CASE("wrong words are codes on all ranks, and say what is allowed") {
    const Folder folder;
    fluvial_writer* writer = nullptr;
    fluvial_reader* reader = nullptr;
    const std::string path = folder / "plate.nc";
    const Options slip{{"queue_step", "3"}};
    CHECK(fluvial_writer_open(MPI_COMM_WORLD, "plate", slip, &writer) == FLUVIAL_EINVAL);
    CHECK(says("Did you mean 'queue_steps'?"));
    const Options word{{"queue_steps", "many"}};
    CHECK(fluvial_writer_open(MPI_COMM_WORLD, "plate", word, &writer) == FLUVIAL_EINVAL);
    CHECK(says("option queue_steps: "));
    const Options policy{{"full", "throw-away"}};
    CHECK(fluvial_writer_open(MPI_COMM_WORLD, "plate", policy, &writer) == FLUVIAL_EINVAL);
    CHECK(says("discard-oldest"));
    CHECK(fluvial_writer_open(MPI_COMM_WORLD, "plate.zarr", MPI_INFO_NULL, &writer) ==
          FLUVIAL_EINVAL);
    CHECK(writer == nullptr);
    const char* const some = folder.rank == 0 ? nullptr : path.c_str();
    CHECK(fluvial_writer_open(MPI_COMM_WORLD, some, MPI_INFO_NULL, &writer) == FLUVIAL_EINVAL);
    CHECK(fluvial_writer_open(MPI_COMM_NULL, "plate", MPI_INFO_NULL, &writer) == FLUVIAL_EINVAL);
    const Options none{{"directory", folder.path()}, {"rendezvous_timeout", "0.1"}};
    CHECK(fluvial_reader_open(MPI_COMM_WORLD, "plate", none, &reader) == FLUVIAL_ETIMEOUT);
    CHECK(fluvial_reader_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &reader) ==
          FLUVIAL_ESYSTEM);
    CHECK(reader == nullptr);
    CHECK(fluvial_writer_close(nullptr) == FLUVIAL_OK);
    CHECK(fluvial_writer_abort(nullptr) == FLUVIAL_OK);
    CHECK(fluvial_reader_close(nullptr) == FLUVIAL_OK);
    CHECK(fluvial_writer_end_step(nullptr) == FLUVIAL_EINVAL);
    CHECK(fluvial_reader_next(nullptr, nullptr) == FLUVIAL_EINVAL);
}

TEST_CASE("wrong parts and attributes are codes, and the step goes on") {
    const Folder folder;
    const std::string path = folder / "plate.nc";
    fluvial_writer* writer = nullptr;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, path.c_str(), MPI_INFO_NULL, &writer) ==
            FLUVIAL_OK);
    const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
    const MPI_Offset negative[] = {-1};
    const double value = 1;
    const auto put = [&](int ndims, const MPI_Offset* from, const MPI_Offset* extent,
                         const void* data, MPI_Datatype type = MPI_DOUBLE) {
        return fluvial_writer_put(writer, "x", type, ndims, from, extent, shape, data);
    };
    CHECK(put(1, offset, count, &value) == FLUVIAL_EINVAL);
    CHECK(says("fluvial_writer_begin_step"));
    CHECK(fluvial_writer_begin_step(writer, 0, -2, nullptr) == FLUVIAL_EINVAL);
    CHECK(fluvial_writer_put_att_text(writer, 9, nullptr, "a", "b") == FLUVIAL_EINVAL);
    const double one = 1;
    CHECK(fluvial_writer_put_att_double(writer, FLUVIAL_SERIES, nullptr, "a", SIZE_MAX, &one) ==
          FLUVIAL_EINVAL);
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_GROUP, nullptr, "a", "b") == FLUVIAL_EINVAL);
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_SERIES, "x", "a", "b") == FLUVIAL_EINVAL);
    REQUIRE(fluvial_writer_begin_step(writer, std::nan(""), FLUVIAL_NEXT, nullptr) == FLUVIAL_OK);
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_STEP, nullptr, "a", "b") == FLUVIAL_EINVAL);
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_SERIES, nullptr, "a", "b") == FLUVIAL_EINVAL);
    CHECK(put(17, offset, count, &value) == FLUVIAL_EINVAL);
    CHECK(put(-1, offset, count, &value) == FLUVIAL_EINVAL);
    CHECK(put(1, nullptr, count, &value) == FLUVIAL_EINVAL);
    CHECK(put(1, negative, count, &value) == FLUVIAL_EINVAL);
    CHECK(put(1, offset, negative, &value) == FLUVIAL_EINVAL);
    CHECK(put(1, offset, count, nullptr) == FLUVIAL_EINVAL);
    CHECK(put(1, offset, count, &value, MPI_PACKED) == FLUVIAL_EINVAL);
    CHECK(put(1, offset, count, &value) == FLUVIAL_OK);
    CHECK(fluvial_writer_end_step(writer) == FLUVIAL_OK);
    CHECK(fluvial_writer_put_att_text(writer, FLUVIAL_SERIES, nullptr, "late", "b") ==
          FLUVIAL_EINVAL);
    CHECK(fluvial_writer_close(writer) == FLUVIAL_OK);
}

TEST_CASE("a reduction that ranks mean differently is an error on all of them") {
    const Folder folder;
    if (folder.ranks == 1) {
        return;
    }
    const Options writing{{"directory", folder.path()}, {"readers", "0"}, {"queue_steps", "8"}};
    const Options reading{{"directory", folder.path()}, {"stall_timeout", "30"}};
    fluvial_reader* reader = nullptr;
    check_nothing_wrong(write_series_in_c(MPI_COMM_WORLD, "plate", writing, reading, &reader));
    int more = 0;
    double result = 0;
    REQUIRE(fluvial_reader_next(reader, &more) == FLUVIAL_OK);
    const char* const dataset = folder.rank == 0 ? "meshes/T" : "meshes/n";
    CHECK(fluvial_reader_reduce(reader, dataset, "mean", 1, &result) == FLUVIAL_EINVAL);
    CHECK(says("the dataset"));
    const char* const op = folder.rank == 0 ? "mean" : "max";
    CHECK(fluvial_reader_reduce(reader, "meshes/T", op, 1, &result) == FLUVIAL_EINVAL);
    CHECK(fluvial_reader_reduce(reader, "meshes/T", "max", 1, &result) == FLUVIAL_OK);
    CHECK(result == folder.ranks * rows_each * 5 - 1);
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
}

TEST_CASE("a writer that gives up is an error to its reader") {
    const Folder folder;
    const Options writing{{"directory", folder.path()}, {"readers", "0"}};
    const Options reading{{"directory", folder.path()}, {"stall_timeout", "30"}};
    fluvial_writer* writer = nullptr;
    fluvial_reader* reader = nullptr;
    REQUIRE(fluvial_writer_open(MPI_COMM_WORLD, "plate", writing, &writer) == FLUVIAL_OK);
    REQUIRE(fluvial_reader_open(MPI_COMM_WORLD, "plate", reading, &reader) == FLUVIAL_OK);
    REQUIRE(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, nullptr) == FLUVIAL_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(fluvial_writer_abort(writer) == FLUVIAL_OK);
    int more = 1;
    CHECK(fluvial_reader_next(reader, &more) == FLUVIAL_EPEER);
    CHECK(more == 0);
    CHECK(fluvial_reader_close(reader) == FLUVIAL_OK);
}
