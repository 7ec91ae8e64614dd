// SPDX-License-Identifier: Apache-2.0
/// histogram and histogram2d over fixed edges, in NumPy's convention: bins are half-open, the last
/// one closed. Real types, compared as float64. What lies outside is counted apart: "underflow" and
/// "overflow" (1-D), "outside" (2-D), and "nan". Counts are int64 (exact, bitwise reproducible),
/// float64 when weighted. "value" has the kept shape, then one entry a bin; "edges" (1-D),
/// "edges_x" and "edges_y" (2-D) are what was given.
#include <algorithm>

#include "fluvial/compute/operators/bin_edges.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

using SharedEdges = std::shared_ptr<const BinEdges>;

/// One row of counts a cell; counts are whole numbers below 2^53 until a weight is seen.
class Rows {
  public:
    Rows(Index cells, Index width)
        : width_(width), count_(static_cast<std::size_t>(cells * width)), weighted_(1) {}

    void note_weights(const Run& run) { weighted_[0] |= run.weights != nullptr; }
    double* row(Index cell) { return count_.data() + cell * width_; }
    const double* row(Index cell) const { return count_.data() + cell * width_; }
    void merge(const Rows& other) {
        for (std::size_t i = 0; i < count_.size(); ++i) {
            count_[i] += other.count_[i];
        }
        weighted_[0] |= other.weighted_[0];
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(count_);
        visit(weighted_);
    }
    /// Entries [begin, begin + shape's volume) of every row.
    Array columns(const Coordinates& kept, Index begin, const Coordinates& shape) const {
        Coordinates all = kept;
        for (const Index n : shape) {
            all.push_back(n);
        }
        Array out(weighted_[0] ? DType::Float64 : DType::Int64, all);
        const Index wide = volume_of(shape), cells = volume_of(kept);
        for (Index cell = 0; cell < cells; ++cell) {
            for (Index i = 0; i < wide; ++i) {
                const double count = row(cell)[begin + i];
                if (weighted_[0]) {
                    out.as<double>()[cell * wide + i] = count;
                } else {
                    out.as<Index>()[cell * wide + i] = static_cast<Index>(count);
                }
            }
        }
        return out;
    }

  private:
    Index width_;
    std::vector<double> count_;
    std::vector<std::uint8_t> weighted_;
};

/// A row is: below, the bins, above, NaN. NaN has a bin anyway: to skip it, that bin is left out,
/// and no run has to be looked through beforehand.
class HistogramPartial final : public StatePartial<HistogramPartial> {
  public:
    HistogramPartial(const Domain& domain, const RunNeeds& needs, bool skipna, SharedEdges edges)
        : StatePartial("histogram", domain, needs),
          skipna_(skipna),
          edges_(std::move(edges)),
          rows_(cells(), edges_->bins() + 3) {}

    void absorb_run(const Run& run) override {
        rows_.note_weights(run);
        if (few_bins() && run.cell_step == 0 && run.weights == nullptr) {
            count_few(run);
            return;
        }
        for (Index begin = 0; begin < run.count; begin += block_max) {
            const Index end = std::min(begin + block_max, run.count);
            find_bins(run, begin, end);
            count(run, begin, end);
        }
    }
    void end_of_runs() override { settle(); }
    bool takes_swapped() const override { return few_bins(); }
    void merge(const Partial& other) override { rows_.merge(same(other).rows_); }
    template <class Visit>
    void fields(Visit&& visit) {
        rows_.fields(visit);
    }
    Result finish() const override {
        const Index bins = edges_->bins();
        return {{"value", rows_.columns(kept_shape(), 1, {bins})},
                {"underflow", rows_.columns(kept_shape(), 0, {})},
                {"overflow", rows_.columns(kept_shape(), bins + 1, {})},
                {"nan", rows_.columns(kept_shape(), bins + 2, {})},
                {"edges", edges_->array()}};
    }

  private:
    static constexpr Index few_bins_max = 2048;
    static constexpr Index block_max = 2048;    ///< their bins stay in the first-level cache
    static constexpr Index entries_max = 8192;  ///< of 16 tables: 32 KiB
    static constexpr Index few_count_max = Index{1} << 31;  ///< and a run more: fit into 32 bits

    bool few_bins() const { return edges_->bins() <= few_bins_max; }
    Index row_width() const { return edges_->bins() + 3; }
    Index tables() const { return 16 * row_width() <= entries_max ? 16 : 8; }

    /// Writes the bins of elements [begin, end) of the run to bin_.
    void find_bins(const Run& run, Index begin, Index end) {
        bin_.resize(at(block_max));
        const BinSearch search = edges_->search();
        if (run.dtype == DType::Float32) {
            kernels().histogram_bins_float(run.as<float>() + begin, end - begin, search,
                                           bin_.data());
        } else {
            kernels().histogram_bins_double(run.as<double>() + begin, end - begin, search,
                                            bin_.data());
        }
    }

    void count(const Run& run, Index begin, Index end) {
        const std::int32_t nan = static_cast<std::int32_t>(edges_->bins()) + 1;
        for (Index i = begin; i < end; ++i) {
            const std::int32_t bin = bin_[at(i - begin)];
            const bool included = run.included == nullptr || run.included[i] != 0;
            if (included && !(skipna_ && bin == nan)) {
                rows_.row(run.cell + i * run.cell_step)[bin + 1] +=
                    run.weights == nullptr ? 1.0 : run.weights[i];
            }
        }
    }

    /// Into tables that are added to the row of their cell by settle().
    void count_few(const Run& run) {
        if (run.cell != few_cell_ || few_count_ > few_count_max) {
            settle();
        }
        few_cell_ = run.cell;
        few_count_ += run.count;
        few_.resize(at(tables() * row_width()));
        const BinTables to{few_.data(), static_cast<std::int32_t>(tables()),
                           static_cast<std::int32_t>(row_width())};
        const BinSearch search = edges_->search();
        if (run.dtype == DType::Float32) {
            kernels().count_bins_float[run.swapped](run.as<float>(), run.count, search, to);
        } else {
            kernels().count_bins_double[run.swapped](run.as<double>(), run.count, search, to);
        }
    }

    void settle() {
        if (few_count_ == 0) {
            return;
        }
        const Index width = row_width();
        for (Index table = 1; table < tables(); ++table) {
            for (Index k = 0; k < width; ++k) {
                few_[at(k)] += few_[at(table * width + k)];
            }
        }
        double* const row = rows_.row(few_cell_);
        for (Index k = 0; k < width - (skipna_ ? 1 : 0); ++k) {
            row[k] += few_[at(k)];
        }
        std::fill(few_.begin(), few_.end(), 0);
        few_count_ = 0;
    }

    bool skipna_;
    SharedEdges edges_;
    Rows rows_;
    std::vector<std::int32_t> bin_;
    std::vector<std::uint32_t> few_;  ///< counts of cell few_cell_ that its row does not have yet
    Index few_cell_ = 0, few_count_ = 0;
};

/// A row is: the bins (x slowest), outside, NaN.
class Histogram2DPartial final : public StatePartial<Histogram2DPartial> {
  public:
    Histogram2DPartial(const Domain& domain, const RunNeeds& needs, SharedEdges x, SharedEdges y)
        : StatePartial("histogram2d", domain, needs),
          x_(std::move(x)),
          y_(std::move(y)),
          bins_(x_->bins() * y_->bins()),
          rows_(cells(), bins_ + 2) {}

    void absorb_run(const Run& run) override {
        rows_.note_weights(run);
        bin_x_.resize(at(run.count));
        bin_y_.resize(at(run.count));
        kernels().histogram_bins_double(run.as<double>(0), run.count, x_->search(), bin_x_.data());
        kernels().histogram_bins_double(run.as<double>(1), run.count, y_->search(), bin_y_.data());
        for (Index i = 0; i < run.count; ++i) {
            if (run.included == nullptr || run.included[i] != 0) {
                rows_.row(run.cell + i * run.cell_step)[column(bin_x_[at(i)], bin_y_[at(i)])] +=
                    run.weights == nullptr ? 1.0 : run.weights[i];
            }
        }
    }
    void merge(const Partial& other) override { rows_.merge(same(other).rows_); }
    template <class Visit>
    void fields(Visit&& visit) {
        rows_.fields(visit);
    }
    Result finish() const override {
        return {{"value", rows_.columns(kept_shape(), 0, {x_->bins(), y_->bins()})},
                {"outside", rows_.columns(kept_shape(), bins_, {})},
                {"nan", rows_.columns(kept_shape(), bins_ + 1, {})},
                {"edges_x", x_->array()},
                {"edges_y", y_->array()}};
    }

  private:
    Index column(std::int32_t x, std::int32_t y) const {
        if (x > x_->bins() || y > y_->bins()) {
            return bins_ + 1;
        }
        const bool inside = x >= 0 && y >= 0 && x < x_->bins() && y < y_->bins();
        return inside ? x * y_->bins() + y : bins_;
    }

    SharedEdges x_, y_;
    Index bins_;
    Rows rows_;
    std::vector<std::int32_t> bin_x_, bin_y_;
};

class Histogram final : public Operator {
  public:
    Histogram(bool skipna, SharedEdges edges) : skipna_(skipna), edges_(std::move(edges)) {}
    std::string name() const override { return "histogram"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        const bool single = kernel_dtype(domain.dtypes[0]) == DType::Float32;
        const RunNeeds needs{single ? DType::Float32 : DType::Float64, 1, false, false};
        return std::make_unique<HistogramPartial>(domain, needs, skipna_, edges_);
    }

  private:
    bool skipna_;
    SharedEdges edges_;
};

class Histogram2D final : public Operator {
  public:
    Histogram2D(bool skipna, SharedEdges x, SharedEdges y)
        : skipna_(skipna), x_(std::move(x)), y_(std::move(y)) {}
    std::string name() const override { return "histogram2d"; }
    int inputs() const override { return 2; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        return std::make_unique<Histogram2DPartial>(
            domain, RunNeeds{DType::Float64, 2, skipna_, false}, x_, y_);
    }

  private:
    bool skipna_;
    SharedEdges x_, y_;
};

OperatorPtr make_histogram(const Options& options) {
    OptionReader reader(options, "histogram");
    const bool skipna = reader.boolean("skipna", false);
    auto edges = std::make_shared<BinEdges>(reader.numbers("edges"), "histogram");
    reader.done();
    return std::make_shared<Histogram>(skipna, std::move(edges));
}

OperatorPtr make2d(const Options& options) {
    OptionReader reader(options, "histogram2d");
    const bool skipna = reader.boolean("skipna", false);
    auto x = std::make_shared<BinEdges>(reader.numbers("edges_x"), "histogram2d");
    auto y = std::make_shared<BinEdges>(reader.numbers("edges_y"), "histogram2d");
    reader.done();
    return std::make_shared<Histogram2D>(skipna, std::move(x), std::move(y));
}

}  // namespace

Registration register_histogram() {
    return {"histogram",
            "counts between fixed edges; option edges",
            make_histogram,
            {{"edges", std::vector<double>{-20, -3, 0, 1, 40}}}};
}
Registration register_histogram2d() {
    return {"histogram2d",
            "counts of pairs between fixed edges; options edges_x, edges_y",
            make2d,
            {{"edges_x", std::vector<double>{-30, -10, 10, 30}},
             {"edges_y", std::vector<double>{-20, -1, 0, 50}}}};
}

}  // namespace fluvial::compute
