// SPDX-License-Identifier: Apache-2.0
/// What tests of series in C have in common.
#pragma once

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/c/series.h"

namespace fluvial::c {

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

/// One number a rank, in a step of its own.
inline int put_step_of_file(fluvial_writer* writer, const Folder& folder) {
    const MPI_Offset offset[] = {folder.rank}, count[] = {1}, shape[] = {folder.ranks};
    const double value = 1;
    REQUIRE(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, nullptr) == FLUVIAL_OK);
    CHECK(fluvial_writer_put(writer, "x", MPI_DOUBLE, 1, offset, count, shape, &value) ==
          FLUVIAL_OK);
    return fluvial_writer_end_step(writer);
}

inline bool says(const char* part) {
    return std::strstr(fluvial_last_message(), part) != nullptr;
}

}  // namespace fluvial::c
