// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/decode.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

const TestSeed seed(20250117);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span<const T>(&value, 1));
}

/// The number in which values are compared; exact for integers.
template <class T>
auto number(T value) {
    if constexpr (std::is_same_v<T, Half>) {
        return static_cast<float>(value);
    } else {
        return value;
    }
}

template <class T>
T random_value(std::mt19937& random) {
    const auto pick = random() % 16;
    if constexpr (std::is_integral_v<T>) {
        using Limits = std::numeric_limits<T>;
        return pick == 0   ? Limits::max()
               : pick == 1 ? Limits::lowest()
               : pick == 2 ? static_cast<T>(Limits::max() - 1)
               : pick < 12 ? static_cast<T>(random() % 40)
                           : static_cast<T>((std::uint64_t{random()} << 32) | random());
    } else {
        const float value = pick == 0   ? std::numeric_limits<float>::quiet_NaN()
                            : pick == 1 ? std::numeric_limits<float>::infinity()
                            : pick == 2 ? -0.0f
                            : pick < 12 ? static_cast<float>(random() % 40) - 20
                                        : static_cast<float>(random()) * 1e-5f;
        return T(value);
    }
}

/// The bytes of `values`, each element reversed when `swapped`, at an odd address.
template <class T>
std::vector<std::byte> stored(const std::vector<T>& values, bool swapped) {
    std::vector<std::byte> bytes(values.size() * sizeof(T) + 1);
    if (!values.empty()) {
        std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));
    }
    for (std::size_t i = 0; swapped && i < values.size(); ++i) {
        std::reverse(bytes.begin() + 1 + static_cast<std::ptrdiff_t>(i * sizeof(T)),
                     bytes.begin() + 1 + static_cast<std::ptrdiff_t>((i + 1) * sizeof(T)));
    }
    return bytes;
}

template <class T>
struct Rule {
    std::vector<T> values;
    std::optional<T> least, most;

    bool missing(T stored_value) const {
        const auto x = number(stored_value);
        bool out = (least && x < number(*least)) || (most && x > number(*most));
        for (const T value : values) {
            const auto v = number(value);
            out = out || x == v || (x != x && v != v);
        }
        return out;
    }
    MissingValues built() const {
        MissingValues out(dtype_of<T>());
        for (const T& value : values) {
            out.add(bytes_of(value));
        }
        if (least) {
            out.set_valid_min(bytes_of(*least));
        }
        if (most) {
            out.set_valid_max(bytes_of(*most));
        }
        return out;
    }
};

template <class T>
Rule<T> random_rule(std::mt19937& random) {
    Rule<T> rule;
    for (auto count = random() % 6; count > 0; --count) {
        rule.values.push_back(random_value<T>(random));
    }
    if (random() % 3 == 0) {
        rule.least = random_value<T>(random);
    }
    if (random() % 3 == 0) {
        rule.most = random_value<T>(random);
    }
    return rule;
}

template <class T, class Unpacked>
void check_unpacked(const ArrayView& run, const std::vector<T>& x, const MissingValues& missing) {
    const double scale = 0.01, offset = -273.15;
    std::vector<Unpacked> found(x.size());
    decode(run, missing, true, scale, offset,
           {reinterpret_cast<std::byte*>(found.data()), dtype_of<Unpacked>(), run.extent,
            contiguous_strides(run.extent, sizeof(Unpacked))},
           nullptr);
    for (std::size_t i = 0; i < x.size(); ++i) {
        volatile double scaled = static_cast<double>(number(x[i])) * scale;  // never contracted
        const auto expected = static_cast<Unpacked>(scaled + offset);
        const bool same = expected != expected
                              ? found[i] != found[i]
                              : std::memcmp(&expected, &found[i], sizeof expected) == 0;
        REQUIRE(same);
    }
}

template <class T>
void check_run(const std::vector<T>& x, const Rule<T>& rule, bool swapped) {
    const auto bytes = stored(x, swapped);
    ArrayView run(bytes.data() + 1, dtype_of<T>(), {static_cast<Index>(x.size())});
    run.swapped = swapped;
    const MissingValues missing = rule.built();
    bool expected_any = false;
    for (const T value : x) {
        expected_any = expected_any || rule.missing(value);
    }
    REQUIRE(any_missing(run, missing) == expected_any);
    std::vector<T> values(x.size());
    std::vector<std::uint8_t> included(x.size(), 7);
    decode(run, missing, false, 1, 0,
           {reinterpret_cast<std::byte*>(values.data()), run.dtype, run.extent, run.strides},
           included.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(included[i] == !rule.missing(x[i]));
    }
    REQUIRE((x.empty() || std::memcmp(values.data(), x.data(), x.size() * sizeof(T)) == 0));
    check_unpacked<T, float>(run, x, missing);
    check_unpacked<T, double>(run, x, missing);
}

}  // namespace

TEST_CASE_TEMPLATE("missing values and unpacking agree with a plain loop", T, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t, Half, float, double) {
    std::mt19937 random(seed);
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        // Long runs with one missing element, or none, besides short ones full of them.
        std::vector<T> x(random() % (trial % 4 == 0 ? 5000 : 200));
        Rule<T> rule = random_rule<T>(random);
        for (T& value : x) {
            value = random_value<T>(random);
            for (int i = 0; trial % 2 == 0 && i < 100 && rule.missing(value); ++i) {
                value = random_value<T>(random);
            }
        }
        if (!x.empty() && !rule.values.empty() && trial % 3 == 0) {
            x[random() % x.size()] = rule.values[0];
        }
        check_run(x, rule, false);
        check_run(x, rule, true);
    }
}

TEST_CASE_TEMPLATE("64-bit integers next to a missing value are not taken for it", T, std::int64_t,
                   std::uint64_t) {
    const T extreme = std::numeric_limits<T>::max();
    const T far = static_cast<T>((T{1} << 62) + 1);
    for (const T value : {extreme, std::numeric_limits<T>::lowest(), far}) {
        const std::vector<T> x(300, static_cast<T>(value ^ 1));  // the same float64
        check_run(x, Rule<T>{{value}, {}, {}}, true);
        check_run(x, Rule<T>{{}, value, {}}, true);
        check_run(x, Rule<T>{{}, {}, value}, false);
    }
}

TEST_CASE_TEMPLATE("complex values are missing where both parts are those of one that is", Part,
                   float, double) {
    using T = std::complex<Part>;
    const Part nan = std::numeric_limits<Part>::quiet_NaN();
    std::vector<T> x(600, T(1, 2));
    x[1] = T(-999, 0);
    x[2] = T(-999, 1);
    x[300] = T(0, nan);
    x[599] = T(5, -5);
    std::vector<std::byte> swapped(x.size() * sizeof(T));
    const auto* const bytes = reinterpret_cast<const std::byte*>(x.data());
    for (std::size_t i = 0; i < swapped.size(); ++i) {
        swapped[i] = bytes[i ^ (sizeof(Part) - 1)];
    }
    for (const bool nan_counts : {false, true}) {
        MissingValues missing(dtype_of<T>());
        CHECK(missing.empty());
        missing.add(bytes_of(T(-999, 0)));
        missing.add(bytes_of(T(5, -5)));
        if (!nan_counts) {
            missing.add(bytes_of(T(nan, 0)));
        }
        for (const bool swap : {false, true}) {
            ArrayView run(swap ? swapped.data() : bytes, dtype_of<T>(), {600});
            run.swapped = swap;
            CHECK(any_missing(run, missing));
            std::vector<T> values(x.size());
            std::vector<std::uint8_t> included(x.size(), 7);
            decode(
                run, missing, false, 1, 0,
                {reinterpret_cast<std::byte*>(values.data()), run.dtype, run.extent, run.strides},
                included.data());
            for (std::size_t i = 0; i < x.size(); ++i) {
                const bool expected = i == 1 || i == 599 || (i == 300 && !nan_counts);
                REQUIRE(included[i] == !expected);
            }
            CHECK(std::memcmp(values.data(), x.data(), x.size() * sizeof(T)) == 0);
            run.extent = {1};
            CHECK(!any_missing(run, missing));
        }
    }
}

TEST_CASE("what does not fit together is refused") {
    MissingValues missing(DType::Int16);
    CHECK(missing.empty());
    CHECK_THROWS_AS(missing.add(bytes_of(std::int32_t{0})), InvalidArgument);
    MissingValues complex(DType::Complex64);
    CHECK_THROWS_AS(complex.set_valid_min(bytes_of(std::complex<float>(0))), InvalidArgument);
    const std::int16_t x[4] = {1, 2, 3, 4};
    const ArrayView gaps(x, DType::Int16, {2}, {4});
    CHECK_THROWS_AS(any_missing(gaps, missing), InvalidArgument);
    CHECK_THROWS_AS(any_missing(ArrayView(x, DType::Int8, {4}), missing), InvalidArgument);
    std::int16_t out[4];
    const MutableArrayView values{reinterpret_cast<std::byte*>(out), DType::Int16, {4}, {2}};
    CHECK_THROWS_AS(decode(ArrayView(x, DType::Int16, {4}), missing, true, 1, 0, values, nullptr),
                    InvalidArgument);
    CHECK_THROWS_AS(decode(ArrayView(x, DType::Int16, {3}), missing, false, 1, 0, values, nullptr),
                    InvalidArgument);
    const float nan = std::nanf("");
    MissingValues bounded(DType::Float32);
    bounded.set_valid_max(bytes_of(nan));
    CHECK(bounded.empty());  // no bound
    const float one = 1;
    bounded.set_valid_max(bytes_of(one));
    CHECK(!bounded.empty());
    CHECK(!any_missing(ArrayView(&nan, DType::Float32, {1}), bounded));
}
