// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/operation.hpp"

#include <array>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/move/record.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

NamedOperator named(const std::string& name, std::vector<int> over = {}) {
    return {name, compute::make_operator(name), std::move(over)};
}

std::vector<NamedOperator> some_operators() {
    std::vector<NamedOperator> operators;
    operators.push_back(named("sum", {0, 1}));
    operators.push_back(named("mean"));
    operators.push_back(named("argmax"));
    operators.push_back({"largest", compute::make_operator("max"), {1, 2, 3}});
    return operators;
}

Batch batch_of(const std::vector<float>& items, std::size_t from, std::size_t count, int producer) {
    return {reinterpret_cast<const std::byte*>(items.data() + from), count * sizeof(float),
            producer, from * sizeof(float)};
}

/// What a single consumer ends with.
std::map<std::string, compute::Result> results_of(const Operation& operation) {
    return decode_results(operation.finish(operation.partial()));
}

template <class T>
std::vector<T> values(const std::map<std::string, compute::Result>& results,
                      const std::string& name, const std::string& part = "value") {
    const compute::Array& array = results.at(name).at(part);
    return {array.as<T>(), array.as<T>() + volume_of(array.shape)};
}

}  // namespace

TEST_CASE("a reduction of elements knows producer, element and place in it") {
    const Element element = Element::of(DType::Float32, {2, 3});
    const auto operation = make_reduction(some_operators(), element, 5);
    CHECK(operation->takes_parts());
    std::vector<float> items(7 * 6);
    std::iota(items.begin(), items.end(), 0.0F);
    items[4 * 6 + 5] = 1000;  // element 4, place (1, 2)
    operation->absorb(batch_of(items, 0, items.size(), 3));
    const std::vector<float> others(6, 50.0F);
    operation->absorb(batch_of(others, 0, others.size(), 1));
    const auto results = results_of(*operation);
    CHECK(results.at("sum").at("value").shape == Coordinates{2, 3});
    CHECK(values<double>(results, "sum")[0] == 0 + 6 + 12 + 18 + 24 + 30 + 36 + 50);
    CHECK(values<Index>(results, "argmax", "coordinates") == std::vector<Index>{3, 4, 1, 2});
    CHECK(results.at("largest").at("value").shape == Coordinates{5});
    CHECK(values<float>(results, "largest")[1] == 50);
    CHECK(values<float>(results, "largest")[3] == 1000);
}

TEST_CASE("any cut of the elements, over any consumers, gives the same result") {
    const std::uint32_t seed = test_seed(4096);
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Element element = Element::of(DType::Float32, {3, 1, 5, 2});
    constexpr int ranks = 4;
    const auto operators = [] {
        std::vector<NamedOperator> list;
        list.push_back(named("sum", {0, 1}));
        list.push_back(named("count", {1, 2, 3}));
        list.push_back(named("argmin"));
        list.push_back({"mean", compute::make_operator("mean"), {0, 1, 5}});
        return list;
    };
    for (int round = 0; round < 20; ++round) {
        const auto at_once = make_reduction(operators(), element, ranks);
        std::array consumers = {make_reduction(operators(), element, ranks),
                                make_reduction(operators(), element, ranks)};
        for (int producer = 0; producer < ranks; ++producer) {
            std::vector<float> items(30 * (random() % 9));
            for (float& item : items) {
                item = static_cast<float>(random() % 4096) - 2048;
            }
            at_once->absorb(batch_of(items, 0, items.size(), producer));
            Operation& mine = *consumers[static_cast<std::size_t>(producer) % 2];
            for (std::size_t from = 0; from < items.size();) {
                const std::size_t count =
                    std::min<std::size_t>(1 + random() % 100, items.size() - from);
                mine.absorb(batch_of(items, from, count, producer));
                from += count;
            }
        }
        const auto expected = at_once->finish(at_once->partial());
        auto merged = consumers[0]->merge(consumers[0]->partial(), consumers[1]->partial());
        CHECK(consumers[1]->finish(merged) == expected);
    }
}

TEST_CASE("a partial may be taken while elements still come") {
    const auto operation = make_reduction({named("sum")}, Element::of(DType::Float32), 1);
    const std::vector<float> items = {1, 2, 4};
    operation->absorb(batch_of(items, 0, 2, 0));
    CHECK(values<double>(results_of(*operation), "sum")[0] == 3);
    operation->absorb(batch_of(items, 2, 1, 0));
    CHECK(values<double>(results_of(*operation), "sum")[0] == 7);
}

TEST_CASE("what operators cannot tell of nothing is thrown where results are wanted") {
    const auto operation =
        make_reduction({named("max"), named("sum")}, Element::of(DType::Int32), 2);
    const auto finished = operation->finish(operation->partial());
    CHECK_THROWS_WITH_AS(decode_results(finished), doctest::Contains("max"), InvalidArgument);
    const std::int32_t seven = 7;
    operation->absorb({reinterpret_cast<const std::byte*>(&seven), sizeof seven, 1, 0});
    CHECK(values<std::int32_t>(results_of(*operation), "max")[0] == 7);
}

TEST_CASE("many ranks and large elements leave positions countable") {
    const auto operation =
        make_reduction({named("argmax")}, Element::of(DType::UInt8, {Index{1} << 30}), 1 << 20);
    const std::vector<std::uint8_t> part = {1, 9, 3};
    const Index place = (Index{1} << 30) * 5 + 77;
    operation->absorb({reinterpret_cast<const std::byte*>(part.data()), part.size(), (1 << 20) - 1,
                       static_cast<std::uint64_t>(place)});
    CHECK(values<Index>(results_of(*operation), "argmax", "coordinates") ==
          std::vector<Index>{(1 << 20) - 1, 5, 78});
}

TEST_CASE("what a reduction of elements refuses") {
    const Element element = Element::of(DType::Float32, {2});
    CHECK_THROWS_AS(make_reduction({}, element, 2), InvalidArgument);
    CHECK_THROWS_AS(make_reduction({named("sum", {0, 2})}, element, 2), InvalidArgument);
    CHECK_THROWS_AS(make_reduction({named("sum", {1, 3})}, element, 2), InvalidArgument);
    CHECK_THROWS_AS(make_reduction({named("sum"), named("sum", {1})}, element, 2), InvalidArgument);
    CHECK_THROWS_AS(make_reduction({named("sum")}, Element::varying(64), 2), InvalidArgument);
    const auto operation = make_reduction({named("max")}, element, 2);
    CHECK_THROWS_AS(operation->absorb({nullptr, 8, 0, std::uint64_t{1} << 60}), InvalidArgument);
}

TEST_CASE("results of any dtype and shape cross as bytes") {
    std::map<std::string, compute::Result> results;
    compute::Array& value = results["a"]["value"] = compute::Array(DType::Complex64, {2, 0, 3});
    CHECK(value.bytes.empty());
    results["b"]["coordinates"] = compute::Array(DType::Int64, {});
    *results["b"]["coordinates"].as<Index>() = -7;
    const auto back = decode_results(encode_results(results));
    CHECK(back.at("a").at("value").dtype == DType::Complex64);
    CHECK(back.at("a").at("value").shape == Coordinates{2, 0, 3});
    CHECK(values<Index>(back, "b", "coordinates") == std::vector<Index>{-7});
    CHECK(decode_results({}).empty());
    const auto bytes = encode_results(results);
    CHECK_THROWS_AS(decode_results(std::span(bytes).first(bytes.size() - 1)), Error);
}

TEST_CASE("a callback sees batches as they are") {
    std::vector<float> seen;
    const auto operation = make_callback([&](const Batch& batch) {
        const auto* items = reinterpret_cast<const float*>(batch.data);
        seen.insert(seen.end(), items, items + batch.bytes / sizeof(float));
    });
    CHECK_FALSE(operation->takes_parts());
    CHECK(make_callback([](const Batch&) {}, true)->takes_parts());
    CHECK_THROWS_AS(make_callback(nullptr), InvalidArgument);
    const std::vector<float> items = {3, 1, 4};
    operation->absorb(batch_of(items, 0, 2, 0));
    operation->absorb(batch_of(items, 2, 1, 0));
    CHECK(seen == items);
    CHECK(operation->finish(operation->merge(operation->partial(), {})).empty());
}

TEST_CASE("records of varying size are visited up to the padding") {
    std::vector<std::byte> bytes(128);
    std::size_t at = 0;
    const auto put = [&](const std::string& word) {
        const std::uint64_t length = word.size();
        std::memcpy(bytes.data() + at, &length, sizeof length);
        std::memcpy(bytes.data() + at + 8, word.data(), word.size());
        at += move::record_bytes(word.size());
    };
    put("ab");
    put("");
    put("eight by");
    put("nine byte");
    const auto words = [&](std::size_t length) {
        std::vector<std::string> all;
        for_each_record({bytes.data(), length, 0, 0}, [&](std::span<const std::byte> word) {
            all.emplace_back(reinterpret_cast<const char*>(word.data()), word.size());
        });
        return all;
    };
    const std::vector<std::string> expected = {"ab", "", "eight by", "nine byte"};
    CHECK(words(at) == expected);
    std::memcpy(bytes.data() + at, &move::skip_record, sizeof move::skip_record);
    CHECK(words(bytes.size()) == expected);
    CHECK(words(0).empty());
}
