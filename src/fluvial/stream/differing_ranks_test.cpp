// SPDX-License-Identifier: Apache-2.0
// Ranks that attach different streams, or begin different collectives, are told so on all of them.
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;
using compute::make_operator;

namespace {

bool is_last() {
    return world_rank() == world_size() - 1;
}

std::unique_ptr<Operation> reduction(compute::OperatorPtr op, std::vector<int> over = {}) {
    std::vector<NamedOperator> operators;
    operators.push_back({"x", std::move(op), std::move(over)});
    return make_reduction(std::move(operators), Element::of(DType::Int64), world_size());
}

/// What every rank is told of attaching a stream that is another one on the last rank; "" where
/// it is attached.
std::string refusal(const std::function<std::unique_ptr<Operation>()>& usual,
                    const std::function<std::unique_ptr<Operation>()>& odd,
                    const std::function<void(StreamOptions&)>& spoil = {}) {
    Channel channel = world_channel(Role::Both);
    StreamOptions options = whole_numbers();
    if (spoil && is_last()) {
        spoil(options);
    }
    std::string message;
    try {
        Stream stream(channel, options, is_last() ? odd() : usual());
    } catch (const InvalidArgument& error) {
        message = error.what();
    }
    channel.close();
    return message;
}

bool says(const std::string& message, const std::string& words) {
    INFO(message);
    return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("operators of a stream that differ by rank are refused on every rank") {
    const auto usual = [] { return reduction(make_operator("mean")); };
    CHECK(refusal(usual, usual).empty());
    CHECK(says(refusal(usual, [] { return reduction(make_operator("sum")); }),
               "the ranks differ in the operation of stream 0: got 'x': sum(skipna=true) over "
               "[0, 1] on rank"));
    CHECK(says(refusal(usual, [] { return reduction(make_operator("mean", {{"skipna", false}})); }),
               "mean(skipna=false)"));
    CHECK(says(refusal(usual, [] { return reduction(make_operator("mean"), {1}); }),
               "over [1] on rank"));
    CHECK(says(refusal(usual, [] { return make_callback([](const Batch&) {}); }),
               "got a function on rank"));
    CHECK(says(refusal(usual, [] { return std::unique_ptr<Operation>(); }), "got none on rank"));
}

TEST_CASE("functions of a stream may differ, unless what they declare does") {
    const auto function = [](std::string declared) {
        return [declared] { return make_callback([](const Batch&) {}, false, declared); };
    };
    CHECK(refusal(function("a function"), function("a function")).empty());
    CHECK(says(refusal(function("count, version '1'"), function("count, version '2'")),
               "got count, version '2' on rank"));
}

TEST_CASE("streams whose options differ in what decides where elements go are refused") {
    const auto none = [] { return std::unique_ptr<Operation>(); };
    const auto with = [&](const std::function<void(StreamOptions&)>& spoil) {
        return refusal(none, none, spoil);
    };
    CHECK(says(with([](StreamOptions& o) { o.element = Element::of(DType::Float64); }),
               "the elements of stream 0: got 8 bytes, float64"));
    CHECK(says(with([](StreamOptions& o) { o.element_type = "pairs"; }), "got 8 bytes, pairs"));
    CHECK(says(with([](StreamOptions& o) { o.association = Association::by_key(0, 4); }),
               "got choice by a key of 4 bytes at byte 0 on rank"));
    CHECK(says(with([](StreamOptions& o) { o.association = Association::by_real_key(0, 8, 8, 3); }),
               "real numbers of 8 bytes, sign in byte 3 on rank"));
    CHECK(says(with([](StreamOptions& o) { o.latency_s = 1.0000001e-3; }), "0.0010000001 on rank"));
    CHECK(with([](StreamOptions& o) { o.name = "others"; }).empty());
}

TEST_CASE("a stream whose elements do not hold the key is refused when it is attached") {
    Channel channel = world_channel(Role::Both);
    for (const Association& association :
         {Association::by_key(4, 8), Association::by_key(9, 1), Association::by_key(0, 9),
          Association::by_key(std::numeric_limits<std::size_t>::max(), 2),
          Association::by_real_key(8, 8, 8, 7)}) {
        StreamOptions options = whole_numbers();
        options.association = association;
        CHECK_THROWS_WITH_AS(Stream(channel, options),
                             doctest::Contains("allowed: inside its 8 bytes"), InvalidArgument);
    }
    StreamOptions options = whole_numbers();
    options.association = Association::by_key(6, 2);
    Stream stream(channel, options, make_callback([](const Batch&) {}));
    stream.put(std::int64_t{1});
    channel.close();
}

TEST_CASE("producers may leave the operation to the consumers, but not say another one") {
    if (world_size() < 3) {
        return;
    }
    const Role role = world_rank() == 0 ? Role::Producer : Role::Consumer;
    Channel channel = world_channel(role);
    {
        Stream stream(channel, whole_numbers(),
                      world_rank() == 0 ? nullptr : reduction(make_operator("mean")));
        if (world_rank() == 0) {
            stream.terminate();
        }
        if (world_rank() != 0) {
            stream.operate();
        }
    }
    CHECK_THROWS_WITH_AS(Stream(channel, whole_numbers(),
                                reduction(make_operator(world_rank() == 0 ? "sum" : "mean"))),
                         doctest::Contains("the ranks differ in the operation of stream 1"),
                         InvalidArgument);
    channel.close();
}

TEST_CASE("threshold collectives that differ by rank are refused on every rank") {
    Channel channel = world_channel(Role::Both);
    CHECK_THROWS_WITH_AS(ThresholdCollective::sum_over(channel, is_last() ? 2.0 : 1.0),
                         doctest::Contains("the limit of a threshold collective: got 2 on rank"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(ThresholdCollective::sum_over(channel, 1.0, is_last() ? 7 : 8),
                         doctest::Contains("rounds_ahead of a threshold collective: got 7"),
                         InvalidArgument);
    const auto rule = [](std::string declared) {
        ThresholdRule rule;
        rule.merge = [](std::vector<std::byte> a, std::span<const std::byte>) { return a; };
        rule.judge = [](std::span<const std::byte>, int, int) { return std::optional(true); };
        rule.declared = std::move(declared);
        return rule;
    };
    CHECK_THROWS_WITH_AS(
        ThresholdCollective(channel, rule(is_last() ? "first, version '2'" : "first")),
        doctest::Contains("the functions of a threshold collective: got first, version '2' on"),
        InvalidArgument);
    ThresholdCollective fine(channel, rule("first"));
    channel.close();
}
