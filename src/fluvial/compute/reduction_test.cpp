// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/reduction.hpp"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "fluvial/compute/apply.hpp"
#include "fluvial/compute/conformance.hpp"
#include "fluvial/compute/merge_states.hpp"
#include "fluvial/compute/operators/mpi_function.hpp"
#include "fluvial/compute/per_cell.hpp"
#include "fluvial/compute/registry.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

double value_of(const std::map<std::string, Result>& results, const std::string& name) {
    return *results.at(name).at("value").as<double>();
}

std::vector<double> ramp(Index n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    std::iota(x.begin(), x.end(), 0.0);
    return x;
}

/// A user's operator: the largest step between neighbours along the last axis... of whole chunks
/// would depend on the split, so this one takes the range, max - min, which does not.
class Range final : public Operator {
  public:
    std::string name() const override { return "range"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        if (domain.dtypes[0] != DType::Float64) {
            throw InvalidArgument(Problem{"range does not work on this dtype",
                                          std::string(name_of(domain.dtypes[0])), "float64", ""});
        }
        if (static_cast<int>(domain.over.size()) < domain.selection.ndim()) {
            return per_cell_identity(*this, domain);
        }
        return std::make_unique<State>(domain);
    }

  private:
    struct State final : Partial {
        explicit State(Domain d) : domain(std::move(d)) {}
        void absorb(const Piece& piece) override {
            check_piece(piece, domain, "range");
            std::vector<double> x(static_cast<std::size_t>(piece.where.volume()));
            gather_doubles(piece.inputs[0], x.data());
            for (const double v : x) {
                low = std::min(low, v);
                high = std::max(high, v);
            }
        }
        void merge(const Partial& other) override {
            low = std::min(low, static_cast<const State&>(other).low);
            high = std::max(high, static_cast<const State&>(other).high);
        }
        Result finish() const override {
            Array out(DType::Float64, {});
            *out.as<double>() = high - low;
            return {{"value", out}};
        }
        std::vector<std::byte> encode() const override {
            const double both[] = {low, high};
            const auto bytes = std::as_bytes(std::span(both));
            return {bytes.begin(), bytes.end()};
        }
        void decode(std::span<const std::byte> bytes) override {
            std::memcpy(&low, bytes.data(), sizeof low);
            std::memcpy(&high, bytes.data() + sizeof low, sizeof high);
        }
        Domain domain;
        double low = 1e300, high = -1e300;
    };
};

extern "C" void largest_int32(void* in, void* inout, int* length, void* datatype) {
    const auto* a = static_cast<const std::int32_t*>(in);
    auto* b = static_cast<std::int32_t*>(inout);
    CHECK(*static_cast<std::uintptr_t*>(datatype) == 42);
    for (int i = 0; i < *length; ++i) {
        b[i] = std::max(a[i], b[i]);
    }
}

}  // namespace

TEST_CASE("elements of an array are read as what they are, or as bytes") {
    Array numbers(DType::Int64, {3});
    numbers.as<std::int64_t>()[2] = 7;
    const Array& same = numbers;
    CHECK(same.as<Index>()[2] == 7);
    CHECK(same.as<std::byte>()[16] != std::byte{});
    CHECK_THROWS_WITH_AS(same.as<double>(),
                         "elements are read as another type than they have: got float64; allowed: "
                         "int64. Look at the dtype of the array first",
                         InvalidArgument);
    CHECK(same.as<std::uint64_t>()[2] == 7);
    CHECK_THROWS_AS(numbers.as<std::int32_t>(), InvalidArgument);
    CHECK_THROWS_AS(numbers.as<float>(), InvalidArgument);
}

TEST_CASE("several operators, each with its inputs, in one pass over blocks") {
    constexpr Index rows = 300, columns = 5000;
    const auto x = ramp(rows * columns);
    std::vector<float> y(x.begin(), x.end());
    for (float& v : y) {
        v = -v;
    }
    Reduction reduction(
        {{"sum", make_operator("sum"), {0}},
         {"mean", make_operator("mean"), {0}},
         {"lowest", make_operator("min"), {1}},
         {"where", make_operator("argmin"), {1}},
         {"sq",
          make_apply<double, 2>([](double a, double b) { return a + b; }, make_operator("norm")),
          {0, 1}}},
        make_domain(whole({rows, columns}), {}, {DType::Float64, DType::Float32}));
    const ArrayView views[] = {{x.data(), DType::Float64, {rows, columns}},
                               {y.data(), DType::Float32, {rows, columns}}};
    reduction.absorb({views, whole({rows, columns})});
    const auto results = reduction.finish();
    const double n = rows * columns;
    CHECK(value_of(results, "sum") == n * (n - 1) / 2);
    CHECK(value_of(results, "mean") == (n - 1) / 2);
    CHECK(*results.at("lowest").at("value").as<float>() == -(n - 1));
    CHECK(results.at("where").at("coordinates").as<Index>()[0] == rows - 1);
    CHECK(results.at("where").at("coordinates").as<Index>()[1] == columns - 1);
    CHECK(value_of(results, "sq") == 0);
}

TEST_CASE("the example at the head of reduction.hpp") {
    const std::vector<double> u{1, 2, 6}, v{5, 9, 7};
    const ArrayView views[] = {{u.data(), DType::Float64, {3}}, {v.data(), DType::Float64, {3}}};
    const Domain domain = make_domain(whole({3}), {}, {DType::Float64, DType::Float64});
    const std::vector<Piece> pieces = {{views, whole({3})}};
    const std::vector<Reduction::Entry> entries = {{"mean", make_operator("mean"), {0}},
                                                   {"fastest", make_operator("max"), {1}}};
    const auto bytes_of_another_rank = [&] {
        Reduction other(entries, domain);
        other.absorb(pieces[0]);
        return other.encode();
    }();

    Reduction reduction(entries, domain);
    for (const Piece& piece : pieces) {
        reduction.absorb(piece);
    }
    reduction.merge_encoded(bytes_of_another_rank);
    const Array mean = reduction.finish().at("mean").at("value");
    CHECK(*mean.as<double>() == 3);
    CHECK(value_of(reduction.finish(), "fastest") == 9);
}

TEST_CASE("kept axes of long rows: stripes give the same as a plain loop") {
    constexpr Index rows = 7, columns = 10000;
    const auto x = ramp(rows * columns);
    Reduction reduction({{"sum", make_operator("sum"), {0}}, {"max", make_operator("max"), {0}}},
                        make_domain(whole({rows, columns}), {0}, {DType::Float64}));
    const ArrayView view(x.data(), DType::Float64, {rows, columns});
    reduction.absorb({{&view, 1}, whole({rows, columns})});
    const auto results = reduction.finish();
    int wrong = 0;
    for (Index c = 0; c < columns; ++c) {
        const auto cell = static_cast<double>(c);
        wrong += results.at("sum").at("value").as<double>()[c] != rows * cell + columns * 21.0;
        wrong += results.at("max").at("value").as<double>()[c] != (rows - 1) * columns + cell;
    }
    CHECK(wrong == 0);
}

TEST_CASE("blocks cover a view once and stay below their limit") {
    for (const Coordinates& extent :
         {Coordinates{100}, Coordinates{3, 9000}, Coordinates{9000, 3}, Coordinates{4, 5, 6}}) {
        for (const Index limit : {1, 7, 64, 5000, 1000000}) {
            for (const std::vector<int>& over : {std::vector<int>{}, std::vector<int>{0}}) {
                const Domain domain = make_domain(whole(extent), over, {DType::UInt8});
                std::vector<int> seen(static_cast<std::size_t>(volume_of(extent)));
                bool small = true;
                for_blocks(ArrayView(nullptr, DType::UInt8, extent), domain, limit,
                           [&](const Region& block) {
                               small = small && block.volume() <= limit;
                               for (Index i = 0; i < block.volume(); ++i) {
                                   Coordinates at = coordinates_of(i, block.extent);
                                   for (int axis = 0; axis < at.size(); ++axis) {
                                       at[axis] += block.offset[axis];
                                   }
                                   ++seen[static_cast<std::size_t>(linear_index(at, extent))];
                               }
                           });
                CHECK(small);
                CHECK(std::count(seen.begin(), seen.end(), 1) == volume_of(extent));
            }
        }
    }
}

TEST_CASE("the states of all operators travel as one message") {
    const auto x = ramp(1000);
    const Domain domain = make_domain(whole({1000}), {}, {DType::Float64});
    const auto make = [&] {
        return Reduction({{"m", make_operator("mean"), {}},
                          {"q", make_operator("quantile", {{"q", std::vector<double>{0.5}}}), {}}},
                         domain);
    };
    Reduction left = make(), right = make(), unequal({{"m", make_operator("mean"), {}}}, domain);
    const ArrayView low(x.data(), DType::Float64, {400}),
        high(x.data() + 400, DType::Float64, {600});
    left.absorb({{&low, 1}, {{0}, {400}}});
    right.absorb({{&high, 1}, {{400}, {600}}});
    left.merge_encoded(right.encode());
    const auto results = left.finish();
    CHECK(value_of(results, "m") == 499.5);
    CHECK(value_of(results, "q") == doctest::Approx(499).epsilon(0.01));
    CHECK_THROWS_AS(unequal.merge_encoded(right.encode()), InvalidArgument);
    const auto message = right.encode();
    CHECK_THROWS_AS(left.merge_encoded(std::span(message).first(20)), Error);
}

TEST_CASE("a weighted sum of integers is real, also where nothing counts") {
    const std::vector<std::uint64_t> x{1, 2, 3};
    const std::vector<double> w{1, 1, 1};
    const std::vector<std::uint8_t> none(3, 0);
    const ArrayView values(x.data(), DType::UInt64, {3}), weights(w.data(), DType::Float64, {3}),
        mask(none.data(), DType::UInt8, {3});
    const Domain domain = make_domain(whole({3}), {}, {DType::UInt64});
    for (const ArrayView* const given : {&weights, static_cast<const ArrayView*>(nullptr)}) {
        Reduction sum({{"sum", make_operator("sum"), {}}}, domain);
        sum.absorb({{&values, 1}, whole({3}), given, &mask});
        CHECK(sum.finish().at("sum").at("value").dtype ==
              (given == nullptr ? DType::UInt64 : DType::Float64));
    }
}

TEST_CASE("two states become one, in the order in which they are given") {
    const auto x = ramp(30);
    const Domain domain = make_domain(whole({30}), {}, {DType::Float64});
    const auto fresh = [&] {
        return Reduction({{"sum", make_operator("sum"), {}}, {"max", make_operator("max"), {}}},
                         domain);
    };
    const auto state_of = [&](Index begin, Index count) {
        Reduction part = fresh();
        const ArrayView view(x.data() + begin, DType::Float64, {count});
        part.absorb({{&view, 1}, {{begin}, {count}}});
        return part.encode();
    };
    const auto a = state_of(0, 10), b = state_of(10, 20), none = fresh().encode();
    CHECK(merge_states(fresh, a, b) == state_of(0, 30));
    CHECK(merge_states(fresh, a, none) == a);
    CHECK_THROWS_AS(merge_states(fresh, a, std::span(b).first(20)), Error);
    const auto other = [&] { return Reduction({{"sum", make_operator("sum"), {}}}, domain); };
    CHECK_THROWS_AS(merge_states(other, a, b), InvalidArgument);
}

TEST_CASE("the mean of 1e9 equal float32 values is exact to 1 ulp") {
    const std::vector<float> chunk(1 << 16, 0.1f);
    constexpr Index chunks = 15259;  // 1,000,013,824 elements
    const Index n = static_cast<Index>(chunk.size());
    const auto partial =
        make_operator("mean")->identity(make_domain(whole({n * chunks}), {}, {DType::Float32}));
    const ArrayView view(chunk.data(), DType::Float32, {n});
    for (Index i = 0; i < chunks; ++i) {
        partial->absorb({{&view, 1}, {{i * n}, {n}}});
    }
    const double mean = *partial->finish().at("value").as<double>();
    const double exact = static_cast<double>(0.1f);
    CHECK(static_cast<float>(mean) == 0.1f);
    CHECK(std::abs(mean - exact) <=
          std::nextafter(exact, 1.0) - exact);  // even to 1 ulp of float64
}

TEST_CASE("a variance does not suffer from a large mean") {
    std::vector<double> x;
    for (int i = 0; i < 100000; ++i) {
        x.push_back(1e9 + (i % 2));
    }
    const Index n = static_cast<Index>(x.size());
    const auto partial =
        make_operator("variance")->identity(make_domain(whole({n}), {}, {DType::Float64}));
    const ArrayView view(x.data(), DType::Float64, {n});
    partial->absorb({{&view, 1}, whole({n})});
    CHECK(*partial->finish().at("value").as<double>() == doctest::Approx(0.25).epsilon(1e-12));
}

TEST_CASE("a C++ class is an operator like any other") {
    ConformanceOptions options;
    options.dtypes = {DType::Float64};
    options.weights = options.masks = false;
    options.tolerance = 0;
    Conformance(Range(), 7).run(options);
    CHECK_THROWS_AS(Range().identity(make_domain(whole({2}), {}, {DType::Int8})), InvalidArgument);
}

TEST_CASE("an MPI_User_function is an operator") {
    const OperatorPtr op = make_mpi_operator(largest_int32, DType::Int32, 42);
    ConformanceOptions options;
    options.dtypes = {DType::Int32};
    options.weights = false;
    options.tolerance = 0;
    Conformance(*op, 11).run(options);
    Conformance(*op, 11).run_swapped(options);
    std::vector<std::int32_t> x(100003, -5);
    x[77777] = 9;
    const Index n = static_cast<Index>(x.size());
    const auto partial = op->identity(make_domain(whole({n}), {}, {DType::Int32}));
    const ArrayView view(x.data(), DType::Int32, {n});
    partial->absorb({{&view, 1}, whole({n})});
    CHECK(*partial->finish().at("value").as<std::int32_t>() == 9);
    CHECK_THROWS_AS(op->identity(make_domain(whole({2}), {}, {DType::Int64})), InvalidArgument);
    CHECK_THROWS_AS(make_mpi_operator(nullptr, DType::Int32), InvalidArgument);
}

TEST_CASE("a derived expression is reduced as if it were an array") {
    const OperatorPtr speed = make_apply<float, 3>(
        [](double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); },
        make_operator("max"));
    CHECK(speed->inputs() == 3);
    ConformanceOptions options;
    options.dtypes = {DType::Float32, DType::Int16};
    options.tolerance = 0;
    Conformance(*speed, 3).run(options);
    Conformance(*speed, 3).run_swapped(options);
}

TEST_CASE("mistakes are named") {
    const Domain domain = make_domain(whole({4, 5}), {}, {DType::Float64});
    CHECK_THROWS_WITH_AS(Reduction({{"none", nullptr, {}}}, domain),
                         doctest::Contains("'none' has no operator"), InvalidArgument);
    CHECK_THROWS_WITH_AS(make_operator("quantil"), doctest::Contains("quantile"), InvalidArgument);
    CHECK_THROWS_WITH_AS(make_operator("mean", {{"skip", true}}), doctest::Contains("skipna"),
                         InvalidArgument);
    CHECK_THROWS_AS(make_operator("mean", {{"skipna", 1.0}}), InvalidArgument);
    CHECK_THROWS_AS(make_operator("histogram"), InvalidArgument);
    CHECK_THROWS_AS(make_operator("histogram", {{"edges", std::vector<double>{1, 1, 2}}}),
                    InvalidArgument);
    CHECK_THROWS_AS(make_operator("norm", {{"p", -1.0}}), InvalidArgument);
    CHECK_THROWS_AS(make_operator("top_k", {{"k", std::int64_t{0}}}), InvalidArgument);
    CHECK_THROWS_AS(make_operator("quantile", {{"q", std::vector<double>{1.5}}}), InvalidArgument);
    CHECK_THROWS_WITH_AS(
        make_operator("max")->identity(make_domain(whole({2}), {}, {DType::Complex64})),
        doctest::Contains("complex64"), InvalidArgument);
    CHECK_THROWS_AS(make_domain(whole({4, 5}), {2}, {DType::Float64}), InvalidArgument);
    CHECK_THROWS_AS(make_domain(whole({4, 5}), {0, -2}, {DType::Float64}), InvalidArgument);
    CHECK_THROWS_AS(
        Reduction({{"a", make_operator("sum"), {}}, {"a", make_operator("max"), {}}}, domain),
        InvalidArgument);
    CHECK_THROWS_AS(Reduction({{"a", make_operator("sum"), {1}}}, domain), InvalidArgument);
    const auto partial = make_operator("sum")->identity(domain);
    const std::vector<double> x(20);
    const ArrayView view(x.data(), DType::Float64, {4, 5}), wrong(x.data(), DType::Int64, {4, 5});
    CHECK_THROWS_AS(partial->absorb({{&view, 1}, {{1, 0}, {4, 5}}}),
                    InvalidArgument);  // sticks out
    CHECK_THROWS_AS(partial->absorb({{&view, 1}, {{0, 0}, {4, 4}}}), InvalidArgument);
    CHECK_THROWS_AS(partial->absorb({{&wrong, 1}, whole({4, 5})}), InvalidArgument);
    ArrayView swapped = view;
    swapped.swapped = true;
    CHECK_THROWS_WITH_AS(partial->absorb({{&swapped, 1}, whole({4, 5})}),
                         doctest::Contains("Reduction"), InvalidArgument);
    Reduction reduction({{"a", make_operator("sum"), {}}}, domain);
    CHECK_THROWS_AS(reduction.absorb({{&view, 1}, whole({4, 5}), &swapped}), InvalidArgument);
    CHECK_THROWS_AS(partial->decode(make_operator("max")->identity(domain)->encode()),
                    InvalidArgument);
    CHECK_THROWS_AS(
        make_operator("product")->identity(domain)->absorb({{&view, 1}, whole({4, 5}), &view}),
        InvalidArgument);
}
