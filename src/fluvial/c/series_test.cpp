// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/series.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

extern "C" {
const char* write_series_in_c(MPI_Comm comm, const char* name, MPI_Info options, MPI_Info reading,
                              fluvial_reader** reader);
const char* read_series_in_c(fluvial_reader* reader, int rows);
}

namespace {

constexpr int rows_each = 3;

/// A folder that all ranks see, of this test alone.
class Folder {
  public:
    Folder() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        long pid = ::getpid();
        MPI_Bcast(&pid, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        path_ = std::filesystem::temp_directory_path() / ("fluvial_c_" + std::to_string(pid));
        if (rank == 0) {
            std::filesystem::create_directory(path_);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~Folder() {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            std::filesystem::remove_all(path_);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const char* name) const { return path_ / name; }
    std::string path() const { return path_; }

    int rank = 0, ranks = 1;

  private:
    std::filesystem::path path_;
};

class Options {
  public:
    Options(std::initializer_list<std::pair<const char*, std::string>> words) {
        MPI_Info_create(&info_);
        for (const auto& [key, value] : words) {
            MPI_Info_set(info_, key, value.c_str());
        }
    }
    ~Options() { MPI_Info_free(&info_); }
    Options(const Options&) = delete;
    Options& operator=(const Options&) = delete;
    operator MPI_Info() const { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

void check_nothing_wrong(const char* wrong) {
    CHECK(std::string(wrong == nullptr ? "nothing" : wrong) == "nothing");
}

/// One number a rank, in a step of its own.
int put_step_of_file(fluvial_writer* writer, const Folder& folder) {
    const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
    const double value = 1;
    REQUIRE(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, nullptr) == FLUVIAL_OK);
    CHECK(fluvial_writer_put(writer, "x", MPI_DOUBLE, 1, offset, count, shape, &value) ==
          FLUVIAL_OK);
    return fluvial_writer_end_step(writer);
}

bool says(const char* part) {
    return std::strstr(fluvial_last_message(), part) != nullptr;
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
