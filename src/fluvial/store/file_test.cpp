// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/file.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "fluvial/store/affine_dataset.hpp"
#include "fluvial/store/byte_order.hpp"
#include "fluvial/store/format_conformance.hpp"
#include "fluvial/store/memory_file.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

using Numbers = std::vector<std::uint16_t>;

Numbers counted(std::size_t count) {
    Numbers numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{0x0100});
    return numbers;
}

MutableArrayView view_of(Numbers& numbers, const Coordinates& extent) {
    return {reinterpret_cast<std::byte*>(numbers.data()), DType::UInt16, extent,
            contiguous_strides(extent, 2)};
}

Numbers read_all(const Dataset& dataset) {
    Numbers numbers(static_cast<std::size_t>(volume_of(dataset.shape())));
    dataset.read(whole(dataset.shape()), view_of(numbers, dataset.shape()));
    return numbers;
}

DatasetDescription described(const Coordinates& shape) {
    return {"t",
            DType::UInt16,
            shape,
            std::vector<std::string>(static_cast<std::size_t>(shape.size())),
            {}};
}

/// Chunks of a 2-d array without filters, one behind the other; some were never written.
class Mosaic final : public Dataset {
  public:
    Mosaic(const Numbers& numbers, const Coordinates& shape, const Coordinates& chunk, bool swapped,
           const std::vector<Coordinates>& unwritten = {})
        : Dataset(described(shape), Chunked{chunk, {}, swapped, {std::byte{7}, std::byte{0}}}) {
        Numbers stored;
        for (Index y = 0; y * chunk[0] < shape[0]; ++y) {
            for (Index x = 0; x * chunk[1] < shape[1]; ++x) {
                if (std::find(unwritten.begin(), unwritten.end(), Coordinates{y, x}) !=
                    unwritten.end()) {
                    continue;
                }
                places_[{y, x}] = {
                    {stored.size() * 2, static_cast<std::uint64_t>(volume_of(chunk)) * 2}};
                for (Index i = 0; i < volume_of(chunk); ++i) {
                    const Index row = y * chunk[0] + i / chunk[1];
                    const Index column = x * chunk[1] + i % chunk[1];
                    const bool outside = row >= shape[0] || column >= shape[1];
                    stored.push_back(
                        outside ? 0xdead
                                : numbers[static_cast<std::size_t>(row * shape[1] + column)]);
                }
            }
        }
        if (swapped) {
            swap_bytes(view_of(stored, {static_cast<Index>(stored.size())}));
        }
        const MemoryFile file(std::as_bytes(std::span(stored)));
        bytes_ = std::make_unique<InputFile>(file.path());
    }
    const InputFile& bytes() const override { return *bytes_; }
    StoredChunk locate(const Coordinates& chunk) const override {
        const auto found = places_.find({chunk[0], chunk[1]});
        return found == places_.end() ? StoredChunk{} : found->second;
    }
    void displace(Index y, Index x, const StoredChunk& place) { places_[{y, x}] = place; }

  private:
    std::map<std::pair<Index, Index>, StoredChunk> places_;
    std::unique_ptr<InputFile> bytes_;
};

std::shared_ptr<const InputFile> file_of(const Numbers& numbers) {
    const MemoryFile file(std::as_bytes(std::span(numbers)));
    return std::make_shared<const InputFile>(file.path());
}

}  // namespace

TEST_CASE("affine: larger than a block, in both byte orders") {
    const Coordinates shape{3, 2, 130'000};
    const Numbers numbers = counted(780'000);
    Numbers other = numbers;
    swap_bytes(view_of(other, {static_cast<Index>(other.size())}));
    for (const bool swapped : {false, true}) {
        const AffineDataset dataset(described(shape),
                                    Affine{0, contiguous_strides(shape, 2), swapped},
                                    file_of(swapped ? other : numbers));
        CHECK(read_all(dataset) == numbers);
        FormatConformance(dataset, 31).run(15);
    }
}

TEST_CASE("affine: elements far from each other, and one under many indices") {
    const Numbers numbers = counted(600'000);
    const AffineDataset sparse(described({5, 3}), Affine{20, {240'000, 40'002}, false},
                               file_of(numbers));
    Numbers expected;
    for (std::size_t i = 0; i < 15; ++i) {
        expected.push_back(numbers[10 + i / 3 * 120'000 + i % 3 * 20'001]);
    }
    CHECK(read_all(sparse) == expected);
    FormatConformance(sparse, 32).run();
    const AffineDataset repeated(described({4, 3}), Affine{0, {6, 0}, false}, file_of(numbers));
    CHECK(read_all(repeated)[5] == numbers[3]);
    FormatConformance(repeated, 33).run();
}

TEST_CASE("affine: a file that became shorter") {
    const AffineDataset dataset(described({100}), Affine{0, {2}, false}, file_of(counted(99)));
    CHECK_THROWS_AS(read_all(dataset), DamagedFile);
}

TEST_CASE("chunked: cut at the upper edges, never written, in both byte orders") {
    const Coordinates shape{7, 10};
    const Numbers numbers = counted(70);
    for (const bool swapped : {false, true}) {
        const Mosaic all(numbers, shape, {3, 4}, swapped);
        CHECK(read_all(all) == numbers);
        FormatConformance(all, 34).run();

        const Mosaic holes(numbers, shape, {3, 4}, swapped, {{0, 0}, {2, 2}});
        Numbers expected = numbers;
        for (std::size_t i = 0; i < 70; ++i) {
            const bool hole = (i / 10 < 3 && i % 10 < 4) || (i / 10 >= 6 && i % 10 >= 8);
            expected[i] = hole ? 7 : expected[i];
        }
        CHECK(read_all(holes) == expected);
        FormatConformance(holes, 35).run();
    }
    const Mosaic one(numbers, shape, {100, 100}, false);
    CHECK(read_all(one) == numbers);
}

TEST_CASE("chunked: places outside the file are damage, before memory is taken for them") {
    Mosaic dataset(counted(16), {4, 4}, {2, 2}, false);
    for (const StoredChunk& place :
         {StoredChunk({33, 8}), StoredChunk({28, 8}), StoredChunk({0, ~0ULL}),
          StoredChunk({~0ULL, 8}), StoredChunk({0, 6})}) {
        dataset.displace(1, 1, place);
        CHECK_THROWS_WITH_AS(read_all(dataset), doctest::Contains("chunk (1, 1) of 't'"),
                             DamagedFile);
    }
}

TEST_CASE("a process that may open no more files is told what to do") {
    const MemoryFile file(std::vector<std::byte>(8));
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const int next = ::dup(0);
    ::close(next);
    const rlimit full{static_cast<rlim_t>(next), before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &full) == 0);
    std::string said;
    try {
        const InputFile opened(file.path());
    } catch (const SystemError& error) {
        said = error.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(said.find("raise the limit by `ulimit -n`") != std::string::npos);
}

TEST_CASE("an open file that has grown is as long as it was, until it is measured") {
    const MemoryFile made(std::vector<std::byte>(10));
    InputFile file(made.path());
    REQUIRE(::truncate(made.path().c_str(), 25) == 0);
    CHECK(file.size() == 10);
    file.measure();
    CHECK(file.size() == 25);
}
