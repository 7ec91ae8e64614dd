// SPDX-License-Identifier: Apache-2.0
/// quantile: by DDSketch (Masson, Rim, Lee, doi:10.14778/3352063.3352135), which merges without
/// loss, so that the result does not depend on the split. Each quantile is within `accuracy`
/// (relative, default 0.01) of the element of rank floor(q (n - 1)), NumPy's method "lower";
/// magnitudes below 2.3e-308 count as 0; q = 0 and 1 are exact. With weights: of the first element
/// at which the weight so far reaches q Σw. float64, the kept shape, then one entry a q. NaN when
/// any element is NaN (unless skipna) and of nothing. Real types, as float64.
///
/// Buckets are those of the linear interpolation of log2 (exponent + fraction), so a bucket is
/// found by shifting bits; never more than 1.5e3 / accuracy of 8 bytes a sign and cell, and as many
/// as the data spans in practice.
#include <algorithm>
#include <bit>
#include <limits>

#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

/// Bucket of a positive number and back. Bucket widths in log2(x)'s linear interpolation are
/// ln(gamma), so that the bounds of a bucket never differ by more than gamma = (1 + accuracy) / (1
/// - accuracy).
struct Mapping {
    double per_unit;

    explicit Mapping(double accuracy) : per_unit(1 / std::log((1 + accuracy) / (1 - accuracy))) {}
    std::int32_t bucket(double x) const {
        constexpr std::int64_t bias = std::int64_t{1023} << 52;
        const auto interpolated =
            static_cast<double>(std::bit_cast<std::int64_t>(x) - bias) * 0x1p-52;
        return static_cast<std::int32_t>(std::floor(interpolated * per_unit));
    }
    double lower(std::int32_t bucket) const {
        const double interpolated = bucket / per_unit;
        const double exponent = std::floor(interpolated);
        return std::ldexp(1 + (interpolated - exponent), static_cast<int>(exponent));
    }
    /// The number whose relative distance to both bounds is the same.
    double value(std::int32_t bucket) const {
        const double low = lower(bucket), high = lower(bucket + 1);
        return std::isinf(high) ? low : low / (low / high + 1) * 2;
    }
};

/// Counts of a contiguous range of buckets that grows as needed.
struct Buckets {
    std::int32_t first = 0;
    std::vector<double> count;

    void add(std::int32_t bucket, double weight) {
        if (count.empty()) {
            first = bucket;
        }
        if (bucket < first) {
            const auto room = std::max<std::size_t>(static_cast<std::size_t>(first - bucket), 32);
            count.insert(count.begin(), room, 0.0);
            first -= static_cast<std::int32_t>(room);
        }
        const auto i = static_cast<std::size_t>(bucket - first);
        if (i >= count.size()) {
            count.resize(std::max(i + 1, count.size() + 32));
        }
        count[i] += weight;
    }
    void merge(const Buckets& other) {
        for (std::size_t i = 0; i < other.count.size(); ++i) {
            if (other.count[i] != 0) {
                add(other.first + static_cast<std::int32_t>(i), other.count[i]);
            }
        }
    }
};

struct Sketch {
    Buckets negative, positive;
    double zero = 0, total = 0;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    double below = 0, above = 0;  ///< weight of the infinities
    bool nan = false, weighted = false;

    void add(double x, double w, const Mapping& mapping) {
        if (x != x) {
            nan = true;
            return;
        }
        total += w;
        least = std::min(least, x);
        most = std::max(most, x);
        const double magnitude = std::abs(x);
        if (magnitude < std::numeric_limits<double>::min()) {
            zero += w;
        } else if (std::isinf(x)) {
            (x < 0 ? below : above) += w;
        } else {
            (x < 0 ? negative : positive).add(mapping.bucket(magnitude), w);
        }
    }
    void merge(const Sketch& other) {
        negative.merge(other.negative);
        positive.merge(other.positive);
        zero += other.zero;
        total += other.total;
        least = std::min(least, other.least);
        most = std::max(most, other.most);
        below += other.below;
        above += other.above;
        nan = nan || other.nan;
        weighted = weighted || other.weighted;
    }
    double quantile(double q, const Mapping& mapping) const {
        if (nan || total <= 0) {
            return std::numeric_limits<double>::quiet_NaN();
        }
        if (q == 0 || q == 1) {
            return (q == 0 ? least : most) + 0.0;
        }
        // The element whose cumulated count exceeds the rank; weights: reaches their share.
        const double rank = weighted ? std::nextafter(q * total, 0.0) : std::floor(q * (total - 1));
        double seen = below;
        if (seen > rank) {
            return -std::numeric_limits<double>::infinity();
        }
        for (std::size_t i = negative.count.size(); i-- > 0;) {
            seen += negative.count[i];
            if (seen > rank) {
                return within(-mapping.value(negative.first + static_cast<std::int32_t>(i)));
            }
        }
        seen += zero;
        if (seen > rank) {
            return 0.0;
        }
        for (std::size_t i = 0; i < positive.count.size(); ++i) {
            seen += positive.count[i];
            if (seen > rank) {
                return within(mapping.value(positive.first + static_cast<std::int32_t>(i)));
            }
        }
        return most + 0.0;
    }
    double within(double x) const { return std::clamp(x, least, most); }
};

class QuantilePartial final : public RunPartial {
  public:
    QuantilePartial(const Domain& domain, const RunNeeds& needs, std::vector<double> q,
                    double accuracy)
        : RunPartial("quantile", domain, needs),
          q_(std::move(q)),
          mapping_(accuracy),
          sketches_(static_cast<std::size_t>(cells())) {}

    void absorb_run(const Run& run) override {
        for (Index i = 0; i < run.count; ++i) {
            if (run.included == nullptr || run.included[i] != 0) {
                Sketch& sketch = sketches_[static_cast<std::size_t>(run.cell + i * run.cell_step)];
                sketch.weighted = sketch.weighted || run.weights != nullptr;
                sketch.add(run.as<double>()[i], run.weights == nullptr ? 1.0 : run.weights[i],
                           mapping_);
            }
        }
    }

    void merge(const Partial& other) override {
        const auto& o = static_cast<const QuantilePartial&>(other);
        for (std::size_t cell = 0; cell < sketches_.size(); ++cell) {
            sketches_[cell].merge(o.sketches_[cell]);
        }
    }

    Result finish() const override {
        Coordinates shape = kept_shape();
        shape.push_back(static_cast<Index>(q_.size()));
        Array out(DType::Float64, shape);
        double* next = out.as<double>();
        for (const Sketch& sketch : sketches_) {
            for (const double q : q_) {
                *next++ = sketch.quantile(q, mapping_);
            }
        }
        return {{"value", std::move(out)}};
    }

    std::vector<std::byte> encode() const override {
        ByteWriter out;
        out.put(cells());
        out.put(mapping_);
        for (const Sketch& s : sketches_) {
            for (const Buckets* buckets : {&s.negative, &s.positive}) {
                out.put(buckets->first);
                out.put_vector(buckets->count);
            }
            for (const double number : {s.zero, s.total, s.least, s.most, s.below, s.above}) {
                out.put(number);
            }
            out.put(s.nan);
            out.put(s.weighted);
        }
        return out.take();
    }

    void decode(std::span<const std::byte> bytes) override {
        ByteReader in(bytes);
        const auto count = in.get<Index>();
        const auto mapping = in.get<double>();
        if (count != cells() || mapping != mapping_.per_unit) {
            throw InvalidArgument(Problem{"this state belongs to another quantile",
                                          text(count, " cells"),
                                          text(cells(), " cells of the same accuracy"), ""});
        }
        for (Sketch& s : sketches_) {
            for (Buckets* buckets : {&s.negative, &s.positive}) {
                buckets->first = in.get<std::int32_t>();
                buckets->count = in.get_vector<double>();
            }
            for (double* number : {&s.zero, &s.total, &s.least, &s.most, &s.below, &s.above}) {
                *number = in.get<double>();
            }
            s.nan = in.get<bool>();
            s.weighted = in.get<bool>();
        }
    }

  private:
    std::vector<double> q_;
    Mapping mapping_;
    std::vector<Sketch> sketches_;
};

class Quantile final : public Operator {
  public:
    Quantile(bool skipna, std::vector<double> q, double accuracy)
        : skipna_(skipna), q_(std::move(q)), accuracy_(accuracy) {}
    std::string name() const override { return "quantile"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        return std::make_unique<QuantilePartial>(
            domain, RunNeeds{DType::Float64, 1, skipna_, false}, q_, accuracy_);
    }

  private:
    bool skipna_;
    std::vector<double> q_;
    double accuracy_;
};

OperatorPtr make(const Options& options) {
    OptionReader reader(options, "quantile");
    const bool skipna = reader.boolean("skipna", false);
    std::vector<double> q = reader.numbers("q");
    const double accuracy = reader.number("accuracy", 0.01);
    reader.done();
    if (q.empty() || !std::all_of(q.begin(), q.end(), [](double x) { return x >= 0 && x <= 1; })) {
        throw InvalidArgument(Problem{"quantile: q is out of range", text(q.size(), " numbers"),
                                      "one or more from 0 to 1", ""});
    }
    if (!(accuracy >= 1e-6 && accuracy <= 0.5)) {
        throw InvalidArgument(Problem{"quantile: accuracy is out of range", text(accuracy),
                                      "1e-6 to 0.5",
                                      "Buckets need memory in proportion to 1 / accuracy"});
    }
    return std::make_shared<Quantile>(skipna, std::move(q), accuracy);
}

}  // namespace

Registration register_quantile() {
    return {"quantile",
            "quantiles to a relative accuracy; options q, accuracy",
            make,
            {{"q", std::vector<double>{0, 0.25, 0.5, 1}}, {"accuracy", 0.02}}};
}

}  // namespace fluvial::compute
