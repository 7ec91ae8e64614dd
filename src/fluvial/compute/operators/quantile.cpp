// SPDX-License-Identifier: Apache-2.0
/// quantile: of n elements the number at rank q (n - 1), interpolated linearly between its two
/// neighbours, as numpy.quantile does; with weights, of the first element at which the weight so
/// far reaches q Σw (NumPy's method "inverted_cdf"). Elements are compared as float64. NaN when any
/// element is NaN (unless skipna) and of nothing. Real types.
///
/// "value" is within "error" of the exact quantile: 0 for up to 1 / accuracy + 2 elements a kept
/// position and wherever one number alone is possible, and never more than `accuracy` (default
/// 1e-3) of the range of the data. A state takes up to 8 bytes an element, and no more than 10 /
/// accuracy bytes a kept position (with weights: 16 bytes an element at first). All are float64 in
/// the kept shape, then one entry a q. "low" and "high" (one entry more: below and above the rank)
/// are bounds of the two elements that the quantile lies between.
///
/// Given as options of the same name to a quantile of the same data, they let it look at nothing
/// else: repeated until every low is its high, this gives exact quantiles.
#include <algorithm>
#include <cmath>

#include "fluvial/compute/operators/quantile_neighbours.hpp"
#include "fluvial/compute/operators/table_counter.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest = std::numeric_limits<double>::max();
constexpr Interval finite = {-largest, largest};
/// Memory of a narrowing pass, for elements of all kept positions.
constexpr Index narrowing_bytes = Index{64} << 20;
constexpr Index narrowing_min = 1024, narrowing_max = Index{1} << 20;

class QuantilePartial final : public RunPartial {
  public:
    /// `scopes`: for each cell and q where the two elements lie; none: no idea.
    QuantilePartial(const Domain& domain, const RunNeeds& needs, std::vector<double> q,
                    const SketchGrid& grid, std::vector<Interval> scopes)
        : RunPartial("quantile", domain, needs),
          q_(std::move(q)),
          grid_(grid),
          scopes_(std::move(scopes)),
          sketches_(static_cast<std::size_t>(cells()) * sketches_a_cell()),
          elements_(scopes_.empty() ? 0 : static_cast<std::size_t>(cells())) {}

    unsigned summary_parts() const override { return scopes_.empty() ? summary_bounds : 0u; }

    void absorb_run(const Run& run) override {
        if (run.dtype == DType::Float32) {
            absorb<float>(run);
        } else {
            absorb<double>(run);
        }
    }
    void end_of_runs() override { counter_.settle(); }

    void merge(const Partial& other) override {
        const auto& o = static_cast<const QuantilePartial&>(other);
        for (std::size_t i = 0; i < sketches_.size(); ++i) {
            sketches_[i].merge(o.sketches_[i], grid_);
        }
        for (std::size_t cell = 0; cell < elements_.size(); ++cell) {
            elements_[cell] += o.elements_[cell];
        }
    }

    Result finish() const override {
        Coordinates shape = kept_shape();
        shape.push_back(static_cast<Index>(q_.size()));
        Array value(DType::Float64, shape), error(DType::Float64, shape);
        shape.push_back(2);
        Array low(DType::Float64, shape), high(DType::Float64, shape);
        std::size_t at = 0;
        for (Index cell = 0; cell < cells(); ++cell) {
            std::vector<QuantileSketch> sorted = sorted_sketches(cell);
            for (std::size_t k = 0; k < q_.size(); ++k, ++at) {
                const Neighbours found =
                    scopes_.empty() ? estimate(sorted.front(), q_[k]) : narrowed(sorted, cell, k);
                value.as<double>()[at] = found.value();
                error.as<double>()[at] = found.error();
                low.as<double>()[2 * at] = found.lower.low;
                low.as<double>()[2 * at + 1] = found.upper.low;
                high.as<double>()[2 * at] = found.lower.high;
                high.as<double>()[2 * at + 1] = found.upper.high;
            }
        }
        return {{"value", std::move(value)},
                {"error", std::move(error)},
                {"low", std::move(low)},
                {"high", std::move(high)}};
    }

    std::vector<std::byte> encode() const override {
        ByteWriter out;
        out.put_string(name());
        out.put(cells());
        out.put(grid_.cells_max);
        out.put_vector(elements_);
        for (const QuantileSketch& sketch : sketches_) {
            sketch.encode(out);
        }
        return out.take();
    }

    void decode(std::span<const std::byte> bytes) override {
        ByteReader in(bytes);
        const std::string from = in.get_string();
        const auto count = in.get<Index>();
        const auto cells_max = in.get<Index>();
        if (from != name() || count != cells() || cells_max != grid_.cells_max) {
            throw InvalidArgument(Problem{"this state belongs to another quantile",
                                          text(from, " over ", count, " cells"),
                                          text(cells(), " cells of the same accuracy"), ""});
        }
        elements_ = in.get_vector<double>();
        for (QuantileSketch& sketch : sketches_) {
            sketch.decode(in);
        }
    }

  private:
    std::size_t sketches_a_cell() const { return scopes_.empty() ? 1 : 2 * q_.size(); }

    template <class T>
    void absorb(const Run& run) {
        if (!scopes_.empty()) {
            absorb_narrowed<T>(run);
        } else if (run.cell_step != 0 || run.summary == nullptr || run.weights != nullptr ||
                   !absorb_whole<T>(run)) {
            each<T>(run, [&](Index cell, T x, double weight, Index) {
                QuantileSketch& sketch = sketches_[static_cast<std::size_t>(cell)];
                note_weights(run, sketch);
                add(sketch, finite, static_cast<double>(x), weight);
            });
        }
    }

    /// Absorbs a run of one cell, with neither weights nor a mask; false: it has non-finite values.
    template <class T>
    bool absorb_whole(const Run& run) {
        const Interval range{static_cast<double>(run.summary->min.as<T>()),
                             static_cast<double>(run.summary->max.as<T>())};
        if (run.summary->nan || !finite.contains(range.low) || !finite.contains(range.high)) {
            return false;
        }
        QuantileSketch& sketch = sketches_[static_cast<std::size_t>(run.cell)];
        // The tables are worth their making where the next run is of the same cell.
        const bool repeated = run.cell == last_cell_;
        last_cell_ = run.cell;
        if (!repeated || !sketch.make_room(run.count, range, grid_)) {
            sketch.add_all(run.as<T>(), run.count, range, grid_);
        } else if (!counter_.count(run, sketch)) {
            sketch.count_all(run.as<T>(), run.count, grid_);
        }
        return true;
    }

    template <class T>
    void absorb_narrowed(const Run& run) {
        const std::size_t many = sketches_a_cell();
        each<T>(run, [&](Index cell, T, double, Index) {
            elements_[static_cast<std::size_t>(cell)] += 1;
        });
        for (std::size_t k = 0; k < many; ++k) {
            if (run.cell_step == 0) {
                absorb_narrowed<T>(run, static_cast<std::size_t>(run.cell) * many + k);
                continue;
            }
            each<T>(run, [&](Index cell, T x, double weight, Index) {
                const std::size_t at = static_cast<std::size_t>(cell) * many + k;
                if (looks_at(at)) {
                    note_weights(run, sketches_[at]);
                    add(sketches_[at], scopes_[at], static_cast<double>(x), weight);
                }
            });
        }
    }

    /// A run of one cell, nearly all of which is below or above the scope.
    template <class T>
    void absorb_narrowed(const Run& run, std::size_t at) {
        if (!looks_at(at)) {
            return;
        }
        QuantileSketch& sketch = sketches_[at];
        note_weights(run, sketch);
        const Interval scope = scopes_[at];
        double below = 0, above = 0;
        each<T>(run, [&](Index, T value, double weight, Index) {
            const auto x = static_cast<double>(value);
            below += x < scope.low ? weight : 0;
            above += x > scope.high ? weight : 0;
            if (!(x < scope.low || x > scope.high)) {
                add(sketch, scope, x, weight);
            }
        });
        sketch.add_below(below);
        sketch.add_above(above);
    }

    /// Elements that are known need no sketch; two in one interval share the sketch of the lower.
    bool looks_at(std::size_t at) const {
        return !scopes_[at].exact() && (at % 2 == 0 || !(scopes_[at] == scopes_[at - 1]));
    }
    static void note_weights(const Run& run, QuantileSketch& sketch) {
        if (run.weights != nullptr) {
            sketch.note_weights();
        }
    }

    void add(QuantileSketch& sketch, const Interval& scope, double x, double weight) {
        if (scope.contains(x)) {
            sketch.add(x, weight, grid_);
        } else if (x < scope.low) {
            sketch.add_below(weight);
        } else if (x > scope.high) {
            sketch.add_above(weight);
        } else {
            sketch.note_nan();
        }
    }

    std::vector<QuantileSketch> sorted_sketches(Index cell) const {
        const auto many = static_cast<std::ptrdiff_t>(sketches_a_cell());
        std::vector<QuantileSketch> sorted(sketches_.begin() + cell * many,
                                           sketches_.begin() + (cell + 1) * many);
        for (QuantileSketch& sketch : sorted) {
            sketch.settle(grid_);
        }
        return sorted;
    }

    Neighbours estimate(const QuantileSketch& sketch, double q) const {
        if (sketch.has_nan() || !(sketch.total() > 0)) {
            return {{nan, nan}, {nan, nan}, 0};
        }
        const double rank = sketch.weighted() ? 0 : q * (sketch.total() - 1);
        const double number = std::floor(rank);
        Neighbours found;
        found.lower = sketch.element_at(number, q, grid_);
        found.fraction = rank - number;
        found.upper = found.fraction > 0 ? sketch.element_at(number + 1, q, grid_) : found.lower;
        return found;
    }

    Neighbours narrowed(const std::vector<QuantileSketch>& sketches, Index cell,
                        std::size_t k) const {
        const std::size_t at = static_cast<std::size_t>(cell) * sketches_a_cell() + 2 * k;
        const Interval lower = scopes_[at], upper = scopes_[at + 1];
        if (lower.low != lower.low) {
            return {{nan, nan}, {nan, nan}, 0};
        }
        const QuantileSketch& sketch = sketches[2 * k];
        const double rank =
            sketch.weighted() ? 0 : q_[k] * (elements_[static_cast<std::size_t>(cell)] - 1);
        const double number = std::floor(rank);
        Neighbours found;
        found.lower = narrowed(sketch, lower, number, q_[k]);
        found.fraction = rank - number;
        found.upper = found.fraction == 0 ? found.lower
                                          : narrowed(upper == lower ? sketch : sketches[2 * k + 1],
                                                     upper, number + 1, q_[k]);
        return found;
    }

    Interval narrowed(const QuantileSketch& sketch, const Interval& scope, double number,
                      double share) const {
        if (scope.exact()) {
            return scope;
        }
        if (sketch.has_nan()) {
            return {nan, nan};
        }
        const Interval element = sketch.element_at(number, share, grid_);
        if (!scope.contains(element.low)) {
            throw InvalidArgument(Problem{"quantile: the data has changed since the pass before",
                                          text("an element from ", element.low, " on"),
                                          text(scope.low, " to ", scope.high),
                                          "Leave the data as it is"});
        }
        return element;
    }

    std::vector<double> q_;
    SketchGrid grid_;
    std::vector<Interval> scopes_;  ///< cells · q · (lower, upper)
    std::vector<QuantileSketch> sketches_;
    std::vector<double> elements_;  ///< of each cell, when narrowed
    TableCounter counter_;
    Index last_cell_ = -1;
};

class Quantile final : public Operator {
  public:
    Quantile(bool skipna, std::vector<double> q, double accuracy, std::vector<double> low,
             std::vector<double> high)
        : skipna_(skipna),
          q_(std::move(q)),
          accuracy_(accuracy),
          low_(std::move(low)),
          high_(std::move(high)) {}
    std::string name() const override { return "quantile"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        const DType dtype = kernel_dtype(domain.dtypes[0]);
        const RunNeeds needs{dtype == DType::Float32 ? DType::Float32 : DType::Float64, 1, skipna_,
                             false};
        SketchGrid grid;
        grid.dtype = dtype;
        grid.cells_max = static_cast<Index>(std::ceil(1 / accuracy_)) + 2;
        const std::vector<Interval> scopes = scopes_for(domain);
        if (!scopes.empty()) {
            grid.by_bits = true;
            grid.cells_max =
                std::clamp(narrowing_bytes / static_cast<Index>(scopes.size() * sizeof(double)),
                           narrowing_min, narrowing_max);
        }
        return std::make_unique<QuantilePartial>(domain, needs, q_, grid, scopes);
    }

  private:
    std::vector<Interval> scopes_for(const Domain& domain) const {
        if (low_.empty() && high_.empty()) {
            return {};
        }
        const std::size_t wanted =
            static_cast<std::size_t>(volume_of(domain.kept_shape())) * q_.size() * 2;
        if (low_.size() != wanted || high_.size() != wanted) {
            throw InvalidArgument(Problem{
                "quantile: low and high do not fit",
                text(low_.size(), " and ", high_.size(), " numbers"),
                text(wanted, ": below and above each q of each kept position"),
                "Give what a quantile of the same data has found, with the same q and axes"});
        }
        std::vector<Interval> scopes(wanted);
        for (std::size_t i = 0; i < wanted; ++i) {
            scopes[i] = {low_[i], high_[i]};
        }
        return scopes;
    }

    bool skipna_;
    std::vector<double> q_;
    double accuracy_;
    std::vector<double> low_, high_;
};

OperatorPtr make_quantile(const Options& options) {
    OptionReader reader(options, "quantile");
    const bool skipna = reader.boolean("skipna", true);
    std::vector<double> q = reader.numbers("q");
    const double accuracy = reader.number("accuracy", 1e-3);
    // Whether the caller looks at the data again, with the `low` and `high` that were found: all
    // ranks take part in that, so they compare it.
    reader.boolean("again", false);
    std::vector<double> low, high;
    if (options.count("low") != 0 || options.count("high") != 0) {
        low = reader.numbers("low");
        high = reader.numbers("high");
    }
    reader.done();
    const auto outside =
        std::find_if_not(q.begin(), q.end(), [](double x) { return x >= 0 && x <= 1; });
    if (q.empty() || outside != q.end()) {
        throw InvalidArgument(Problem{"quantile: q is out of range",
                                      q.empty() ? "no number" : text(*outside),
                                      "one number or more, from 0 to 1", ""});
    }
    if (!(accuracy >= 1e-6 && accuracy <= 0.5)) {
        throw InvalidArgument(Problem{"quantile: accuracy is out of range", text(accuracy),
                                      "1e-6 to 0.5, of the range of the data",
                                      "A state needs memory in proportion to 1 / accuracy"});
    }
    return std::make_shared<Quantile>(skipna, std::move(q), accuracy, std::move(low),
                                      std::move(high));
}

}  // namespace

Registration register_quantile() {
    return {"quantile",
            "quantiles to an accuracy relative to the data's range; options q, accuracy",
            make_quantile,
            {{"q", std::vector<double>{0, 0.25, 0.5, 1}}, {"accuracy", 0.02}}};
}

}  // namespace fluvial::compute
