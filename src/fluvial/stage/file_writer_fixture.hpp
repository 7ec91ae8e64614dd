// SPDX-License-Identifier: Apache-2.0
/// What tests of series in files share: a folder, and what is in a file.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/store/file.hpp"

namespace fluvial::stage {

/// One for all ranks; gone with this object.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "fluvial_file_writer_XXXXXX");
        if (world_rank() == 0) {
            REQUIRE(::mkdtemp(name.data()) != nullptr);
        }
        const Bytes bytes = world().bcast(std::as_bytes(std::span(name)), 0);
        path_ = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        world().barrier();
        if (world_rank() == 0) {
            std::filesystem::remove_all(path_);
        }
        world().barrier();
    }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            found.push_back(entry.path().filename().string());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    std::string path_;
};

/// This rank's part of all elements, cut along an axis.
inline Region part_of(const Coordinates& shape, int axis) {
    Region mine = whole(shape);
    const Index length = shape[axis], ranks = world_size(), rank = world_rank();
    mine.offset[axis] = length * rank / ranks;
    mine.extent[axis] = length * (rank + 1) / ranks - mine.offset[axis];
    return mine;
}

template <class T = double>
inline std::vector<T> all_of(const store::File& file, const std::string& name) {
    const auto dataset = file.dataset(name);
    std::vector<T> values(static_cast<std::size_t>(volume_of(dataset->shape())));
    dataset->read(whole(dataset->shape()),
                  {reinterpret_cast<std::byte*>(values.data()), dataset->dtype(), dataset->shape(),
                   contiguous_strides(dataset->shape(), sizeof(T))});
    return values;
}

}  // namespace fluvial::stage
