// SPDX-License-Identifier: Apache-2.0
/// Calls that wait inside of an operation while all ranks come together.
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

bool works() {
    return world_rank() == world_size() - 1;
}

/// When the operation works: while others come, are all at the second step, or may be through with
/// it already.
enum class When { Early, Late };

/// The last rank does `work` inside of an operation, once, while all attach a stream.
class BarrierInside {
  public:
    BarrierInside(Channel& channel, When when, std::function<void()> work)
        : channel_(channel), when_(when), work_(std::move(work)) {
        stream_.emplace(channel, whole_numbers(),
                        make_callback([this](const Batch&) { operate(); }));
    }

    void attach() {
        // On a busy machine it may be too late.
        for (int attempt = 0; !world().any(done_); ++attempt) {
            REQUIRE(attempt < 40);
            attached_ = false;
            try {
                attach_once();
            } catch (...) {
                set_interrupt_check([] {});
                throw;
            }
            set_interrupt_check([] {});
            attached_ = true;
        }
    }

    bool done() const { return done_; }

  private:
    void attach_once() {
        if (works()) {
            if (when_ == When::Late) {
                nap(0.25);
            }
            stream_->put(again_);
        } else if (when_ == When::Late) {
            // Looks around when the last rank comes, and hurries to the end afterwards.
            set_interrupt_check([] { nap(0.4); });
        } else {
            nap(0.5);
        }
        const Stream another(channel_, whole_numbers(), make_callback([](const Batch&) {}));
    }

    void operate() {
        if (attached_ || done_) {
            return;
        }
        if (channel_.state()->may_wait() && when_ == When::Late) {
            stream_->isend(&again_);  // come back
            return;
        }
        done_ = true;
        if (when_ == When::Late) {
            nap(0.6);
        }
        work_();
    }

    Channel& channel_;
    When when_;
    std::function<void()> work_;
    std::int64_t again_ = 0;
    bool attached_ = false;
    bool done_ = false;
    std::optional<Stream> stream_;
};

/// Sends one element to every other rank, from the last one.
void send_to_others(Stream& stream) {
    for (std::int64_t rank = 0; rank < world_size() - 1; ++rank) {
        stream.put(rank);
    }
}

StreamOptions to_the_rank_named() {
    StreamOptions options = whole_numbers();
    options.association = Association::by([](std::span<const std::byte> element) {
        std::int64_t rank = 0;
        std::memcpy(&rank, element.data(), sizeof rank);
        return static_cast<std::uint64_t>(rank);
    });
    return options;
}

StreamOptions to_the_last_rank() {
    StreamOptions options = whole_numbers();
    options.association = Association::by(
        [](std::span<const std::byte>) { return static_cast<std::uint64_t>(world_size() - 1); });
    return options;
}

}  // namespace

TEST_CASE("an operation queries another stream while others are through with a barrier") {
    if (world_size() < 2) {
        return;
    }
    for (const bool shared : {true, false}) {
        CAPTURE(shared);
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        Stream asked(channel, whole_numbers(), std::make_unique<RankList>(world_rank()));
        std::optional<Outcome> answer;
        BarrierInside inside(channel, When::Late, [&] { answer = asked.query(); });
        inside.attach();
        CHECK(inside.done() == works());
        REQUIRE(answer.has_value() == works());
        if (works()) {
            CHECK(answer->result.size() == static_cast<std::size_t>(world_size()) + 1);
        }
        channel.close();
    }
}

TEST_CASE("an operation waits for elements that other operations send during a barrier") {
    if (world_size() < 2) {
        return;
    }
    for (const When when : {When::Early, When::Late}) {
        CAPTURE(static_cast<int>(when));
        Channel channel = world_channel(Role::Both, {.timeout_s = 20});
        Stream answers(channel, to_the_last_rank());
        Stream requests(channel, to_the_rank_named(), make_elements<std::int64_t>([&](auto rank) {
                            nap(0.1);  // it takes its time
                            answers.put(std::int64_t{100} + rank);
                        }));
        std::int64_t sum = 0;
        BarrierInside inside(channel, when, [&] {
            send_to_others(requests);
            for (int seen = 0; seen < world_size() - 1;) {
                const auto batch = answers.next();
                REQUIRE(batch.has_value());
                for (std::size_t at = 0; at < batch->bytes; at += 8, ++seen) {
                    std::int64_t answer = 0;
                    std::memcpy(&answer, batch->data + at, sizeof answer);
                    sum += answer;
                }
            }
        });
        inside.attach();
        const std::int64_t others = world_size() - 1;
        CHECK(sum == (works() ? 100 * others + others * (others - 1) / 2 : 0));
        channel.close();
    }
}

TEST_CASE("operations contribute to a threshold collective during a barrier") {
    if (world_size() < 2) {
        return;
    }
    for (const When when : {When::Early, When::Late}) {
        CAPTURE(static_cast<int>(when));
        Channel channel = world_channel(Role::Both, {.timeout_s = 20});
        auto over = ThresholdCollective::sum_over(channel, 100);
        std::optional<bool> verdict;
        Stream requests(channel, to_the_rank_named(), make_elements<std::int64_t>([&](auto) {
                            nap(0.05);
                            verdict = over.contribute(1.0);
                        }));
        BarrierInside inside(channel, when, [&] {
            send_to_others(requests);
            verdict = over.contribute(1.0);
        });
        inside.attach();
        channel.close();
        CHECK(verdict == false);  // which takes all contributions
    }
}

TEST_CASE("an operation that waits in vain during a barrier is told so at once") {
    if (world_size() < 2) {
        return;
    }
    for (const When when : {When::Early, When::Late}) {
        for (const bool contributes : {false, true}) {
            CAPTURE(static_cast<int>(when));
            CAPTURE(contributes);
            Channel channel = world_channel(Role::Both, {.timeout_s = 50});
            auto over = ThresholdCollective::sum_over(channel, 100);
            Stream never(channel, to_the_last_rank());
            BarrierInside inside(channel, when, [&] {
                if (contributes) {
                    over.contribute(1.0);
                } else {
                    never.next();
                }
            });
            const std::int64_t begin = now_ns();
            CHECK_THROWS_WITH_AS(
                inside.attach(),
                doctest::Contains(contributes ? "cannot reach the verdict of a threshold"
                                              : "cannot wait for elements of numbers"),
                InvalidArgument);
            CHECK(static_cast<double>(now_ns() - begin) * 1e-9 < 20);
            CHECK_THROWS_WITH_AS(channel.progress(), doctest::Contains("attach a stream"), Error);
            channel.close();
            world().barrier();
        }
    }
}

TEST_CASE("an operation that attaches while its rank attaches is told so") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(Role::Both, {.timeout_s = 50});
    BarrierInside inside(channel, When::Early,
                         [&] { const Stream nested(channel, whole_numbers()); });
    CHECK_THROWS_WITH_AS(inside.attach(), doctest::Contains("of this rank tries to attach"),
                         InvalidArgument);
    channel.close();
    world().barrier();
}

TEST_CASE("all ranks attach inside of operations of their own, on however few cores") {
    for (const bool shared : {true, false}) {
        CAPTURE(shared);
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        std::optional<Stream> inner;
        Stream outer(channel, to_the_rank_named(), make_callback([&](const Batch&) {
                         inner.emplace(channel, to_the_rank_named(),
                                       make_callback([](const Batch&) {}));
                     }));
        const std::int64_t own = world_rank();
        outer.put(own);
        outer.terminate();
        outer.operate();
        REQUIRE(inner);
        inner->put(own);
        inner->terminate();
        inner->operate();
        CHECK(inner->statistics().elements == 1);
        channel.close();
    }
}
