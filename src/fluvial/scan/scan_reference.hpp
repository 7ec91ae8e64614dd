// SPDX-License-Identifier: Apache-2.0
/// What a scan ought to find: the same operators on the same elements in memory.
#pragma once

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/compute/reduction.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/scan_fixture.hpp"

namespace fluvial::scan {

/// The same on every rank.
struct World {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    std::mt19937_64 random;
    Index seed;

    World() {
        seed = comm.max(static_cast<Index>(test_seed(2012)));
        random.seed(static_cast<std::uint64_t>(seed));
    }
    ~World() { comm.close(); }
};

inline std::vector<compute::Reduction::Entry> some_operators() {
    return {{"sum", compute::make_operator("sum"), {}},
            {"min", compute::make_operator("min"), {}},
            {"count", compute::make_operator("count"), {}},
            {"argmax", compute::make_operator("argmax"), {}}};
}

/// What the operators make of the selected elements when they are all in memory. Coordinates stay
/// in the selection's own index space where it has a stride.
inline std::map<std::string, compute::Result> in_memory(
    const Elements& elements, const Selection& selection, const std::vector<int>& over,
    const std::vector<std::uint8_t>* mask = nullptr, const std::vector<double>* weights = nullptr) {
    const Region region = selection.is_dense() ? selection.bounds() : whole(selection.count);
    compute::Reduction reduction(some_operators(),
                                 compute::make_domain(region, over, {DType::Float64}));
    const std::vector<double> values = selected(elements, selection);
    const ArrayView view(values.data(), DType::Float64, selection.count);
    ArrayView mask_view, weight_view;
    compute::Piece piece{{&view, 1}, region, nullptr, nullptr};
    if (mask != nullptr) {
        mask_view = ArrayView(mask->data(), DType::UInt8, selection.count);
        piece.mask = &mask_view;
    }
    if (weights != nullptr) {
        weight_view = ArrayView(weights->data(), DType::Float64, selection.count);
        piece.weights = &weight_view;
    }
    reduction.absorb(piece);
    auto results = reduction.finish();
    if (!selection.is_dense()) {
        compute::Array& coordinates = results.at("argmax").at("coordinates");
        const auto ndim = static_cast<std::size_t>(selection.ndim());
        for (std::size_t i = 0; i < coordinates.bytes.size() / sizeof(Index); ++i) {
            Index& at = coordinates.as<Index>()[i];
            const int axis = static_cast<int>(i % ndim);
            at = at < 0 ? at : selection.start[axis] + at * selection.stride[axis];
        }
    }
    return results;
}

inline void check_equal(const std::map<std::string, compute::Result>& a,
                        const std::map<std::string, compute::Result>& b) {
    REQUIRE(a.size() == b.size());
    for (const auto& of_name : a) {
        const std::string& name = of_name.first;
        for (const auto& of_part : of_name.second) {
            const std::string& part = of_part.first;
            const compute::Array& array = of_part.second;
            CAPTURE(name);
            CAPTURE(part);
            const compute::Array& other = b.at(name).at(part);
            CHECK(array.shape == other.shape);
            CHECK(array.bytes == other.bytes);
        }
    }
}

}  // namespace fluvial::scan
