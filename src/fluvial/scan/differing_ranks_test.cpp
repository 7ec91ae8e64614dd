// SPDX-License-Identifier: Apache-2.0
// Ranks that ask different things of one scan are told so on all of them, and results that are to
// be reproducible are.
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/compute/apply.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/scan_fixture.hpp"
#include "fluvial/scan/scan_reference.hpp"
#include "fluvial/scan/variable.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using compute::make_apply;
using compute::make_operator;
using store::ClassicFixture;
using store::ClassicType;

namespace {

Request request_of(DatasetPtr data, compute::OperatorPtr op) {
    return {{{{std::move(data)}, {}}}, {}, {{"result", std::move(op), {}}}, {}, {}, {}, {}};
}

/// One scan, whose request or options `spoil` changes on the last rank.
class Odd {
  public:
    explicit Odd(World& world)
        : world_(world),
          data_(affine_dataset(random_elements({32, 64}, world.random), false, 0, 0)) {}

    /// What every rank is told; "" where the scan runs.
    std::string refusal(const std::function<void(Request&, Options&)>& prepare,
                        const std::function<void(Request&, Options&)>& spoil) {
        Request request = request_of(data_, make_operator("histogram", {{"edges", edges()}}));
        Options options;
        options.buffer_bytes = 4096;
        prepare(request, options);
        if (world_.comm.rank() == world_.comm.size() - 1) {
            spoil(request, options);
        }
        try {
            run(request, options, world_.comm);
        } catch (const InvalidArgument& error) {
            return error.what();
        }
        return "";
    }
    std::string refusal(const std::function<void(Request&, Options&)>& spoil) {
        return refusal([](Request&, Options&) {}, spoil);
    }

    static std::vector<double> edges() { return {-1000, 0, 1000}; }
    const DatasetPtr& data() const { return data_; }

  private:
    World& world_;
    DatasetPtr data_;
};

bool says(const std::string& message, const std::string& words) {
    INFO(message);
    return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("operators that differ by rank are refused on every rank, with both of them") {
    World world;
    const int last = world.comm.size() - 1;
    Odd odd(world);
    const auto with = [&](compute::OperatorPtr op) {
        return odd.refusal([&](Request& r, Options&) { r.entries[0].op = op; });
    };
    CHECK(with(make_operator("histogram", {{"edges", std::vector<double>{-1000, 0, 999}}})) ==
          text("the ranks differ in the operator of 'result': got histogram(edges=[-1000, 0, 999], "
               "skipna=false) on rank ",
               last,
               "; allowed: histogram(edges=[-1000, 0, 1000], skipna=false) as on rank 0. Give "
               "every rank the same operator with the same options"));
    CHECK(says(with(make_operator("histogram", {{"edges", Odd::edges()}, {"skipna", true}})),
               "skipna=true) on rank"));
    CHECK(says(with(make_operator("mean")), "got mean(skipna=true) on rank"));
    // Options that say what is so anyway make no difference.
    CHECK(with(make_operator("histogram", {{"edges", Odd::edges()}, {"skipna", false}})).empty());
    CHECK(says(odd.refusal([](Request& r, Options&) { r.entries[0].name = "other"; }),
               "the names of the results: got 'other'"));
    const auto square = [](double x) { return x * x; };
    const auto mapped = [&](const char* version) {
        return make_apply<double, 1>(square, make_operator("sum"), "square", version);
    };
    const auto use = [&](const char* version) {
        return [&, version](Request& r, Options&) { r.entries[0].op = mapped(version); };
    };
    CHECK(odd.refusal(use("1"), use("1")).empty());
    CHECK(says(odd.refusal(use("1"), use("2")), "square, version '2' as float64 of 1 inputs on"));
    CHECK(world.comm.sum(1) == world.comm.size());
}

TEST_CASE("conditions, axes, weights and decodings that differ by rank are refused") {
    World world;
    Odd odd(world);
    const auto warmer = [](double bound) {
        return
            [bound](Request& r, Options&) { r.where = {compare(0, Comparison::Greater, bound)}; };
    };
    CHECK(odd.refusal(warmer(0.25), warmer(0.25)).empty());
    CHECK(says(odd.refusal(warmer(0.25), warmer(0.5)),
               "the ranks differ in the conditions: got input 0 > 0.5 on rank"));
    CHECK(says(odd.refusal(warmer(0.25), [](Request& r, Options&) { r.where.clear(); }),
               "got none on rank"));
    const auto own = [](const char* declared) {
        return [declared](Request& r, Options&) {
            r.where = {Predicate([](auto, const Region&, auto) {}, declared)};
        };
    };
    CHECK(odd.refusal(own("warm"), own("warm")).empty());
    CHECK(says(odd.refusal(own("warm"), own("warm, version '2'")), "got warm, version '2' on"));
    CHECK(says(odd.refusal([](Request& r, Options&) { r.over = {1}; }),
               "the axes to reduce over: got [1]"));
    CHECK(says(
        odd.refusal([](Request& r, Options&) { r.weights = {{0, std::vector<double>(32, 0.5)}}; }),
        "the weights: got along axis 0 [0.5, 0.5,"));
    CHECK(says(odd.refusal([](Request& r, Options&) {
        r.inputs[0].decoding.packed = true;
        r.inputs[0].decoding.scale = 0.1;
    }),
               "how values of input 0 are decoded"));
    const auto shorter = affine_dataset(random_elements({32, 63}, world.random), false, 0, 0);
    CHECK(says(odd.refusal([&](Request& r, Options&) { r.inputs[0].parts = {shorter}; }),
               "float64 x 32 x 63"));
}

TEST_CASE("reads that differ by rank in size are refused, not mixed") {
    World world;
    Odd odd(world);
    CHECK(says(odd.refusal([](Request&, Options& o) { o.buffer_bytes = 8192; }),
               "the ranks differ in the bytes of a read: got 8192"));
    CHECK(says(odd.refusal([](Request&, Options& o) { o.reproducible = true; }),
               "whether the result is to be reproducible: got true"));
}

TEST_CASE("ranks may have selections of their own where they always could, and nothing else") {
    World world;
    Odd odd(world);
    const int rank = world.comm.rank();
    const auto own = [&](Options::Shuffle shuffle) {
        return [&, shuffle](Request& r, Options& o) {
            o.shuffle = shuffle;
            r.selection = select({{rank, 0}, {1 + rank, 64}});
        };
    };
    const auto as_well = [](Request&, Options&) {};
    CHECK(says(odd.refusal(own(Options::Shuffle::Common), as_well),
               "the ranks differ in the selection"));
    for (const auto shuffle : {Options::Shuffle::ToOne, Options::Shuffle::ToAll}) {
        CHECK(odd.refusal(own(shuffle), as_well).empty());
        CHECK(says(odd.refusal(own(shuffle),
                               [](Request& r, Options&) {
                                   r.entries[0].op = make_operator("quantile", {{"q", 0.5}});
                               }),
                   "the operator of 'result'"));
        CHECK(says(
            odd.refusal(own(shuffle),
                        [](Request& r, Options&) { r.where = {compare(0, Comparison::Less, 3)}; }),
            "input 0 < 3"));
    }
    const auto weighted = [&](Request& r, Options&) {
        r.weights = {{0, std::vector<double>(static_cast<std::size_t>(1 + rank), 2.0)}};
    };
    const auto weighted_parts = [&](Options::Shuffle shuffle) {
        return [&, shuffle](Request& r, Options& o) {
            own(shuffle)(r, o);
            weighted(r, o);
        };
    };
    CHECK(odd.refusal(weighted_parts(Options::Shuffle::ToOne), as_well).empty());
    CHECK(says(odd.refusal(own(Options::Shuffle::ToOne), weighted),
               "the weights: got along axis 0 on rank"));
    CHECK(odd.refusal(own(Options::Shuffle::ToAll), weighted).empty());
}

TEST_CASE("a reproducible scan keeps to its shares and is the same to the bit in every run") {
    World world;
    const int size = world.comm.size();
    Elements elements{{128 * size, 512}, {}};
    std::mt19937_64 random(20);
    std::uniform_real_distribution<double> exponent(-40, 40);
    for (Index i = 0; i < volume_of(elements.shape); ++i) {  // sums hang on the order
        elements.values.push_back((random() % 2 == 0 ? 1 : -1) * std::exp2(exponent(random)));
    }
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    Options options;
    options.reproducible = true;
    options.buffer_bytes = 4096;
    options.threads = 2;
    std::vector<std::byte> first;
    for (int turn = 0; turn < 4; ++turn) {
        Request request = request_of(data, make_operator("sum"));
        request.entries.push_back({"mean", make_operator("mean"), {}});
        // Another rank is slow in every run.
        const bool slow = world.comm.rank() == turn % size;
        request.where = {Predicate(
            [slow](auto&&, auto&&, auto&&) {
                if (slow) {
                    std::this_thread::sleep_for(std::chrono::microseconds(300));
                }
            },
            "all")};
        const Outcome outcome = run(request, options, world.comm);
        CHECK(outcome.stats.elements == 128 * 512);  // of this rank's share, and of no other
        std::vector<std::byte> bytes = outcome.groups[0].at("result").at("value").bytes;
        const auto& mean = outcome.groups[0].at("mean").at("value").bytes;
        bytes.insert(bytes.end(), mean.begin(), mean.end());
        first = turn == 0 ? bytes : first;
        CHECK(bytes == first);
    }
}

TEST_CASE("groups of which one is empty on some ranks alone, and results that lack elements") {
    World world;
    const int rank = world.comm.rank();
    ClassicFixture made;
    made.version = 5;
    made.dimensions = {{"y", 2}, {"x", 3}};  // 0, 7, 14 and 21, 28, 35
    made.variables = {
        {"i", {0, 1}, ClassicType::Int},
        {"m", {0, 1}, ClassicType::Int, {{"_FillValue", ClassicType::Int, {}, {20}}}}};
    const ScratchFile file(made.build());
    const Variable i = Variable::open({file.path()}, "i");
    const Variable m = Variable::open({file.path()}, "m");  // 13, 20, 27 and 34, 41, 48
    Options options;
    options.shuffle = Options::Shuffle::ToAll;
    const Reduced grouped = i.groupby("y", rank == 0 ? std::vector{0, 1} : std::vector{0, 2})
                                .reduce({"sum"}, {}, world.comm, options);
    CHECK(grouped.groups.at(0).at("sum").at("value").as<double>()[0] == 21);
    CHECK(grouped.groups.at(rank == 0 ? 1 : 2).at("sum").at("value").as<double>()[0] == 84);

    const Variable mine = m.isel("y", rank % 2);
    const Reduced own = mine.reduce({"sum"}, {}, world.comm, options, false);
    const double sum = own.results.at("sum").at("value").as<double>()[0];
    CHECK((rank % 2 == 0 ? std::isnan(sum) : sum == 34 + 41 + 48));
    options.shuffle = Options::Shuffle::ToOne;
    const Reduced all = mine.reduce({"sum"}, {}, world.comm, options, false);
    CHECK(std::isnan(all.results.at("sum").at("value").as<double>()[0]));
}
