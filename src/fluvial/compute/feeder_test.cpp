// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/compute/reduction.hpp"
#include "fluvial/compute/registry.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

/// What all these operators together say of an array cut into two pieces along the first axis.
std::map<std::string, Result> reduced(const ArrayView& view, const std::vector<int>& over,
                                      bool skipna) {
    const std::vector<std::string> names = {"sum", "min", "max", "mean", "variance", "argmax"};
    std::vector<Reduction::Entry> entries;
    for (std::size_t count : {std::size_t{4}, names.size()}) {  // summaries alone; with values too
        for (std::size_t i = 0; i < count; ++i) {
            entries.push_back({text(names[i], " of ", count),
                               make_operator(names[i], {{"skipna", skipna != (count == 4)}}),
                               {}});
        }
    }
    entries.push_back({"histogram",
                       make_operator("histogram", {{"edges", std::vector<double>{-9, 0, 2, 7}}}),
                       {}});
    Reduction reduction(entries, make_domain(whole(view.extent), over, {view.dtype}));
    for (const Region& part : split(whole(view.extent), 2)) {
        const ArrayView piece = subview(view, part);
        reduction.absorb({{&piece, 1}, part});
    }
    return reduction.finish();
}

}  // namespace

TEST_CASE_TEMPLATE("large swapped arrays give the same bits as native ones", T, std::int16_t,
                   std::int32_t, std::uint64_t, float, double) {
    const Coordinates shape = {70, 1300};
    std::mt19937 random(7);
    std::vector<T> x(static_cast<std::size_t>(volume_of(shape)));
    for (const bool nan : {false, true}) {
        for (T& value : x) {
            value = static_cast<T>(static_cast<double>(random()) * 1e-8);
        }
        if constexpr (std::is_floating_point_v<T>) {
            for (std::size_t i = 40000; nan && i < x.size(); i += 17011) {
                x[i] = std::numeric_limits<T>::quiet_NaN();
            }
        }
        // As in a file, elements of 8 bytes may be aligned to 4 only.
        std::vector<std::byte> near(x.size() * sizeof(T) + 4), far(near.size());
        std::byte* const native = near.data() + 4;
        std::byte* const swapped = far.data() + 4;
        std::memcpy(native, x.data(), x.size() * sizeof(T));
        for (std::size_t i = 0; i < x.size() * sizeof(T); ++i) {
            swapped[i] = native[i ^ (sizeof(T) - 1)];
        }
        const ArrayView one(native, dtype_of<T>(), shape);
        ArrayView two(swapped, dtype_of<T>(), shape);
        two.swapped = true;
        for (const std::vector<int>& over : std::vector<std::vector<int>>{{0, 1}, {0}, {1}}) {
            for (const bool skipna : {false, true}) {
                const auto expected = reduced(one, over, skipna),
                           found = reduced(two, over, skipna);
                for (const auto& result : expected) {
                    const std::string& name = result.first;
                    CAPTURE(name);
                    CAPTURE(over.size());
                    CHECK(found.at(name).at("value").bytes == result.second.at("value").bytes);
                }
            }
        }
    }
}

namespace {

/// The same elements behind each other in the other byte order, at an address that is 4 beyond a
/// multiple of 8, or odd.
ArrayView turned(const ArrayView& view, std::vector<std::byte>& buffer, std::size_t offset) {
    const std::size_t item = size_of(view.dtype);
    buffer.resize(static_cast<std::size_t>(view.size()) * item + 8);
    std::byte* const data = buffer.data() + offset;
    copy(view, {data, view.dtype, view.extent, contiguous_strides(view.extent, item)});
    for (std::byte* at = data; at < data + static_cast<std::size_t>(view.size()) * item;
         at += item) {
        std::reverse(at, at + item);
    }
    ArrayView out(data, view.dtype, view.extent);
    out.swapped = true;
    return out;
}

}  // namespace

TEST_CASE_TEMPLATE("a histogram counts what a search of its edges counts", T, float, double,
                   std::int16_t) {
    std::mt19937 random(5);
    std::vector<double> edges;
    for (int i = 0; i <= 50; ++i) {
        edges.push_back(-100 + 4 * i);
    }
    for (const Index columns : {70, 700}) {  // rows that are joined, and that are runs
        const Coordinates shape = {3, 40, columns};
        std::vector<T> x(static_cast<std::size_t>(volume_of(shape)));
        for (T& value : x) {  // many on the edges
            value = static_cast<T>(static_cast<int>(random() % 260) - 130);
            if (std::is_floating_point_v<T> && random() % 2 == 0) {
                value += static_cast<T>(0.37);
            }
        }
        if constexpr (std::is_floating_point_v<T>) {
            x[5000] = std::numeric_limits<T>::quiet_NaN();
        }
        // Rows with gaps of 10; kept: none, the first axis, the last.
        const ArrayView all(x.data(), dtype_of<T>(), shape);
        const ArrayView view = subview(all, {{0, 0, 3}, {3, 40, columns - 10}});
        for (const std::vector<int>& over :
             std::vector<std::vector<int>>{{0, 1, 2}, {1, 2}, {0, 1}}) {
            const Domain domain = make_domain(whole(view.extent), over, {view.dtype});
            const Index cells = volume_of(domain.kept_shape());
            std::vector<Index> expected(static_cast<std::size_t>(cells * 50));
            Index outside = 0, nan = 0;
            for (Index i = 0; i < view.size(); ++i) {
                const Coordinates at = coordinates_of(i, view.extent);
                const double value = static_cast<double>(
                    x[static_cast<std::size_t>(linear_index({at[0], at[1], at[2] + 3}, shape))]);
                const Index cell = cells == 1 ? 0 : cells == 3 ? at[0] : at[2];
                const auto bin =
                    std::upper_bound(edges.begin(), edges.end() - 1, value) - edges.begin();
                if (value != value) {
                    ++nan;
                } else if (value < -100 || value > 100) {
                    ++outside;
                } else {
                    ++expected[static_cast<std::size_t>(cell * 50 + bin - 1)];
                }
            }
            std::vector<std::byte> buffers[2];
            for (const ArrayView& piece :
                 {view, turned(view, buffers[0], 4), turned(view, buffers[1], 1)}) {
                Reduction reduction({{"h", make_operator("histogram", {{"edges", edges}}), {}}},
                                    domain);
                reduction.absorb({{&piece, 1}, whole(view.extent)});
                const Result found = reduction.finish().at("h");
                const auto sum = [&](const char* name) {
                    const Array& array = found.at(name);
                    return std::accumulate(array.as<Index>(), array.as<Index>() + cells, Index{0});
                };
                CHECK(sum("nan") == nan);
                CHECK(sum("underflow") + sum("overflow") == outside);
                CHECK(std::equal(expected.begin(), expected.end(), found.at("value").as<Index>()));
            }
        }
    }
}

TEST_CASE("a histogram that skips NaN counts it nowhere, of few bins, of many, and with weights") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> x = {0.5, nan, 1.5, -1, nan, 0.25, nan, 9};
    const std::vector<double> two(x.size(), 2.0);
    const ArrayView piece(x.data(), DType::Float64, {2, 4});
    const ArrayView weights(two.data(), DType::Float64, {2, 4});
    for (const int bins : {2, 3000}) {
        std::vector<double> edges;
        for (int i = 0; i <= bins; ++i) {
            edges.push_back(2.0 * i / bins);
        }
        for (const ArrayView* weight : {static_cast<const ArrayView*>(nullptr), &weights}) {
            const Domain domain = make_domain(whole({2, 4}), {1}, {DType::Float64});
            const Options options = {{"edges", edges}, {"skipna", true}};
            Reduction reduction({{"h", make_operator("histogram", options), {}}}, domain);
            Piece both{{&piece, 1}, whole({2, 4})};
            both.weights = weight;
            reduction.absorb(both);
            const Result found = reduction.finish().at("h");
            const auto numbers = [&](const char* name) {
                const Array& array = found.at(name);
                std::vector<double> out;
                for (Index i = 0; i < volume_of(array.shape); ++i) {
                    out.push_back(weight == nullptr ? static_cast<double>(array.as<Index>()[i])
                                                    : array.as<double>()[i] / 2);
                }
                return out;
            };
            CHECK(numbers("nan") == std::vector<double>{0, 0});
            CHECK(numbers("underflow") == std::vector<double>{1, 0});
            CHECK(numbers("overflow") == std::vector<double>{0, 1});
            const std::vector<double> values = numbers("value");
            CHECK(std::accumulate(values.begin(), values.end(), 0.0) == 3);
        }
    }
}
