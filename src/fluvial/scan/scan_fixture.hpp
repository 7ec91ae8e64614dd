// SPDX-License-Identifier: Apache-2.0
/// Datasets in files of their own, in every layout, made from known elements: what the tests of the
/// scan read. No format is involved.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <unistd.h>

#include "fluvial/scan/request.hpp"

namespace fluvial::scan {

/// float64 elements that are whole numbers, so that sums are exact in any order.
struct Elements {
    Coordinates shape;
    std::vector<double> values;

    double at(const Coordinates& where) const {
        return values[static_cast<std::size_t>(linear_index(where, shape))];
    }
};

inline Elements random_elements(const Coordinates& shape, std::mt19937_64& random) {
    Elements elements{shape, std::vector<double>(static_cast<std::size_t>(volume_of(shape)))};
    for (double& value : elements.values) {
        value = static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000);
    }
    return elements;
}

inline double swap_bytes(double value) {
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    std::reverse(bytes, bytes + sizeof value);
    return value;
}

/// A file that is deleted with the object, in a folder of this process. The n-th one has the same
/// name on every rank, as a file that they share.
class ScratchFile {
  public:
    explicit ScratchFile(const std::vector<std::byte>& bytes) {
        static int count = 0;
        const auto folder =
            std::filesystem::temp_directory_path() / text("fluvial_scan_", ::getpid());
        std::filesystem::create_directories(folder);
        path_ = folder / text(count++);
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    ~ScratchFile() {
        std::error_code still_in_use;
        std::filesystem::remove(path_);
        std::filesystem::remove(path_.parent_path(), still_in_use);
    }
    const std::string path() const { return path_; }

  private:
    std::filesystem::path path_;
};

class MadeDataset final : public store::Dataset {
  public:
    MadeDataset(const Elements& elements, store::Layout layout, std::vector<std::byte> bytes,
                std::map<std::vector<Index>, store::StoredChunk> places = {})
        : Dataset({"made", DType::Float64, elements.shape, {}, {}}, std::move(layout)),
          elements_(elements),
          places_(std::move(places)),
          scratch_(bytes),
          file_(scratch_.path()) {}

    const store::InputFile& bytes() const override { return file_; }
    store::StoredChunk locate(const Coordinates& chunk) const override {
        const auto found = places_.find({chunk.begin(), chunk.end()});
        return found == places_.end() ? store::StoredChunk{} : found->second;
    }
    void read(const Region& region, const MutableArrayView& to) const override {
        copy(subview(ArrayView(elements_.values.data(), DType::Float64, elements_.shape), region),
             to);
    }

  private:
    Elements elements_;
    std::map<std::vector<Index>, store::StoredChunk> places_;
    ScratchFile scratch_;
    store::InputFile file_;
};

/// One after the other behind `offset` bytes; `gap` unused bytes behind each index of axis 0, as
/// between the records of netCDF classic.
inline DatasetPtr affine_dataset(const Elements& elements, bool swapped, Index offset, Index gap) {
    Coordinates strides = contiguous_strides(elements.shape, sizeof(double));
    Index bytes = static_cast<Index>(elements.values.size() * sizeof(double));
    if (!strides.empty()) {
        strides[0] += gap;
        bytes += gap * elements.shape[0];
    }
    std::vector<std::byte> file(static_cast<std::size_t>(offset + bytes));
    for (std::size_t i = 0; i < elements.values.size(); ++i) {
        Index place = offset;
        const Coordinates at = coordinates_of(static_cast<Index>(i), elements.shape);
        for (int axis = 0; axis < at.size(); ++axis) {
            place += at[axis] * strides[axis];
        }
        const double value = swapped ? swap_bytes(elements.values[i]) : elements.values[i];
        std::memcpy(file.data() + place, &value, sizeof value);
    }
    return std::make_shared<MadeDataset>(
        elements, store::Affine{static_cast<std::uint64_t>(offset), strides, swapped}, file);
}

/// Chunks in random order, some with gaps between them; those that consist of `fill` alone are not
/// stored.
inline DatasetPtr chunked_dataset(const Elements& elements, const Coordinates& chunk, bool swapped,
                                  double fill, std::mt19937_64& random) {
    Coordinates cells = elements.shape;
    for (int axis = 0; axis < cells.size(); ++axis) {
        cells[axis] = (cells[axis] + chunk[axis] - 1) / chunk[axis];
    }
    std::vector<Index> order(static_cast<std::size_t>(volume_of(cells)));
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<Index>(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::byte> file(7);
    std::map<std::vector<Index>, store::StoredChunk> places;
    for (const Index number : order) {
        const Coordinates cell = coordinates_of(number, cells);
        std::vector<double> values(static_cast<std::size_t>(volume_of(chunk)), -77);
        bool only_fill = true;
        for (std::size_t i = 0; i < values.size(); ++i) {
            Coordinates at = coordinates_of(static_cast<Index>(i), chunk);
            bool inside = true;
            for (int axis = 0; axis < at.size(); ++axis) {
                at[axis] += cell[axis] * chunk[axis];
                inside = inside && at[axis] < elements.shape[axis];
            }
            if (inside) {
                only_fill = only_fill && elements.at(at) == fill;
                values[i] = swapped ? swap_bytes(elements.at(at)) : elements.at(at);
            }
        }
        if (only_fill) {
            continue;
        }
        file.resize(file.size() + random() % 3 * 3000);
        const std::size_t bytes = values.size() * sizeof(double);
        places[{cell.begin(), cell.end()}] = {{file.size(), bytes}};
        const auto* const from = reinterpret_cast<const std::byte*>(values.data());
        file.insert(file.end(), from, from + bytes);
    }
    store::Chunked layout{chunk, {}, swapped, std::vector<std::byte>(sizeof fill)};
    std::memcpy(layout.fill.data(), &fill, sizeof fill);
    return std::make_shared<MadeDataset>(elements, layout, file, places);
}

inline DatasetPtr library_dataset(const Elements& elements, const Coordinates& granule) {
    return std::make_shared<MadeDataset>(elements, store::ByLibrary{"made so", granule},
                                         std::vector<std::byte>(1));
}

inline Coordinates random_extent(const Coordinates& most, std::mt19937_64& random) {
    Coordinates extent = most;
    for (Index& n : extent) {
        n = 1 + static_cast<Index>(random() % static_cast<std::uint64_t>(n));
    }
    return extent;
}

/// Any of the layouts.
inline DatasetPtr random_dataset(const Elements& elements, std::mt19937_64& random) {
    const bool swapped = random() % 2 == 0;
    switch (random() % 4) {
        case 0:
            return affine_dataset(elements, swapped, static_cast<Index>(random() % 100), 0);
        case 1:
            return affine_dataset(elements, swapped, 4, static_cast<Index>(random() % 3 * 4000));
        case 2:
            return chunked_dataset(elements, random_extent(elements.shape, random), swapped, 0,
                                   random);
        default:
            return library_dataset(elements, random() % 2 == 0
                                                 ? Coordinates()
                                                 : random_extent(elements.shape, random));
    }
}

/// With stride, sometimes empty.
inline Selection random_selection(const Coordinates& shape, std::mt19937_64& random) {
    Selection selection{shape, shape, shape};
    for (int axis = 0; axis < shape.size(); ++axis) {
        const auto extent = static_cast<std::uint64_t>(shape[axis]);
        const auto start = random() % extent;
        const auto stride = random() % 3 == 0 ? 1 + random() % 5 : 1;
        const auto most = (extent - start + stride - 1) / stride;
        const auto count = random() % 3 == 0 ? random() % (most + 1) : most;
        selection.start[axis] = static_cast<Index>(start);
        selection.stride[axis] = static_cast<Index>(stride);
        selection.count[axis] = static_cast<Index>(count);
    }
    return selection;
}

/// The selected elements, in row-major order.
inline std::vector<double> selected(const Elements& elements, const Selection& selection) {
    std::vector<double> values;
    for (Index i = 0; i < volume_of(selection.count); ++i) {
        Coordinates at = coordinates_of(i, selection.count);
        for (int axis = 0; axis < at.size(); ++axis) {
            at[axis] = selection.start[axis] + at[axis] * selection.stride[axis];
        }
        values.push_back(elements.at(at));
    }
    return values;
}

}  // namespace fluvial::scan
