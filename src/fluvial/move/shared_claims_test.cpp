// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_claims.hpp"

#include <csignal>
#include <cstring>
#include <memory>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/child_process_fixture.hpp"
#include "fluvial/host/file_place.hpp"

using namespace fluvial;
using namespace fluvial::move;
using host::kill_and_wait;
using host::spawn;
using State = SharedClaims::State;
using Want = SharedClaims::Want;

namespace {

constexpr std::uint32_t block = 64 * 1024;
constexpr ClaimLimits little{
    .blocks = 8, .block_bytes = block, .kept_blocks = 2, .patience_s = 0.3};

/// Ranks of a host, here in one process.
struct Ranks {
    explicit Ranks(int count, const ClaimLimits& limits = little)
        : file(SharedClaims::create(limits)) {
        for (int number = 0; number < count; ++number) {
            ranks.push_back(std::make_unique<SharedClaims>(again(), number));
        }
    }
    host::MemoryFile again() const { return host::open_at(host::place_of(file)); }
    SharedClaims& operator[](std::size_t number) { return *ranks[number]; }

    host::MemoryFile file;
    std::vector<std::unique_ptr<SharedClaims>> ranks;
};

Stretch stretch(std::uint64_t step, Index slab, std::uint64_t bytes = block,
                std::uint64_t first = 0) {
    Stretch wanted;
    wanted.window.step = step;
    wanted.window.bytes = std::uint64_t{100} * block;
    wanted.window.slab[0] = slab;
    wanted.first = first;
    wanted.bytes = bytes;
    return wanted;
}

std::vector<std::byte> numbers(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        data[i] = static_cast<std::byte>(i * 31 + i / 256 + seed);
    }
    return data;
}

void bring(SharedClaims& rank, const Stretch& wanted, const std::vector<std::byte>& data) {
    const auto mine = rank.find(wanted, Want::Claim);
    REQUIRE(mine.state == State::Mine);
    rank.publish(mine, data.data());
}

bool gets(SharedClaims& rank, const Stretch& wanted, const std::vector<std::byte>& data) {
    const auto found = rank.find(wanted, Want::Look);
    std::vector<std::byte> got(data.size());
    return found.state == State::Ready && rank.copy(found, got.size(), got.data()) && got == data;
}

}  // namespace

TEST_CASE("the first rank brings a window, the others copy it, and then its room is free") {
    Ranks ranks(3);
    const auto data = numbers(2 * block, 1);
    const Stretch wanted = stretch(5, 0, 2 * block);
    const auto mine = ranks[0].find(wanted, Want::Claim);
    REQUIRE(mine.state == State::Mine);
    CHECK(ranks[1].find(wanted, Want::Claim).state == State::Coming);
    CHECK(ranks[2].find(stretch(6, 0, 2 * block), Want::Look).state == State::Nothing);
    const std::uint32_t before = ranks[1].ticket();
    ranks[0].publish(mine, data.data());
    CHECK(ranks[1].ticket() != before);
    CHECK(gets(ranks[1], wanted, data));
    CHECK(ranks[1].bytes_in_use() == 2 * block);
    CHECK(gets(ranks[1], wanted, data));
    CHECK(gets(ranks[2], wanted, data));
    CHECK(ranks[0].bytes_in_use() == 0);
    CHECK(ranks[0].find(wanted, Want::Look).state == State::Nothing);
}

TEST_CASE("a part of what is there is had from it, and more than that is not") {
    Ranks ranks(3);
    const auto data = numbers(block, 2);
    bring(ranks[0], stretch(1, 7, block, 1000), data);
    const std::vector<std::byte> part(data.begin() + 500, data.begin() + 900);
    CHECK(gets(ranks[1], stretch(1, 7, 400, 1500), part));
    CHECK(ranks[1].find(stretch(1, 7, 400, 900), Want::Look).state == State::Nothing);
    CHECK(ranks[1].find(stretch(1, 7, block, 1001), Want::Look).state == State::Nothing);
    CHECK(ranks[1].find(stretch(1, 8, 400, 1500), Want::Look).state == State::Nothing);
}

TEST_CASE("what a claimant gives up another rank claims") {
    Ranks ranks(2);
    const auto mine = ranks[0].find(stretch(1, 0), Want::Claim);
    ranks[0].give_up(mine);
    bring(ranks[1], stretch(1, 0), numbers(block, 3));
    CHECK(gets(ranks[0], stretch(1, 0), numbers(block, 3)));
}

TEST_CASE("a step's room is free when all ranks have passed it, or are gone") {
    Ranks ranks(3);
    bring(ranks[0], stretch(1, 0), numbers(block, 1));
    bring(ranks[0], stretch(2, 0), numbers(block, 2));
    ranks[1].find(stretch(1, 1), Want::Note);
    CHECK(ranks[0].bytes_in_use() == 3 * block);
    ranks[0].pass(1);
    ranks[1].pass(1);
    CHECK(ranks[0].bytes_in_use() == 3 * block);
    CHECK(ranks[2].ranks() == 3);
    ranks[2].leave();
    CHECK(ranks[0].ranks() == 2);
    CHECK(ranks[0].bytes_in_use() == block);
    CHECK(gets(ranks[1], stretch(2, 0), numbers(block, 2)));
    CHECK(ranks[0].bytes_in_use() == 0);
}

TEST_CASE("without room there is no claim, and later steps take that of earlier ones") {
    Ranks ranks(2);
    CHECK(ranks[0].find(stretch(1, 0, 9 * block), Want::Claim).state == State::Nothing);
    for (Index slab = 0; slab < 4; ++slab) {
        bring(ranks[0], stretch(1, slab, 2 * block), numbers(2 * block, 1));
    }
    CHECK(ranks[0].find(stretch(1, 4), Want::Claim).state == State::Nothing);
    CHECK(gets(ranks[1], stretch(1, 1, 2 * block), numbers(2 * block, 1)));
    const auto old = ranks[1].find(stretch(1, 0, 2 * block), Want::Look);
    bring(ranks[0], stretch(1, 4, 2 * block), numbers(2 * block, 5));
    bring(ranks[0], stretch(2, 0, 8 * block), numbers(8 * block, 2));
    CHECK(gets(ranks[1], stretch(2, 0, 8 * block), numbers(8 * block, 2)));
    std::vector<std::byte> got(2 * block);
    CHECK_FALSE(ranks[1].copy(old, got.size(), got.data()));  // its room has served another since
    CHECK(ranks[0].bytes_in_use() == 0);
}

TEST_CASE("ranks share in the first steps, and later only where they want the same") {
    Ranks ranks(2);
    CHECK(ranks[0].shares(100));
    CHECK(ranks[1].shares(103));
    CHECK_FALSE(ranks[1].shares(104));
    CHECK_FALSE(ranks[1].overlapped(100));
    CHECK(ranks[0].find(stretch(104, 0), Want::Note).state == State::Nothing);
    CHECK(ranks[0].find(stretch(104, 0), Want::Note).state == State::Nothing);
    CHECK_FALSE(ranks[0].shares(105));  // its own
    CHECK(ranks[1].find(stretch(104, 1), Want::Note).state == State::Nothing);
    CHECK_FALSE(ranks[0].shares(105));
    CHECK(ranks[1].find(stretch(104, 0), Want::Note).state == State::Nothing);
    CHECK(ranks[0].shares(105));
    CHECK(ranks[0].overlapped(108));
    CHECK_FALSE(ranks[0].shares(109));
}

TEST_CASE("a number is one rank's") {
    Ranks ranks(2);
    CHECK_THROWS_AS(SharedClaims(ranks.again(), 1), Error);
    CHECK_THROWS_AS(SharedClaims(ranks.again(), SharedClaims::ranks_max), Error);
}

TEST_CASE("a claimant that is killed or stopped is waited for no longer") {
    for (const int how : {SIGKILL, SIGSTOP}) {
        CAPTURE(how);
        Ranks ranks(1);
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        const pid_t child = spawn([&] {
            SharedClaims other(ranks.again(), 1);
            const auto mine = other.find(stretch(1, 0), Want::Claim);
            const char said = 'x';
            static_cast<void>(!::write(ready[1], &said, 1));
            ::raise(how);
            other.publish(mine, numbers(block, 9).data());
            ::raise(SIGSTOP);
        });
        char said = 0;
        REQUIRE(::read(ready[0], &said, 1) == 1);
        CHECK(ranks[0].find(stretch(1, 0), Want::Claim).state == State::Coming);
        ::waitpid(child, nullptr, WUNTRACED);
        if (how == SIGKILL) {
            ranks[0].look_for_dead();
            CHECK(ranks[0].ranks() == 1);
        } else {
            ranks[0].look_for_dead();
            CHECK(ranks[0].ranks() == 2);
            ::usleep(400'000);
        }
        const auto mine = ranks[0].find(stretch(1, 0), Want::Claim);
        REQUIRE(mine.state == State::Mine);
        ranks[0].publish(mine, numbers(block, 4).data());
        if (how == SIGSTOP) {  // it goes on, and brings what another has brought
            ::kill(child, SIGCONT);
            ::waitpid(child, nullptr, WUNTRACED);
            CHECK(ranks[0].bytes_in_use() == 2 * block);
            CHECK(gets(ranks[0], stretch(1, 0), numbers(block, 9)));
            CHECK(gets(ranks[0], stretch(1, 0), numbers(block, 4)));
            ranks[0].pass(1);
            CHECK(ranks[0].bytes_in_use() == block);  // the other rank has not
        }
        kill_and_wait(child);
        ::close(ready[0]);
        ::close(ready[1]);
    }
}

TEST_CASE("a rank that is killed at any moment leaves what others can go on with") {
    for (int round = 0; round < 30; ++round) {
        Ranks ranks(1);
        const pid_t child = spawn([&] {
            SharedClaims other(ranks.again(), 1);
            for (std::uint64_t step = 0;; ++step) {
                const Index slab = static_cast<Index>(step % 3);
                const auto mine = other.find(stretch(step / 8, slab), Want::Claim);
                if (mine.state == State::Mine) {
                    other.publish(mine, numbers(block, static_cast<unsigned>(slab)).data());
                }
                other.pass(step / 8);
            }
        });
        std::vector<std::byte> got(block);
        const auto take_all = [&] {
            for (std::uint64_t step = 0; step < 200; ++step) {
                for (Index slab = 0; slab < 3; ++slab) {
                    const auto found = ranks[0].find(stretch(step, slab), Want::Look);
                    if (found.state == State::Ready &&
                        ranks[0].copy(found, got.size(), got.data())) {
                        REQUIRE(got == numbers(block, static_cast<unsigned>(slab)));
                    }
                }
            }
        };
        ::usleep(static_cast<useconds_t>(500 * round));
        take_all();
        kill_and_wait(child);
        take_all();
        ranks[0].look_for_dead();
        bring(ranks[0], stretch(1'000'000, 0, 4 * block), numbers(4 * block, 1));
    }
}
