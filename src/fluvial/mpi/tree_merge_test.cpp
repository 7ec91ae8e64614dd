// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/tree_merge.hpp"

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(const std::string& s) {
    const auto all = std::as_bytes(std::span(s));
    return {all.begin(), all.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Writes down what was merged with what.
Bytes record(Bytes a, std::span<const std::byte> b) {
    return bytes_of("(" + text_of(a) + "+" + text_of(b) + ")");
}

const char* const trees[] = {"", "0", "(0+1)", "((0+1)+2)", "((0+1)+(2+3))", "(((0+1)+(2+3))+4)"};

Bytes add_doubles(Bytes a, std::span<const std::byte> b) {
    double x = 0;
    double y = 0;
    std::memcpy(&x, a.data(), sizeof x);
    std::memcpy(&y, b.data(), sizeof y);
    x += y;
    std::memcpy(a.data(), &x, sizeof x);
    return a;
}

}  // namespace

TEST_CASE("the tree is the binomial one, in the order of ranks, on all ranks or on the first") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const Bytes mine = bytes_of(std::to_string(comm.rank()));
    CHECK(text_of(tree_merge(comm, mine, record)) == trees[comm.size()]);
    const Bytes first = tree_merge(comm, mine, record, false);
    CHECK(text_of(first) == (comm.rank() == 0 ? trees[comm.size()] : ""));
    comm.close();
}

TEST_CASE("partials may be empty and may change their length") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto append = [](Bytes a, std::span<const std::byte> b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    CHECK(tree_merge(comm, {}, append).empty());
    const auto mine = bytes_of(std::string(static_cast<std::size_t>(100'000 * comm.rank()),
                                           static_cast<char>('a' + comm.rank())));
    std::string expected;
    for (int r = 0; r < comm.size(); ++r) {
        expected += std::string(static_cast<std::size_t>(100'000 * r), static_cast<char>('a' + r));
    }
    CHECK(text_of(tree_merge(comm, mine, append)) == expected);
    comm.close();
}

TEST_CASE("rounding does not depend on which rank comes first") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const unsigned seed = 20240607;
    CAPTURE(seed);
    std::mt19937 same_on_all(seed);
    std::uniform_real_distribution<double> value(-1e12, 1e12);
    std::uniform_int_distribution<int> delay_us(0, 3000);
    for (int round = 0; round < 20; ++round) {
        std::vector<double> values(static_cast<std::size_t>(comm.size()));
        for (double& v : values) {
            v = value(same_on_all) * 1e-15 + value(same_on_all);
        }
        std::uint64_t first_bits = 0;
        for (int repeat = 0; repeat < 3; ++repeat) {
            std::mt19937 own(seed +
                             static_cast<unsigned>(1000 * round + 10 * repeat + comm.rank()));
            std::this_thread::sleep_for(std::chrono::microseconds(delay_us(own)));
            Bytes mine(sizeof(double));
            std::memcpy(mine.data(), &values[static_cast<std::size_t>(comm.rank())],
                        sizeof(double));
            std::uint64_t bits = 0;
            std::memcpy(&bits, tree_merge(comm, mine, add_doubles).data(), sizeof bits);
            if (repeat == 0) {
                first_bits = bits;
            }
            CHECK(bits == first_bits);
        }
        // The same tree by hand.
        for (std::size_t distance = 1; distance < values.size(); distance *= 2) {
            for (std::size_t r = 0; r + distance < values.size(); r += 2 * distance) {
                values[r] += values[r + distance];
            }
        }
        std::uint64_t by_hand = 0;
        std::memcpy(&by_hand, values.data(), sizeof by_hand);
        CHECK(first_bits == by_hand);
    }
    comm.close();
}

TEST_CASE("a merge that throws on one rank throws on all, and the communicator goes on") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int size = comm.size();
    for (const bool result_on_all : {true, false}) {
        for (int failing = 0; failing < size; ++failing) {
            const auto merge = [&](Bytes a, std::span<const std::byte> b) {
                if (comm.rank() == failing) {
                    throw InvalidArgument("histograms differ in their edges");
                }
                return record(std::move(a), b);
            };
            const Bytes mine = bytes_of(std::to_string(comm.rank()));
            const bool merges = failing % 2 == 0 && failing + 1 < size;
            if (merges) {
                const std::string message =
                    text("rank ", failing, " of ", size, ": histograms differ in their edges");
                CHECK_THROWS_WITH_AS(tree_merge(comm, mine, merge, result_on_all), message.c_str(),
                                     InvalidArgument);
            } else {
                const Bytes result = tree_merge(comm, mine, merge, result_on_all);
                CHECK(text_of(result) == (result_on_all || comm.rank() == 0 ? trees[size] : ""));
            }
        }
    }
    comm.close();
}
