// SPDX-License-Identifier: Apache-2.0
/// What the operators beside share: partials whose state is a list of vectors, and loops over runs
/// by type.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/compute/run.hpp"

namespace fluvial::compute {

/// Derived has `fields(visit)`, which calls visit(vector) for each vector of its state; encode and
/// decode follow.
template <class Derived>
class StatePartial : public RunPartial {
  public:
    using RunPartial::RunPartial;

    std::vector<std::byte> encode() const final {
        ByteWriter out;
        out.put_string(name());
        out.put(cells());
        // fields() visits without changing; it is not const only because decode writes through it.
        const_cast<Derived*>(static_cast<const Derived*>(this))->fields([&](auto& field) {
            out.put_vector(field);
        });
        return out.take();
    }

    void decode(std::span<const std::byte> bytes) final {
        ByteReader in(bytes);
        const std::string from = in.get_string();
        const auto count = in.get<Index>();
        if (from != name() || count != cells()) {
            throw InvalidArgument(Problem{"this state belongs to another reduction",
                                          text(from, " over ", count, " cells"),
                                          text(name(), " over ", cells(), " cells"),
                                          "Decode with the operator and domain that encoded it"});
        }
        static_cast<Derived*>(this)->fields([&](auto& field) {
            field = in.get_vector<typename std::remove_reference_t<decltype(field)>::value_type>();
        });
    }

  protected:
    static const Derived& same(const Partial& other) { return static_cast<const Derived&>(other); }
    Array result(DType dtype) const { return Array(dtype, kept_shape()); }
    static std::size_t at(Index cell) { return static_cast<std::size_t>(cell); }
};

/// `f.template operator()<T>()` with the type of a run's values (float16 never arrives here).
template <class F>
decltype(auto) dispatch_run(DType dtype, F&& f) {
    return dispatch(dtype == DType::Float16 ? DType::Float32 : dtype, std::forward<F>(f));
}

/// Calls f(cell, value, weight, i) for each included element of the first input.
template <class T, class F>
void each(const Run& run, F&& f) {
    const T* x = run.as<T>();
    for (Index i = 0; i < run.count; ++i) {
        if (run.included == nullptr || run.included[i] != 0) {
            f(run.cell + i * run.cell_step, x[i], run.weights == nullptr ? 1.0 : run.weights[i], i);
        }
    }
}

template <class T>
constexpr bool is_complex_type =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Compensated sums, one a cell (two-sum; Knuth, TAOCP 2, 4.2.2): high + low carries about 106
/// bits, so that the result hardly depends on the order of the pieces. No memory until something is
/// added.
struct Totals {
    std::vector<double> high, low;

    void reserve(Index cells) {
        if (high.empty()) {
            high.resize(static_cast<std::size_t>(cells));
            low.resize(static_cast<std::size_t>(cells));
        }
    }
    void add(std::size_t cell, double value) {
        const double sum = high[cell] + value;
        const double back = sum - high[cell];
        low[cell] += (high[cell] - (sum - back)) + (value - back);
        high[cell] = sum;
    }
    /// Adds `value`, and `lost` that is little beside it.
    void add(std::size_t cell, double value, double lost) {
        add(cell, value);
        low[cell] += lost;
    }
    void merge(const Totals& other) {
        reserve(static_cast<Index>(other.high.size()));
        for (std::size_t cell = 0; cell < other.high.size(); ++cell) {
            add(cell, other.high[cell]);
            low[cell] += other.low[cell];
        }
    }
    /// Infinities and NaN spoil `low`, so they are reported as `high` alone.
    double value(std::size_t cell) const {
        if (high.empty()) {
            return 0.0;
        }
        return std::isfinite(high[cell]) ? high[cell] + low[cell] : high[cell];
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(high);
        visit(low);
    }
};

/// Throws InvalidArgument naming the dtype of the first input and what `op` works on, unless
/// `allowed`.
inline void require_dtype(const Operator& op, const Domain& domain, bool (*allowed)(DType),
                          const char* allowed_text) {
    check_inputs(op, domain);
    for (const DType dtype : domain.dtypes) {
        if (!allowed(dtype)) {
            throw InvalidArgument(
                Problem{op.name() + " does not work on this dtype", std::string(name_of(dtype)),
                        allowed_text, "Convert the data, e.g. take its absolute value with Apply"});
        }
    }
}

inline bool any_dtype(DType) {
    return true;
}
inline bool real_dtype(DType dtype) {
    return !is_complex(dtype);
}
inline constexpr const char* real_dtypes =
    "int8 to int64, uint8 to uint64, float16, float32, float64";

}  // namespace fluvial::compute
