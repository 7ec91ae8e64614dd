// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_log.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/checksum.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/position.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / text("fluvial_log_", ::getpid())) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string steps() const { return retained_path(); }
    std::string retained_path() const { return (path / "run.steps").string(); }
    /// Flips a bit of the byte at `at` of a file.
    void damage(const char* file, std::streamoff at) const {
        std::fstream bytes(path / "run.steps" / file,
                           std::ios::in | std::ios::out | std::ios::binary);
        bytes.seekg(at);
        const char byte = static_cast<char>(bytes.get());
        bytes.seekp(at);
        bytes.put(static_cast<char>(byte ^ 16));
    }
    std::filesystem::path path;
};

std::span<const std::byte> bytes_of(const std::vector<double>& numbers) {
    return std::as_bytes(std::span(numbers));
}

/// A log with the steps 0, 2, 4, each with a record of one rank.
StepLog three_steps(const Folder& folder) {
    const host::Descriptor lock = lock_retained(folder.steps());
    StepLog log = StepLog::create(folder.steps(), {"run", {0}});
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::vector<double> numbers(8, static_cast<double>(i));
        const std::uint64_t at = i * 256;
        REQUIRE(log.write(at, bytes_of(numbers)));
        const BytesOfFile record{at, 64, checksum_of(bytes_of(numbers))};
        const auto list = std::as_bytes(std::span(&record, 1));
        REQUIRE(log.write(at + 128, list));
        REQUIRE(log.write_entry(i, {2 * i, at, 1, {at + 128, list.size(), checksum_of(list)}}));
    }
    return log;
}

}  // namespace

TEST_CASE("a checksum changes with each bit, with the length and with the order") {
    std::vector<double> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 0.5);
    const std::uint64_t before = checksum_of(bytes_of(numbers));
    auto* bytes = reinterpret_cast<unsigned char*>(numbers.data());
    for (std::size_t bit = 0; bit < numbers.size() * 64; ++bit) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
        CHECK(checksum_of(bytes_of(numbers)) != before);
        bytes[bit / 8] ^= static_cast<unsigned char>(1u << (bit % 8));
    }
    CHECK(checksum_of(bytes_of(numbers)) == before);
    CHECK(checksum_of(bytes_of(numbers).first(799)) != before);
    std::swap(numbers[1], numbers[9]);
    CHECK(checksum_of(bytes_of(numbers)) != before);
    CHECK(checksum_of(bytes_of(std::vector<double>(8))) !=
          checksum_of(bytes_of(std::vector<double>(16))));
}

TEST_CASE("steps are found again, in another process's manner too") {
    const Folder folder;
    const StepLog written = three_steps(folder);
    REQUIRE(written.write_end(3, 5));
    const auto log = StepLog::open(folder.steps());
    REQUIRE(log.has_value());
    CHECK(log->head().name == "run");
    CHECK(log->writer_ranks() == 1);
    CHECK(log->lies_in(folder.steps()));
    CHECK_FALSE(log->lies_in(folder.path.string()));
    CHECK(log->extent().entries == 3);
    CHECK(log->extent().ended);
    CHECK(log->find(0, 3) == 0);
    CHECK(log->find(1, 3) == 1);
    CHECK(log->find(4, 3) == 2);
    CHECK(log->find(5, 3) == 3);
    const auto records = log->records(log->entry(1));
    REQUIRE(records.size() == 1);
    const auto bytes = log->read(records[0], "the record");
    double first = 0;
    std::memcpy(&first, bytes.get(), sizeof first);
    CHECK(first == 1.0);
    CHECK_FALSE(StepLog::open(folder.path.string() + "/none").has_value());
}

TEST_CASE("steps of an earlier run are not overwritten, and two writers keep out of each other") {
    const Folder folder;
    three_steps(folder);
    CHECK_FALSE(is_being_retained(folder.steps()));
    const host::Descriptor lock = lock_retained(folder.steps());
    CHECK(is_being_retained(folder.steps()));
    CHECK_THROWS_WITH_AS(StepLog::create(folder.steps(), {"run", {0}}),
                         doctest::Contains("steps of an earlier run"), InvalidArgument);
    CHECK_THROWS_WITH_AS(lock_retained(folder.steps()), doctest::Contains("one writer at a time"),
                         InvalidArgument);
}

TEST_CASE("any damage is an error, and hurts the steps that it struck alone") {
    const Folder folder;
    const auto log = [&] { return StepLog::open(folder.steps()); };
    SUBCASE("of data") {
        three_steps(folder);
        folder.damage("data", 256 + 20);
        CHECK_NOTHROW(log()->read(log()->records(log()->entry(0))[0], "x"));
        CHECK_THROWS_WITH_AS(log()->read(log()->records(log()->entry(1))[0], "chunk 'x'"),
                             doctest::Contains("chunk 'x' is damaged on the disk"), DamagedFile);
        CHECK_NOTHROW(log()->read(log()->records(log()->entry(2))[0], "x"));
    }
    SUBCASE("of a list of records") {
        three_steps(folder);
        folder.damage("data", 128 + 3);
        CHECK_THROWS_AS(log()->records(log()->entry(0)), DamagedFile);
        CHECK_NOTHROW(log()->records(log()->entry(1)));
    }
    SUBCASE("of an entry, each bit of which counts") {
        three_steps(folder);
        const auto size = std::filesystem::file_size(folder.path / "run.steps" / "steps");
        const auto entry = static_cast<std::streamoff>(sizeof(LogEntry) + 8);
        const auto second = static_cast<std::streamoff>(size) - 2 * entry;
        for (std::streamoff at = second; at < second + entry; ++at) {
            folder.damage("steps", at);
            CHECK_THROWS_WITH_AS(log()->entry(1), doctest::Contains("entry 1"), DamagedFile);
            CHECK_NOTHROW(log()->entry(2));
            folder.damage("steps", at);
        }
        CHECK_NOTHROW(log()->entry(1));
    }
    SUBCASE("of the last entry, which is not the end") {
        three_steps(folder);
        const auto size = std::filesystem::file_size(folder.path / "run.steps" / "steps");
        folder.damage("steps", static_cast<std::streamoff>(size) - 1);
        CHECK(log()->extent().entries == 3);
        CHECK_FALSE(log()->extent().ended);
        CHECK_THROWS_AS(log()->entry(2), DamagedFile);
    }
    SUBCASE("an entry that was not written to its end is none") {
        three_steps(folder);
        const auto steps = folder.path / "run.steps" / "steps";
        std::filesystem::resize_file(steps, std::filesystem::file_size(steps) - 5);
        CHECK(log()->extent().entries == 2);
        CHECK_THROWS_AS(log()->entry(2), DamagedFile);
    }
    SUBCASE("of the head, each byte of which counts") {
        three_steps(folder);
        const auto steps = folder.path / "run.steps" / "steps";
        const auto head = static_cast<std::streamoff>(std::filesystem::file_size(steps) -
                                                      3 * (sizeof(LogEntry) + 8));
        for (std::streamoff at = 0; at < head; ++at) {
            folder.damage("steps", at);
            CHECK_THROWS_WITH_AS(log(), doctest::Contains("the head of"), DamagedFile);
            folder.damage("steps", at);
        }
        CHECK_NOTHROW(log());
        std::filesystem::resize_file(steps, static_cast<std::uintmax_t>(head) - 1);
        CHECK_THROWS_WITH_AS(log(), doctest::Contains("ends within it"), DamagedFile);
    }
    SUBCASE("data that is cut short") {
        three_steps(folder);
        std::filesystem::resize_file(folder.path / "run.steps" / "data", 300);
        CHECK_NOTHROW(log()->records(log()->entry(0)));
        CHECK_THROWS_AS(log()->records(log()->entry(1)), DamagedFile);
    }
}

TEST_CASE("files without names leave nothing behind") {
    const Folder folder;
    {
        const StepLog log = StepLog::unnamed(folder.path.string(), {"run", {0, 1}});
        CHECK(std::filesystem::is_empty(folder.path));
        const std::vector<double> numbers(4096, 1.5);
        REQUIRE(log.write(0, bytes_of(numbers)));
        log.release(0, 8192);
        const BytesOfFile freed{0, 64, checksum_of(bytes_of(numbers).first(64))};
        CHECK_THROWS_AS(log.read(freed, "what was given back"), DamagedFile);
    }
    CHECK_THROWS_WITH_AS(StepLog::unnamed(folder.path.string() + "/none", {"run", {0}}),
                         doctest::Contains("spill"), SystemError);
}

TEST_CASE("a position is that of the slowest rank, of one job at a time") {
    const Folder folder;
    three_steps(folder);
    const std::string path = folder.steps();
    const PositionOf plot{path, "plot", 1};
    {
        PositionClaim claim(plot, 2);
        CHECK(claim.step() == 0);
        CHECK_THROWS_WITH_AS(PositionClaim(plot, 1), doctest::Contains("is in use"),
                             InvalidArgument);
        CHECK_NOTHROW(PositionClaim({path, "other", 1}, 1));
        Position zero(plot, 0, 2, std::move(claim));
        Position one(plot, 1, 2, {});
        zero.advance(7);
        one.advance(3);
        CHECK_THROWS_AS(PositionClaim(plot, 1), InvalidArgument);
    }
    CHECK(PositionClaim(plot, 1).step() == 3);
    // That job had one rank.
    CHECK(PositionClaim(plot, 3).step() == 3);
    folder.damage("positions/plot.0", 17);
    CHECK_THROWS_WITH_AS(PositionClaim(plot, 1), doctest::Contains("position is damaged"),
                         DamagedFile);
}

TEST_CASE("a position counts for the run that its steps are of") {
    const Folder folder;
    three_steps(folder);
    const std::string path = folder.steps();
    const PositionOf of_first{path, "plot", 1}, of_second{path, "plot", 2};
    const auto come_to = [](const PositionOf& position, std::uint64_t next) {
        Position(position, 0, 1, PositionClaim(position, 1)).advance(next);
    };
    come_to(of_first, 5);
    CHECK(PositionClaim(of_second, 2).step() == 0);
    come_to(of_second, 3);
    CHECK(PositionClaim(of_second, 1).step() == 3);
    SUBCASE("also when a rank that still reads the first run writes after that") {
        PositionClaim(of_second, 2);
        Position(of_first, 1, 2, {}).advance(9);
        CHECK(PositionClaim(of_second, 2).step() == 0);
    }
    SUBCASE("and one that does not say so is refused") {
        std::filesystem::resize_file(folder.path / "run.steps" / "positions" / "plot.0", 24);
        CHECK_THROWS_WITH_AS(PositionClaim(of_second, 1), doctest::Contains("an earlier version"),
                             DamagedFile);
    }
}
