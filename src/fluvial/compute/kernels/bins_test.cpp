// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/compute/kernels/kernels.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

/// How often each bin, from -1 to count + 1, occurs.
std::vector<std::uint32_t> counted(const std::vector<std::int32_t>& bins, std::size_t begin,
                                   std::int32_t count) {
    std::vector<std::uint32_t> out(static_cast<std::size_t>(count) + 3);
    for (std::size_t i = begin; i < bins.size(); ++i) {
        ++out[static_cast<std::size_t>(bins[i] + 1)];
    }
    return out;
}

/// The same by count_bins: x from `begin` on, in either byte order, at any address.
template <class T>
std::vector<std::uint32_t> counted(const Kernels& k, const std::vector<T>& x, std::size_t begin,
                                   bool swapped, std::size_t offset, const BinSearch& search,
                                   std::int32_t tables) {
    std::vector<std::byte> bytes((x.size() + 1) * sizeof(T));
    std::byte* const data = bytes.data() + offset;
    std::memcpy(data, x.data(), x.size() * sizeof(T));
    for (std::size_t i = 0; swapped && i < x.size(); ++i) {
        std::reverse(data + i * sizeof(T), data + (i + 1) * sizeof(T));
    }
    const auto width = static_cast<std::size_t>(search.count) + 5;
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(tables) * width);
    const auto* const values = reinterpret_cast<const T*>(data) + begin;
    const auto n = static_cast<Index>(x.size() - begin);
    const BinTables to{counts.data(), tables, static_cast<std::int32_t>(width)};
    if constexpr (std::is_same_v<T, float>) {
        k.count_bins_float[swapped](values, n, search, to);
    } else {
        k.count_bins_double[swapped](values, n, search, to);
    }
    std::vector<std::uint32_t> out(width - 2);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (i % width < out.size()) {
            out[i % width] += counts[i];
        } else {
            CHECK(counts[i] == 0);
        }
    }
    return out;
}

}  // namespace

TEST_CASE("bins follow NumPy's convention at and next to every edge") {
    std::vector<double> even, uneven = {-3, -1, 0, 0.1, 7};
    for (int i = 0; i <= 30; ++i) {
        even.push_back(-1 + i * 0.1);
    }
    for (const auto& edges : {even, uneven}) {
        const auto count = static_cast<std::int32_t>(edges.size() - 1);
        const bool uniform = &edges != &uneven && edges.size() > 10;
        const BinSearch search{edges.data(), count, uniform, count / (edges.back() - edges.front()),
                               1e-14};
        std::vector<double> x = {-1e300, 1e300, std::nan("")};
        std::vector<std::int32_t> expected = {-1, count, count + 1};
        for (std::int32_t i = 0; i <= count; ++i) {
            const double edge = edges[static_cast<std::size_t>(i)];
            x.insert(x.end(), {edge, std::nextafter(edge, -1e9), std::nextafter(edge, 1e9)});
            expected.insert(expected.end(),
                            {i == count ? count - 1 : i, i - 1, i == count ? count : i});
        }
        for (const Kernels* k : runnable_kernels()) {
            std::vector<std::int32_t> bin(x.size());
            k->histogram_bins_double(x.data(), static_cast<Index>(x.size()), search, bin.data());
            CHECK(bin == expected);
            CHECK(counted(*k, x, 0, false, 0, search, 16) == counted(expected, 0, count));
        }
    }
}

TEST_CASE_TEMPLATE("bins of evenly spaced edges are those of a search of the edges", T, float,
                   double) {
    std::mt19937 random(20240611);
    const double infinity = std::numeric_limits<double>::infinity();
    struct Even {
        double first, last;
        int count;
    };
    for (const Even& even : std::initializer_list<Even>{{245, 315, 100},
                                                        {-1e-3, 1e-3, 1000},
                                                        {0, 1, 7},
                                                        {1e5, 1e5 + 1, 50},  // too fine for float32
                                                        {1e17, 1e17 + 64, 3},
                                                        {-3e38, 3e38, 11},
                                                        {0, 1e-300, 4}}) {
        const double first = even.first, last = even.last;
        const int count = even.count;
        std::vector<double> edges;
        for (int i = 0; i <= count; ++i) {
            edges.push_back(i == count ? last : first + (last - first) * i / count);
        }
        std::vector<T> x = {static_cast<T>(infinity),
                            static_cast<T>(-infinity),
                            std::numeric_limits<T>::quiet_NaN(),
                            std::numeric_limits<T>::max(),
                            std::numeric_limits<T>::lowest(),
                            T(-0.0)};
        for (const double edge : edges) {
            const T near = static_cast<T>(edge);
            x.insert(x.end(), {near, std::nextafter(near, static_cast<T>(-infinity)),
                               std::nextafter(near, static_cast<T>(infinity))});
        }
        x.resize(x.size() + 150, std::numeric_limits<T>::quiet_NaN());
        std::uniform_real_distribution<double> inside(first - (last - first) / count,
                                                      last + (last - first) / count);
        while (x.size() < 5000) {
            x.push_back(static_cast<T>(inside(random)));
        }
        std::vector<std::int32_t> expected;
        for (const T value : x) {
            const auto above = std::upper_bound(edges.begin(), edges.end(), double{value});
            const auto bin = static_cast<std::int32_t>(above - edges.begin()) - 1;
            expected.push_back(value != value          ? count + 1
                               : double{value} == last ? count - 1
                                                       : bin);
        }
        const BinSearch search{edges.data(), count, true, count / (last - first), 1e-6};
        for (const Kernels* k : runnable_kernels()) {
            CAPTURE(k->isa);
            CAPTURE(first);
            std::vector<std::int32_t> bin(x.size());
            const Index n = static_cast<Index>(x.size());
            if constexpr (std::is_same_v<T, float>) {
                k->histogram_bins_float(x.data(), n, search, bin.data());
            } else {
                k->histogram_bins_double(x.data(), n, search, bin.data());
            }
            CHECK(bin == expected);
            for (const std::size_t left : {0, 7, 90, 5000}) {  // no, some and many groups
                const std::size_t begin = x.size() - left;
                const auto counts = counted(expected, begin, count);
                for (const bool swapped : {false, true}) {
                    CHECK(counted(*k, x, begin, swapped, 0, search, 16) == counts);
                    CHECK(counted(*k, x, begin, swapped, 3, search, 8) == counts);
                }
            }
        }
    }
}
