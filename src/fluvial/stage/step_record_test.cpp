// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_record.hpp"

#include <cstring>
#include <new>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/stage/step_decoder.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

const TestSeed seed(90125);

/// One writer rank: its arena, its cell, its records.
struct Rank {
    Arena arena{"test", 1 << 20, 1 << 20};
    WriterCell cell{};
    RecordWriter writer{arena, cell};

    RecordReader reader(int rank = 0) const { return {rank, arena.file().size(), arena.at(0)}; }
    std::uint64_t put(const std::string& name, DType dtype, const Coordinates& shape,
                      const Region& region, const Attributes& attributes = {}) {
        const auto bytes = static_cast<std::uint64_t>(region.volume()) * size_of(dtype);
        const std::uint64_t offset = arena.allocate(bytes);
        writer.add(name, dtype, shape, attributes, region, offset);
        return offset;
    }
    StepDescription read_back(RecordReader& reader) {
        StepDescription step;
        reader.read(writer.finish(), cell.definitions.load(), step);
        return step;
    }
};

}  // namespace

TEST_CASE("what was put is read back: names, dtypes, shapes, chunks, attributes") {
    Rank rank;
    RecordReader reader = rank.reader();
    rank.writer.define_series({{{"openPMD", std::string("1.1.0")}}});
    rank.writer.begin({{"time", 0.5}});
    const auto first = rank.put("x", DType::Float64, {10, 3}, {{0, 0}, {4, 3}}, {{"unitSI", 2.0}});
    const auto second =
        rank.put("x", DType::Float64, {10, 3}, {{6, 0}, {4, 3}}, {{"axis", std::string("i")}});
    rank.put("scalar", DType::Int8, {}, {});
    rank.put("nothing", DType::Complex64, {0, 5}, {{0, 0}, {0, 5}});
    const StepDescription step = rank.read_back(reader);
    CHECK(step.attributes == Attributes{{"time", 0.5}});
    CHECK(reader.series().attributes == Attributes{{"openPMD", std::string("1.1.0")}});
    REQUIRE(step.datasets.size() == 3);
    const DatasetDescription& x = step.datasets.at("x");
    CHECK(x.dtype == DType::Float64);
    CHECK(x.shape == Coordinates{10, 3});
    CHECK(x.attributes == Attributes{{"axis", std::string("i")}, {"unitSI", 2.0}});
    REQUIRE(x.chunks.size() == 2);
    CHECK(x.chunks[0].region == Region{{0, 0}, {4, 3}});
    CHECK(x.chunks[0].here() == rank.arena.at(first));
    CHECK(x.chunks[1].here() == rank.arena.at(second));
    CHECK(step.datasets.at("scalar").chunks[0].region.volume() == 1);
    CHECK(step.datasets.at("nothing").shape == Coordinates{0, 5});
}

TEST_CASE("attributes are kept for later steps until they are given anew") {
    Rank rank;
    RecordReader reader = rank.reader();
    const auto attributes_of = [&](const Attributes& given) {
        rank.writer.begin({});
        rank.put("x", DType::Int32, {1}, {{0}, {1}}, given);
        return rank.read_back(reader).datasets.at("x").attributes;
    };
    CHECK(attributes_of({{"a", true}}) == Attributes{{"a", true}});
    CHECK(attributes_of({}) == Attributes{{"a", true}});
    CHECK(attributes_of({{"a", false}, {"b", 1.0}}) == Attributes{{"a", false}, {"b", 1.0}});
    CHECK(attributes_of({}) == Attributes{{"a", false}, {"b", 1.0}});
}

TEST_CASE("what a step that is given up says of datasets does not hold for later ones") {
    Rank rank;
    RecordReader reader = rank.reader();
    const auto put = [&](const Attributes& given, bool fails) {
        rank.writer.begin({});
        if (!given.empty()) {
            rank.writer.say("later", given);
        }
        rank.put("x", DType::Int32, {1}, {{0}, {1}}, given);
        if (fails) {
            rank.writer.unsay();
            return Attributes{};
        }
        return rank.read_back(reader).datasets.at("x").attributes;
    };
    put({{"bad", 1.0}}, true);  // the definition is there already
    CHECK(put({}, false) == Attributes{});
    CHECK(put({{"good", 1.0}}, false) == Attributes{{"good", 1.0}});
    put({{"bad", 2.0}}, true);
    CHECK(put({}, false) == Attributes{{"good", 1.0}});
    rank.writer.begin({});
    rank.put("later", DType::Int32, {1}, {{0}, {1}});
    CHECK(rank.read_back(reader).datasets.at("later").attributes == Attributes{{"good", 1.0}});
}

TEST_CASE("a step costs the same whatever its number") {
    Rank rank;
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;
    for (int step = 0; step < 1000; ++step) {
        rank.writer.begin({{"time", 1.0 * step}});
        const auto chunk = rank.put("x", DType::Int32, {4}, {{0}, {4}}, {{"unitSI", 1.0}});
        const RecordPlace place = rank.writer.finish();
        rank.arena.free(chunk);
        rank.arena.free(place.offset);
        if (step == 1) {
            bytes = place.bytes;
            used = rank.arena.used_bytes();
        }
        if (step > 1) {
            REQUIRE(place.bytes == bytes);
            REQUIRE(rank.arena.used_bytes() == used);
        }
    }
}

TEST_CASE("steps of one layout share their form, and those of others do not") {
    Rank one, two;
    std::vector<RecordReader> readers = {one.reader(0), two.reader(1)};
    StepDecoder decoder;
    const auto write = [&](int step, bool more) {
        std::vector<std::span<const std::byte>> records;
        for (Rank* rank : {&one, &two}) {
            const Index first = rank == &one ? 0 : 2;
            rank->writer.begin({{"time", 0.5 * step}});
            rank->put("x", DType::Int32, {4}, {{first}, {2}}, {{"unitSI", 2.0}});
            rank->put("y", DType::Int32, {8}, {{2 * first}, {4}});
            if (more && rank == &two) {
                rank->put("z", DType::Int8, {1}, {{0}, {1}});
            }
            auto& reader = readers[rank == &one ? 0 : 1];
            const RecordPlace place = rank->writer.finish();
            reader.follow_definitions(rank->cell.definitions.load());
            records.push_back(reader.record(place));
        }
        return decoder.decode(readers, records);
    };
    const auto check = [&](const StepDescription& record, int step, bool more) {
        CHECK(record.attributes == Attributes{{"time", 0.5 * step}});
        CHECK(record.datasets.size() == (more ? 3u : 2u));
        const DatasetDescription& x = record.datasets.at("x");
        CHECK(x.attributes == Attributes{{"unitSI", 2.0}});
        REQUIRE(x.chunks.size() == 2);
        CHECK(x.chunks[1].region == Region{{2}, {2}});
        CHECK(x.chunks[1].rank == 1);
    };
    std::set<const StepForm*> seen;
    const std::byte* last = nullptr;
    for (int step = 0; step < 12; ++step) {
        const bool more = step >= 4 && step < 8;
        auto form = write(step, more);
        seen.insert(form.get());
        StepDescription record = std::move(form->description);
        check(record, step, more);
        const std::byte* data = record.datasets.at("y").chunks[0].here();
        CHECK(data != last);  // nothing was freed
        CHECK(data > one.arena.at(0));
        last = data;
        StepForm::give_back(std::move(form), std::move(record));
    }
    CHECK(seen.size() <= 3);
    // Two of one layout that are open at a time are two.
    const auto first = write(12, false), second = write(13, false);
    CHECK(first != second);
    check(first->description, 12, false);
    check(second->description, 13, false);
}

TEST_CASE("a reader that comes late finds every definition") {
    Rank rank;
    for (int i = 0; i < 20; ++i) {
        rank.writer.begin({});
        rank.put(text("dataset ", i), DType::Int16, {i + 1}, {{0}, {i + 1}},
                 {{"number", std::int64_t{i}}});
        rank.writer.finish();
    }
    RecordReader late = rank.reader();
    rank.writer.begin({});
    rank.put("dataset 3", DType::Int16, {9}, {{0}, {9}});
    const StepDescription step = rank.read_back(late);
    CHECK(step.datasets.size() == 1);
    CHECK(step.datasets.at("dataset 3").shape == Coordinates{9});
    CHECK(step.datasets.at("dataset 3").attributes == Attributes{{"number", std::int64_t{3}}});
}

TEST_CASE("a dataset may change its dtype from step to step") {
    Rank rank;
    RecordReader reader = rank.reader();
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Float32}) {
        rank.writer.begin({});
        rank.put("x", dtype, {2}, {{0}, {2}});
        CHECK(rank.read_back(reader).datasets.at("x").dtype == dtype);
    }
}

TEST_CASE("the chunks of several ranks make one dataset; ranks that disagree are an error") {
    Rank ranks[2];
    StepDescription step;
    for (int r = 0; r < 2; ++r) {
        ranks[r].writer.begin({{"time", 1.0}});
        ranks[r].put("x", DType::Float32, {8}, {{4 * r}, {4}});
        ranks[r].reader(r).read(ranks[r].writer.finish(), ranks[r].cell.definitions.load(), step);
    }
    REQUIRE(step.datasets.at("x").chunks.size() == 2);
    CHECK(step.datasets.at("x").chunks[1].rank == 1);
    CHECK(step.datasets.at("x").chunks[1].region == Region{{4}, {4}});

    Rank third;
    third.writer.begin({});
    third.put("x", DType::Float32, {9}, {{8}, {1}});
    RecordReader reader = third.reader(2);
    CHECK_THROWS_WITH_AS(
        reader.read(third.writer.finish(), third.cell.definitions.load(), step),
        doctest::Contains("disagree about the dataset 'x': got float32(9,) on rank 2"), Error);
}

TEST_CASE("definitions that form a circle are an error, not an endless walk") {
    Rank rank;
    rank.writer.begin({});
    for (const char* name : {"a", "b", "c"}) {
        rank.put(name, DType::Int8, {1}, {{0}, {1}});
    }
    const RecordPlace place = rank.writer.finish();
    const std::uint64_t first = rank.cell.definitions.load();
    std::uint64_t second = 0;
    std::memcpy(&second, rank.arena.at(first), sizeof second);
    std::memcpy(rank.arena.at(second), &first, sizeof first);
    RecordReader reader = rank.reader();
    StepDescription step;
    CHECK_THROWS_WITH_AS(reader.read(place, first, step), doctest::Contains("circle"), Error);
}

TEST_CASE("corrupt memory gives an error or a record inside the memory, never a crash") {
    std::mt19937 random(seed);
    Rank rank;
    rank.writer.define_series({{{"author", std::string("somebody")}}});
    rank.writer.begin({{"time", 0.5}, {"words", std::vector<std::string>{"a", "b"}}});
    rank.put("x", DType::Float64, {10, 3}, {{0, 0}, {4, 3}},
             {{"unitDimension", std::vector<double>(7, 0.0)}});
    rank.put("y", DType::Int8, {100}, {{50}, {50}});
    rank.put("scalar", DType::Complex128, {}, {});
    const RecordPlace place = rank.writer.finish();
    const std::uint64_t first = rank.cell.definitions.load();
    // Everything that was allocated, and the end of the memory that the reader believes in right
    // behind it.
    const std::size_t used = place.offset + place.bytes;
    const std::size_t believed = (used + 63) / 64 * 64;
    int refused = 0;
    for (int round = 0; round < 30000; ++round) {
        auto* memory = static_cast<std::byte*>(::operator new(believed, std::align_val_t{64}));
        std::memcpy(memory, rank.arena.at(0), believed);
        RecordPlace where = place;
        std::uint64_t start = first;
        for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
            const std::size_t at = first + random() % (used - first);
            memory[at] = random() % 2 == 0
                             ? static_cast<std::byte>(random())
                             : memory[at] ^ static_cast<std::byte>(1u << (random() % 8));
        }
        if (random() % 8 == 0) {
            where.bytes = random() % (where.bytes + 200);
        }
        if (random() % 20 == 0) {
            where.offset ^= std::uint64_t{1} << (random() % 64);
        }
        if (random() % 20 == 0) {
            start = random() % believed / 8 * 8;
        }
        RecordReader reader(0, believed, memory);
        StepDescription step;
        try {
            reader.read(where, start, step);
            for (const auto& [name, dataset] : step.datasets) {
                for (const Chunk& chunk : dataset.chunks) {
                    const auto bytes =
                        static_cast<std::size_t>(chunk.region.volume()) * size_of(dataset.dtype);
                    REQUIRE(chunk.here() >= memory);
                    REQUIRE(bytes <= believed);
                    REQUIRE(chunk.here() + bytes <= memory + believed);
                }
            }
        } catch (const Error&) {
            ++refused;
        }
        ::operator delete(memory, std::align_val_t{64});
    }
    CHECK(refused > 5000);
    CHECK(refused < 30000);
}

TEST_CASE("a chunk whose size wraps round 64 bits is refused") {
    Rank rank;
    rank.writer.begin({});
    const std::uint64_t offset = rank.arena.allocate(64);
    // 2^60 elements of 16 bytes are 2^64 bytes, that is 0.
    const Coordinates huge{Index{1} << 60};
    rank.writer.add("x", DType::Complex128, huge, {}, {{0}, huge}, offset);
    RecordReader reader = rank.reader();
    StepDescription step;
    CHECK_THROWS_WITH_AS(reader.read(rank.writer.finish(), rank.cell.definitions.load(), step),
                         doctest::Contains("outside its memory"), Error);
}
