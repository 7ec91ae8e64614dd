// SPDX-License-Identifier: Apache-2.0
// Bins of edges of every spacing, against a search of the edges: at each edge, beside it, anywhere.
#include "fluvial/compute/operators/bin_edges.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> edges_of(int count, const std::function<double(int)>& edge) {
    std::vector<double> edges;
    for (int i = 0; i <= count; ++i) {
        edges.push_back(edge(i));
    }
    return edges;
}

template <class T>
std::vector<T> values_for(const std::vector<double>& edges, std::mt19937_64& random) {
    std::vector<T> x{T(-0.0),
                     T(0),
                     std::numeric_limits<T>::infinity(),
                     -std::numeric_limits<T>::infinity(),
                     std::numeric_limits<T>::quiet_NaN(),
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::lowest(),
                     std::numeric_limits<T>::denorm_min()};
    for (const double edge : edges) {
        const T near = static_cast<T>(edge);
        x.insert(x.end(), {near, std::nextafter(near, std::numeric_limits<T>::lowest()),
                           std::nextafter(near, std::numeric_limits<T>::max())});
    }
    // Some that group well, and then others between two neighbours.
    for (int i = 0; i < 4000; ++i) {
        const std::size_t at = random() % (edges.size() - 1);
        const double share = static_cast<double>(random() % 1000) / 999;
        x.push_back(static_cast<T>(edges[at] * (1 - share) + edges[at + 1] * share));
    }
    std::shuffle(x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end(), random);
    return x;
}

template <class T>
std::vector<std::int32_t> searched(const std::vector<double>& edges, const std::vector<T>& x) {
    const auto count = static_cast<std::int32_t>(edges.size() - 1);
    std::vector<std::int32_t> bins;
    for (const double value : x) {
        const auto above = std::upper_bound(edges.begin(), edges.end(), value);
        bins.push_back(std::isnan(value)       ? count + 1
                       : value == edges.back() ? count - 1
                                               : static_cast<int>(above - edges.begin()) - 1);
    }
    return bins;
}

void check(const std::vector<double>& edges, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const BinEdges bins(edges, "histogram");
    const auto single = values_for<float>(edges, random);
    const auto real = values_for<double>(edges, random);
    const auto expected_single = searched(edges, single);
    const auto expected = searched(edges, real);
    for (const Kernels* k : runnable_kernels()) {
        CAPTURE(k->isa);
        std::vector<std::int32_t> found(single.size());
        k->histogram_bins_float(single.data(), static_cast<Index>(single.size()), bins.search(),
                                found.data());
        CHECK(found == expected_single);
        found.resize(real.size());
        k->histogram_bins_double(real.data(), static_cast<Index>(real.size()), bins.search(),
                                 found.data());
        CHECK(found == expected);
        const auto width = static_cast<std::size_t>(bins.bins()) + 3;
        std::vector<std::uint32_t> counts(8 * width), wanted(width), sum(width);
        k->count_bins_double[0](real.data(), static_cast<Index>(real.size()), bins.search(),
                                {counts.data(), 8, static_cast<std::int32_t>(width)});
        for (std::size_t i = 0; i < counts.size(); ++i) {
            sum[i % width] += counts[i];
        }
        for (const std::int32_t bin : expected) {
            ++wanted[static_cast<std::size_t>(bin + 1)];
        }
        CHECK(sum == wanted);
    }
}

}  // namespace

TEST_CASE("bins are those of a search, however the edges are spaced") {
    const std::uint64_t seed = test_seed(100);
    CAPTURE(seed);
    for (const int count : {1, 2, 7, 100, 3000}) {
        CAPTURE(count);
        const double n = count;
        for (const auto& ends : std::vector<std::pair<double, double>>{
                 {0, 1}, {245, 315}, {-1e-3, 2e-3}, {1e5, 1e5 + 1}, {-0.0, 1e300}, {-3e38, 3e38}}) {
            const double first = ends.first, last = ends.second;
            CAPTURE(first);
            const double width = (last - first) / n;
            check(edges_of(count, [&](int i) { return first + i * width; }), seed);
            for (const double jitter : {1e-7, 1e-3, 0.02, 0.04, 0.3, 0.48}) {
                CAPTURE(jitter);
                std::mt19937_64 random(seed);
                std::uniform_real_distribution<double> by(-jitter, jitter);
                check(edges_of(count, [&](int i) { return first + (i + by(random)) * width; }),
                      seed);
            }
            check(
                edges_of(count, [&](int i) { return first + (last - first) * std::pow(i / n, 3); }),
                seed);
        }
        check(edges_of(count, [&](int i) { return std::pow(10, -3 + 6 * i / n); }), seed);
        check(edges_of(count, [&](int i) { return i == 0 ? -0.0 : std::pow(2, i / 4.0); }), seed);
        check(edges_of(count, [&](int i) { return std::sinh(20 * (2 * i / n - 1)); }), seed);
    }
    check({-infinity, -1, 0, 0.1, infinity}, seed);
    check({0, 1, infinity}, seed);
    check({-1e308, 0, 1.5e308}, seed);
    check({-3, -1, 0, 0.1, 7}, seed);
    check({5e-324, 1e-323, 3e-323, 1e-300}, seed);
    check({1, std::nextafter(1, 2)}, seed);
    check({1, std::nextafter(1, 2), 2}, seed);
}

TEST_CASE("edges of single precision are nearly even") {
    std::vector<double> edges;
    for (int i = 0; i <= 1000; ++i) {
        edges.push_back(static_cast<double>(245 + static_cast<float>(i) * 0.07F));
    }
    CHECK(BinEdges(edges, "histogram").search().uniform);
    check(edges, 3);
}

TEST_CASE("uneven edges are found in cells: by their bits where that tells more of them apart") {
    const BinEdges decades(edges_of(100, [](int i) { return std::pow(10, i / 10.0); }),
                           "histogram");
    CHECK(decades.search().cells == BinSearch::Cells::Octaves);
    const BinEdges squares(edges_of(100, [](int i) { return i * i - 50; }), "histogram");
    CHECK(squares.search().cells == BinSearch::Cells::Even);
}

TEST_CASE("unusable edges are refused") {
    for (const auto& edges : std::vector<std::vector<double>>{
             {}, {1}, {1, 1}, {2, 1}, {1, std::nan(""), 2}, {-0.0, 0.0}}) {
        CHECK_THROWS_AS(BinEdges(edges, "histogram"), InvalidArgument);
    }
}
