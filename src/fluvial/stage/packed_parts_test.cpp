// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/packed_parts.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr Index chunk = 1000;

/// A step with one dataset of float64, of which rank r has put elements [begins[r], begins[r + 1]).
struct Step {
    explicit Step(const std::vector<Index>& begins) {
        DatasetDescription dataset;
        dataset.name = "x";
        dataset.dtype = DType::Float64;
        dataset.shape = {begins.back()};
        for (std::size_t rank = 0; rank + 1 < begins.size(); ++rank) {
            if (begins[rank] < begins[rank + 1]) {
                dataset.chunks.push_back({{{begins[rank]}, {begins[rank + 1] - begins[rank]}},
                                          static_cast<int>(rank),
                                          {}});
            }
        }
        elements.resize(static_cast<std::size_t>(begins.back()));
        std::iota(elements.begin(), elements.end(), 0.0);
        contents.datasets = {dataset};
        places.begins = {std::nullopt};
        places.packings = {store::Packing{{chunk}, 1}};
        ranks = static_cast<int>(begins.size()) - 1;
    }

    /// How many chunks each rank makes, when all have sent what others need.
    std::vector<std::size_t> made() const {
        std::vector<PackedParts> parts;
        parts.reserve(static_cast<std::size_t>(ranks));
        for (int rank = 0; rank < ranks; ++rank) {
            std::vector<PackedPart> mine;
            for (const Chunk& put : contents.datasets[0].chunks) {
                if (put.rank == rank) {
                    mine.push_back({0, put.region,
                                    ArrayView(elements.data() + put.region.offset[0],
                                              DType::Float64, put.region.extent)});
                }
            }
            parts.emplace_back(contents, places, mine, rank, ranks);
        }
        for (auto& of_rank : parts) {
            for (auto& [to, message] : of_rank.messages()) {
                parts[static_cast<std::size_t>(to)].take(std::move(message));
            }
        }
        std::vector<std::size_t> found;
        std::vector<Index> offsets;
        for (auto& of_rank : parts) {
            const auto packed = of_rank.pack();
            found.push_back(packed.size());
            for (const auto& one : packed) {
                offsets.push_back(one.offset[0]);
            }
        }
        std::ranges::sort(offsets);
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            CHECK(offsets[i] == static_cast<Index>(i) * chunk);  // each chunk once
        }
        return found;
    }

    store::StepContents contents;
    store::Places places;
    std::vector<double> elements;
    int ranks;
};

using Made = std::vector<std::size_t>;

}  // namespace

TEST_CASE("the rank that has chunks makes them") {
    CHECK(Step({0, 2000, 4000, 6000}).made() == Made{2, 2, 2});
    CHECK(Step({0, 2000, 4000, 5500}).made() == Made{2, 2, 2});
    CHECK(Step({0, 2100, 3900, 6000}).made() == Made{2, 2, 2});
}

TEST_CASE("ranks that have little or nothing make a share of what others have") {
    CHECK(Step({0, 9000, 9000, 9000}).made() == Made{3, 3, 3});
    CHECK(Step({0, 0, 9000, 9000}).made() == Made{3, 3, 3});
    CHECK(Step({0, 10000, 10000, 10000}).made() == Made{4, 3, 3});
    CHECK(Step({0, 100, 200, 8000, 8000}).made() == Made{2, 2, 2, 2});
    CHECK(Step({0, 1000, 1000, 1000}).made() == Made{1, 0, 0});
}
