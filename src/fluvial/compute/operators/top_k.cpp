// SPDX-License-Identifier: Apache-2.0
/// top_k: the k largest elements (or smallest, largest = false) and where they are: "value" in the
/// dtype of the data, best first, "coordinates" in the dataset (int64), both with the kept shape,
/// then k; "count" says how many there are when fewer than k elements were included (the rest is 0
/// at coordinates -1). Of equal elements the first in row-major order wins and a NaN wins over
/// everything, so the result is bitwise reproducible. Real types; weights do not matter. Memory: 16
/// k bytes a cell.
#include <algorithm>
#include <limits>

#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {
namespace {

template <class T>
struct Ranked {
    T value;
    Index position;
};

template <class T>
class TopKPartial final : public StatePartial<TopKPartial<T>> {
    using Base = StatePartial<TopKPartial<T>>;
    using Entry = Ranked<T>;

  public:
    TopKPartial(const Domain& domain, const RunNeeds& needs, Index k, bool largest)
        : Base("top_k", domain, needs),
          k_(k),
          largest_(largest),
          entries_(Base::at(this->cells() * k)),
          count_(Base::at(this->cells())) {}

    unsigned summary_parts() const override { return summary_bounds; }

    void absorb_run(const Run& run) override {
        if (run.summary != nullptr && full(run.cell) && !run.summary->nan) {
            const Entry bound{(largest_ ? run.summary->max : run.summary->min).template as<T>(),
                              -1};
            if (!better(bound, worst(run.cell))) {
                return;
            }
        }
        each<T>(run, [&](Index cell, T x, double, Index i) {
            offer(cell, {x, run.position + i * run.position_step});
        });
    }

    void merge(const Partial& other) override {
        const auto& o = Base::same(other);
        for (Index cell = 0; cell < this->cells(); ++cell) {
            for (Index i = 0; i < o.count_[Base::at(cell)]; ++i) {
                offer(cell, o.entries_[Base::at(cell * k_ + i)]);
            }
        }
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(entries_);
        visit(count_);
    }

    Result finish() const override {
        const DType dtype = this->domain().dtypes[0];
        const int ndim = this->domain().selection.ndim();
        Coordinates shape = this->kept_shape();
        shape.push_back(k_);
        Array value(dtype, shape);
        shape.push_back(ndim);
        Array coordinates(DType::Int64, shape);
        Array count = this->result(DType::Int64);
        Index* point = coordinates.as<Index>();
        for (Index cell = 0; cell < this->cells(); ++cell) {
            const Index n = count_[Base::at(cell)];
            count.as<Index>()[cell] = n;
            std::vector<Entry> best(entries_.begin() + cell * k_, entries_.begin() + cell * k_ + n);
            std::sort(best.begin(), best.end(),
                      [&](const Entry& a, const Entry& b) { return better(a, b); });
            for (Index i = 0; i < k_; ++i) {
                if (i < n) {
                    put(value, cell * k_ + i, best[Base::at(i)].value);
                }
                const Coordinates at =
                    i < n ? global_coordinates(best[Base::at(i)].position, this->domain())
                          : Coordinates(ndim, -1);
                point = std::copy(at.begin(), at.end(), point);
            }
        }
        return {{"value", std::move(value)},
                {"coordinates", std::move(coordinates)},
                {"count", std::move(count)}};
    }

  private:
    /// A total order: no two elements have the same position.
    bool better(const Entry& a, const Entry& b) const {
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
        if (a_nan != b_nan) {
            return a_nan;
        }
        if (!a_nan && a.value != b.value) {
            return largest_ ? a.value > b.value : a.value < b.value;
        }
        return a.position < b.position;
    }
    bool full(Index cell) const { return count_[Base::at(cell)] == k_; }
    /// The entries of a cell are a heap with the worst on top.
    const Entry& worst(Index cell) const { return entries_[Base::at(cell * k_)]; }

    void offer(Index cell, const Entry& entry) {
        const auto order = [&](const Entry& a, const Entry& b) { return better(a, b); };
        const auto begin = entries_.begin() + cell * k_;
        Index& n = count_[Base::at(cell)];
        if (n < k_) {
            begin[n++] = entry;
            std::push_heap(begin, begin + n, order);
        } else if (better(entry, *begin)) {
            std::pop_heap(begin, begin + n, order);
            begin[n - 1] = entry;
            std::push_heap(begin, begin + n, order);
        }
    }

    static void put(Array& out, Index i, T x) {
        const T clean = x != x ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(x + T{0});
        if (out.dtype == DType::Float16) {
            out.as<Half>()[i] = Half(static_cast<float>(clean));
        } else {
            out.as<T>()[i] = clean;
        }
    }

    Index k_;
    bool largest_;
    std::vector<Entry> entries_;
    std::vector<Index> count_;
};

class TopK final : public Operator {
  public:
    TopK(bool skipna, Index k, bool largest) : skipna_(skipna), k_(k), largest_(largest) {}
    std::string name() const override { return "top_k"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        const RunNeeds needs{kernel_dtype(domain.dtypes[0]), 1, skipna_, true};
        return dispatch(needs.dtype, [&]<class T>() -> std::unique_ptr<Partial> {
            if constexpr (std::is_arithmetic_v<T>) {
                return std::make_unique<TopKPartial<T>>(domain, needs, k_, largest_);
            } else {
                return nullptr;
            }
        });
    }

  private:
    bool skipna_;
    Index k_;
    bool largest_;
};

OperatorPtr make_top_k(const Options& options) {
    OptionReader reader(options, "top_k");
    const bool skipna = reader.boolean("skipna", true);
    const std::int64_t k = reader.integer("k", 10);
    const bool largest = reader.boolean("largest", true);
    reader.done();
    if (k < 1 || k > 1'000'000) {
        throw InvalidArgument(Problem{"top_k: k is out of range", text(k), "1 to 1000000", ""});
    }
    return std::make_shared<TopK>(skipna, k, largest);
}

}  // namespace

Registration register_top_k() {
    return {"top_k",
            "the k largest or smallest elements and where they are; options k, largest",
            make_top_k,
            {{"k", std::int64_t{3}}}};
}

}  // namespace fluvial::compute
