// SPDX-License-Identifier: Apache-2.0
// The ranks of a job write a field of float64 into one file of HDF5, step after step, in one of
// several ways. Prints one line of JSON: seconds of each step but the first, which meets memory
// that nobody has touched.
//
//     writing WAY STEPS ELEMENTS FOLDER
//
// | way        | what it does                                                                     |
// |------------|----------------------------------------------------------------------------------|
// | bare       | each rank writes its part at its offset by pwrite: the limit without compression |
// | plain      | Fluvial                                                                          |
// | deflate    | each rank shuffles and deflates its chunks and writes them by pwrite: the limit  |
// | packed     | Fluvial with "gzip:1"                                                            |
// | packed-one | the same, of data that all lies on the first rank                                |
// | library    | the ranks send all to the first one, which writes by libhdf5, not compressed     |
// | library-gz | the same through libhdf5's own filters shuffle and deflate at level 1            |
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <unistd.h>

#include "fluvial/stage.hpp"
#include "fluvial/store/chunk_packer.hpp"

using namespace fluvial;

namespace {

constexpr Index chunk = (4 << 20) / 8;  // elements; what Fluvial takes

/// A wave of three digits behind the point, as simulations round what they write.
std::vector<double> wave(const Region& mine) {
    std::vector<double> values(static_cast<std::size_t>(mine.extent[0]));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<double>(mine.offset[0] + static_cast<Index>(i));
        values[i] = std::round(1e5 * std::sin(1e-3 * at) * (1 + 1e-7 * at)) / 1e3;
    }
    return values;
}

void die(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int opened(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
    if (file < 0) {
        die(("cannot open " + path).c_str());
    }
    return file;
}

void write_all(int file, const std::byte* data, std::size_t bytes, std::size_t at) {
    while (bytes > 0) {
        const ssize_t done =
            ::pwrite(file, data, std::min<std::size_t>(bytes, 1 << 30), static_cast<off_t>(at));
        if (done <= 0) {
            die("pwrite failed");
        }
        data += done;
        bytes -= static_cast<std::size_t>(done);
        at += static_cast<std::size_t>(done);
    }
}

/// One of the ways, with the file that it has open.
class Job {
  public:
    Job(mpi::Comm& comm, std::string way, Index elements, const std::string& path)
        : comm_(comm),
          way_(std::move(way)),
          elements_(elements),
          parts_(split(whole({elements}), comm.size())),
          mine_(parts_[static_cast<std::size_t>(comm.rank())]) {
        if (way_ == "packed-one") {
            mine_ = comm.rank() == 0 ? whole({elements}) : Region{{elements}, {0}};
        }
        values_ = wave(mine_);
        if (way_ == "bare" || way_ == "deflate") {
            file_ = opened(path);
        } else if (way_ == "plain" || way_.starts_with("packed")) {
            stage::SeriesWriterOptions options;
            options.compression = way_ == "plain" ? "none" : "gzip:1";
            writer_.emplace(path, comm, options);
        } else if (comm.rank() == 0) {
            all_.resize(static_cast<std::size_t>(elements));
            library_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        }
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job() {
        if (file_ >= 0) {
            ::close(file_);
        }
        if (library_ >= 0) {
            H5Fclose(library_);
        }
        if (writer_) {
            writer_->close();
        }
    }

    void write(int step) {
        if (way_ == "bare") {
            write_all(file_, bytes(), 8 * values_.size(), place(step, 0));
        } else if (way_ == "deflate") {
            deflate(step);
        } else if (writer_) {
            fluvial();
        } else {
            library(step);
        }
    }

  private:
    const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(values_.data()); }
    std::size_t place(int step, Index at) const {
        return 8 * static_cast<std::size_t>(step * elements_ + mine_.offset[0] + at);
    }

    void deflate(int step) {
        for (Index at = 0; at < mine_.extent[0]; at += chunk) {
            const auto count = static_cast<std::size_t>(std::min(chunk, mine_.extent[0] - at));
            const auto packed = packer_.pack({bytes() + 8 * at, 8 * count}, 8);
            write_all(file_, packed.bytes.data(), packed.bytes.size(), place(step, at));
        }
    }

    void fluvial() {
        stage::SeriesWriteStep step = writer_->begin_step();
        if (!values_.empty()) {
            step.put("x", ArrayView(values_.data(), DType::Float64, mine_.extent), mine_.offset,
                     {elements_});
        }
        step.end();
    }

    void library(int step) {
        if (comm_.rank() > 0) {
            MPI_Send(values_.data(), static_cast<int>(values_.size()), MPI_DOUBLE, 0, 0,
                     MPI_COMM_WORLD);
            return;
        }
        std::copy(values_.begin(), values_.end(), all_.begin());
        for (int rank = 1; rank < comm_.size(); ++rank) {
            const Region& part = parts_[static_cast<std::size_t>(rank)];
            MPI_Recv(all_.data() + part.offset[0], static_cast<int>(part.extent[0]), MPI_DOUBLE,
                     rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        write_by_library("x" + std::to_string(step));
    }

    void write_by_library(const std::string& name) {
        const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
        if (way_ == "library-gz") {
            const auto extent = static_cast<hsize_t>(std::min(chunk, elements_));
            H5Pset_chunk(properties, 1, &extent);
            H5Pset_shuffle(properties);
            H5Pset_deflate(properties, 1);
        }
        const auto extent = static_cast<hsize_t>(elements_);
        const hid_t space = H5Screate_simple(1, &extent, nullptr);
        const hid_t dataset = H5Dcreate2(library_, name.c_str(), H5T_NATIVE_DOUBLE, space,
                                         H5P_DEFAULT, properties, H5P_DEFAULT);
        if (H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all_.data()) < 0 ||
            H5Dclose(dataset) < 0 || H5Fflush(library_, H5F_SCOPE_GLOBAL) < 0) {
            die("libhdf5 cannot write");
        }
        H5Sclose(space);
        H5Pclose(properties);
    }

    mpi::Comm& comm_;
    std::string way_;
    Index elements_;
    std::vector<Region> parts_;
    Region mine_;
    std::vector<double> values_, all_;
    int file_ = -1;
    hid_t library_ = -1;
    std::optional<stage::SeriesWriter> writer_;
    store::ChunkPacker packer_{1};
};

}  // namespace

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    if (argc != 5) {
        die("usage: writing WAY STEPS ELEMENTS FOLDER");
    }
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const std::string path = std::string(argv[4]) + "/written.h5";
    std::vector<double> seconds;
    {
        Job job(comm, argv[1], std::atoll(argv[3]), path);
        for (int step = 0; step <= std::atoi(argv[2]); ++step) {
            comm.barrier();
            const auto begin = std::chrono::steady_clock::now();
            job.write(step);
            comm.barrier();
            const auto end = std::chrono::steady_clock::now();
            if (step > 0) {
                seconds.push_back(std::chrono::duration<double>(end - begin).count());
            }
        }
    }
    if (comm.rank() == 0) {
        std::printf("{\"seconds\": [");
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            std::printf("%s%.6f", i > 0 ? ", " : "", seconds[i]);
        }
        std::printf("]}\n");
        ::unlink(path.c_str());
    }
    comm.close();
}
