// SPDX-License-Identifier: Apache-2.0
/// What every operator must pass: any split of the data into pieces, merged along any tree, with
/// any partial encoded and decoded on the way, gives the result of absorbing it whole. The
/// registry's operators are run through it by conformance_test.cpp; use it for your own operators
/// too (needs doctest).
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/compute/reduction.hpp"

namespace fluvial::compute {

struct ConformanceOptions {
    std::vector<DType> dtypes;  ///< of the inputs to try; each trial takes one for all inputs
    int trials = 60;            ///< for each dtype
    double tolerance = 1e-12;   ///< relative; 0: bitwise
    bool weights = true;        ///< try with weights too
    bool masks = true;
};

class Conformance {
  public:
    Conformance(const Operator& op, std::uint32_t seed) : op_(op), random_(seed) {}

    void run(const ConformanceOptions& options) {
        for (const DType dtype : options.dtypes) {
            for (int trial = 0; trial < options.trials; ++trial) {
                CAPTURE(op_.name());
                CAPTURE(name_of(dtype));
                CAPTURE(trial);
                make_data(dtype, options);
                const auto whole = op_.identity(domain_);
                if (!region_.empty()) {
                    whole->absorb(piece(region_));
                }
                const auto pieces = merged_pieces();
                compare(*whole, *pieces, options.tolerance);
            }
        }
    }

    /// A Reduction gives the same bits for pieces whose bytes are in the other order.
    void run_swapped(const ConformanceOptions& options) {
        for (const DType dtype : options.dtypes) {
            for (int trial = 0; trial < options.trials; ++trial) {
                CAPTURE(op_.name());
                CAPTURE(name_of(dtype));
                CAPTURE(trial);
                make_data(dtype, options);
                // Not owned: op_ outlives both.
                const OperatorPtr op(OperatorPtr(), &op_);
                Reduction native({{"", op, {}}}, domain_), swapped({{"", op, {}}}, domain_);
                const std::vector<Region> pieces = split_randomly();
                for (const Region& where : pieces) {
                    native.absorb(piece(where));
                }
                for (Owned& array : data_) {
                    if (chance(0.8)) {
                        swap(array.view);
                    }
                }
                for (const Region& where : pieces) {
                    swapped.absorb(piece(where));
                }
                compare_results(results(native), results(swapped), 0);
            }
        }
    }

  private:
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
    bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

    /// An array with its axes in random order in memory, sometimes with gaps or backwards.
    struct Owned {
        std::vector<std::byte> bytes;
        ArrayView view;
    };

    Owned make_array(DType dtype, const Coordinates& extent) {
        const Index item = static_cast<Index>(size_of(dtype));
        const int gap = chance(0.3) ? 2 : 1;
        std::vector<int> order(static_cast<std::size_t>(extent.size()));
        for (int i = 0; i < extent.size(); ++i) {
            order[static_cast<std::size_t>(i)] = i;
        }
        if (chance(0.5)) {
            std::shuffle(order.begin(), order.end(), random_);
        }
        Coordinates strides(extent.size(), 0);
        Index stride = item * gap;
        Index start = 0;
        for (const int axis : order) {
            const bool backwards = chance(0.15) && extent[axis] > 0;
            strides[axis] = backwards ? -stride : stride;
            start += backwards ? stride * (extent[axis] - 1) : 0;
            stride *= std::max<Index>(extent[axis], 1);
        }
        Owned out;
        out.bytes.resize(static_cast<std::size_t>(stride));
        out.view = ArrayView(out.bytes.data() + start, dtype, extent, strides);
        return out;
    }

    /// Calls f(pointer) for every element.
    template <class F>
    static void for_elements(const ArrayView& view, F&& f) {
        const Index count = view.size();
        for (Index i = 0; i < count; ++i) {
            const Coordinates at = coordinates_of(i, view.extent);
            const std::byte* p = view.data;
            for (int axis = 0; axis < at.size(); ++axis) {
                p += at[axis] * view.strides[axis];
            }
            f(const_cast<std::byte*>(p));
        }
    }

    void fill(const ArrayView& view, double nan_share) {
        dispatch(view.dtype, [&]<class T>() {
            std::uniform_real_distribution<double> value(-20, 20);
            for_elements(view, [&](std::byte* p) {
                const double x =
                    chance(nan_share) ? std::numeric_limits<double>::quiet_NaN() : value(random_);
                T element;
                if constexpr (std::is_same_v<T, Half>) {
                    element = Half(static_cast<float>(chance(0.5) ? std::round(x) : x));
                } else if constexpr (std::is_integral_v<T>) {
                    element = static_cast<T>(std::is_signed_v<T> ? x : std::abs(x));
                } else if constexpr (std::is_floating_point_v<T>) {
                    element = static_cast<T>(chance(0.3) ? std::round(x)
                                                         : x);  // ties, zeros of both signs
                } else {
                    element = T(static_cast<typename T::value_type>(x),
                                static_cast<typename T::value_type>(value(random_)));
                }
                std::memcpy(p, &element, sizeof element);
            });
        });
    }

    static void swap(ArrayView& view) {
        const std::size_t part = size_of(view.dtype) / (is_complex(view.dtype) ? 2 : 1);
        for_elements(view, [&](std::byte* p) {
            for (std::size_t at = 0; at < size_of(view.dtype); at += part) {
                std::reverse(p + at, p + at + part);
            }
        });
        view.swapped = true;
    }

    void make_data(DType dtype, const ConformanceOptions& options) {
        const int ndim = below(4);
        region_ = Region{Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            region_.offset[axis] = below(100);
            region_.extent[axis] = chance(0.03) ? 0
                                                : 1 + below(ndim == 1   ? 150
                                                            : ndim == 2 ? 13
                                                                        : 6);
        }
        std::vector<int> over;
        for (int axis = 0; axis < ndim; ++axis) {
            if (chance(0.6)) {
                over.push_back(axis);
            }
        }
        const auto inputs = static_cast<std::size_t>(op_.inputs());
        domain_ = make_domain(region_, over, std::vector<DType>(inputs, dtype));
        data_.clear();
        const double nan_share = chance(0.3) ? 0.05 : 0;
        for (std::size_t i = 0; i < inputs; ++i) {
            data_.push_back(make_array(dtype, region_.extent));
            fill(data_.back().view, is_integer(dtype) ? 0 : nan_share);
        }
        has_weights_ = options.weights && chance(0.3);
        has_mask_ = options.masks && chance(0.3);
        weights_ = make_array(DType::Float64, region_.extent);
        for_elements(weights_.view, [&](std::byte* p) {
            const double w = below(9) * 0.25;  // exact in any order
            std::memcpy(p, &w, sizeof w);
        });
        mask_ = make_array(DType::UInt8, region_.extent);
        for_elements(mask_.view, [&](std::byte* p) {
            *p = static_cast<std::byte>(chance(0.8) ? 1 + below(255) : 0);
        });
    }

    /// `where` of the data as a piece; its views live until the next call.
    Piece piece(const Region& where) {
        Region inside = where;
        for (int axis = 0; axis < where.ndim(); ++axis) {
            inside.offset[axis] -= region_.offset[axis];
        }
        views_.clear();
        for (const Owned& array : data_) {
            views_.push_back(subview(array.view, inside));
        }
        weights_view_ = subview(weights_.view, inside);
        mask_view_ = subview(mask_.view, inside);
        return {views_, where, has_weights_ ? &weights_view_ : nullptr,
                has_mask_ ? &mask_view_ : nullptr};
    }

    /// Random boxes cut out one after the other until nothing is left.
    std::vector<Region> split_randomly() {
        std::vector<Region> rest = {region_}, out;
        for (int cuts = 1 + below(6); cuts > 0 && !rest.empty(); --cuts) {
            std::swap(rest[static_cast<std::size_t>(below(static_cast<int>(rest.size())))],
                      rest.back());
            const Region from = rest.back();
            rest.pop_back();
            if (from.empty() || from.ndim() == 0) {
                out.push_back(from);
                continue;
            }
            Region hole = from;
            for (int axis = 0; axis < from.ndim(); ++axis) {
                const int skip = below(static_cast<int>(from.extent[axis]));
                hole.offset[axis] += skip;
                hole.extent[axis] = 1 + below(static_cast<int>(from.extent[axis]) - skip);
            }
            out.push_back(hole);
            for (const Region& piece : subtract(from, hole)) {
                rest.push_back(piece);
            }
        }
        out.insert(out.end(), rest.begin(), rest.end());
        std::shuffle(out.begin(), out.end(), random_);
        return out;
    }

    std::unique_ptr<Partial> merged_pieces() {
        std::vector<std::unique_ptr<Partial>> partials;
        for (int i = 1 + below(4); i > 0; --i) {
            partials.push_back(op_.identity(domain_));  // some stay empty: ranks without data
        }
        for (const Region& where : split_randomly()) {
            partials[static_cast<std::size_t>(below(static_cast<int>(partials.size())))]->absorb(
                piece(where));
        }
        while (partials.size() > 1) {
            std::shuffle(partials.begin(), partials.end(), random_);
            auto other = std::move(partials.back());
            partials.pop_back();
            if (chance(0.5)) {
                other = decoded(*other);
            }
            partials.back()->merge(*other);
        }
        return chance(0.5) ? decoded(*partials[0]) : std::move(partials[0]);
    }

    std::unique_ptr<Partial> decoded(const Partial& partial) {
        auto copy = op_.identity(domain_);
        copy->decode(partial.encode());
        return copy;
    }

    /// The result, or the message of the InvalidArgument that finish throws (a minimum of nothing).
    static std::pair<Result, std::string> finish(const Partial& partial) {
        try {
            return {partial.finish(), ""};
        } catch (const InvalidArgument& error) {
            return {{}, error.what()};
        }
    }

    static std::pair<Result, std::string> results(const Reduction& reduction) {
        try {
            return {reduction.finish().at(""), ""};
        } catch (const InvalidArgument& error) {
            return {{}, error.what()};
        }
    }

    static void compare(const Partial& whole, const Partial& pieces, double tolerance) {
        compare_results(finish(whole), finish(pieces), tolerance);
    }

    static void compare_results(const std::pair<Result, std::string>& one,
                                const std::pair<Result, std::string>& two, double tolerance) {
        const auto& [expected, expected_error] = one;
        const auto& [found, error] = two;
        REQUIRE(error == expected_error);
        REQUIRE(found.size() == expected.size());
        for (const auto& entry : expected) {
            const std::string& name = entry.first;
            const Array& array = entry.second;
            CAPTURE(name);
            REQUIRE(found.count(name) == 1);
            const Array& other = found.at(name);
            REQUIRE(other.dtype == array.dtype);
            REQUIRE(other.shape == array.shape);
            if (array.bytes == other.bytes) {
                continue;
            }
            REQUIRE_MESSAGE((tolerance > 0 && array.dtype >= DType::Float32),
                            "must be equal to the bit");
            dispatch(array.dtype, [&]<class T>() {
                if constexpr (!std::is_same_v<T, Half> && !std::is_integral_v<T>) {
                    for (Index i = 0; i < volume_of(array.shape); ++i) {
                        const T a = array.as<T>()[i], b = other.as<T>()[i];
                        const bool both_nan = a != a && b != b;
                        const bool close =
                            a == b || both_nan ||
                            std::abs(a - b) <=
                                tolerance * std::max(1.0, static_cast<double>(std::abs(a)));
                        REQUIRE_MESSAGE(close, a, " and ", b);
                    }
                }
            });
        }
    }

    const Operator& op_;
    std::mt19937 random_;
    Region region_;
    Domain domain_;
    std::vector<Owned> data_;
    Owned weights_, mask_;
    bool has_weights_ = false, has_mask_ = false;
    std::vector<ArrayView> views_;
    ArrayView weights_view_, mask_view_;
};

}  // namespace fluvial::compute
