// SPDX-License-Identifier: Apache-2.0
/// Random roles, streams, sizes and orders of calls. Every byte that arrives is compared with what
/// its producer must have sent there.
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/stress_plan.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// One stream of a trial on one rank.
class Flow {
  public:
    Flow(Channel& channel, const Plan& plan)
        : channel_(channel),
          plan_(plan),
          check_(plan_, channel.consumers().size(), index_among_consumers(channel)),
          stream_(channel,
                  {.element = plan.element,
                   .buffer_bytes = plan.buffer_bytes,
                   .association = association_of(plan),
                   .result_on_producers = plan.result_on_producers},
                  plan.operation
                      ? make_callback([this](const Batch& b) { check_.batch(b); }, plan.parts)
                      : nullptr),
          left_(produces(channel.role()) ? plan.count : 0) {}
    Flow(const Flow&) = delete;

    bool has_more() const { return left_ > 0; }
    /// Sends some elements, or does something else that producers do.
    void produce(Random& random) {
        if (plan_.element.varies) {
            send_record(random);
            return;
        }
        switch (random() % 8) {
            case 0:
            case 1:
                send(1 + random() % 40);
                break;
            case 2:
                isend(1 + random() % 40);
                break;
            case 3:
                reserve(random);
                break;
            case 4:
                stream_.flush();
                break;
            default:
                for (std::uint64_t n = random() % 20; n > 0 && left_ > 0; --n) {
                    put();
                }
        }
        consume(random);
    }
    /// Takes a little, where this rank is a consumer.
    void consume(Random& random) {
        if (!consumes(channel_.role())) {
            return;
        }
        if (plan_.operation) {
            if (random() % 4 == 0) {
                stream_.operate_some(1 + random() % 5000);
            }
        } else if (const auto batch = stream_.try_next()) {
            check_.batch(*batch);
        }
    }
    void terminate() {
        if (produces(channel_.role())) {
            last_ = stream_.iterminate();
        }
    }
    /// Takes what there is, where nothing else does; false at the end of the stream.
    bool take() {
        if (plan_.operation || !consumes(channel_.role())) {
            return false;
        }
        const auto batch = stream_.try_next();
        if (batch) {
            check_.batch(*batch);
        }
        return batch.has_value();
    }
    /// In one of the ways that there are; or close() does it.
    void end(Random& random) {
        switch (random() % 4) {
            case 0:
                if (produces(channel_.role())) {
                    stream_.terminate();
                }
                break;
            case 1:
                if (consumes(channel_.role()) && plan_.operation) {
                    stream_.operate();
                }
                break;
            case 2:
                if (consumes(channel_.role()) || plan_.result_on_producers) {
                    CHECK(stream_.result().empty());
                }
                break;
            default:
                break;
        }
    }

    void verify(int trial) {
        CAPTURE(trial);
        CAPTURE(plan_.number);
        CAPTURE(plan_.element.bytes);
        CAPTURE(plan_.element.varies);
        CAPTURE(static_cast<int>(plan_.kind));
        CAPTURE(plan_.buffer_bytes);
        CHECK(check_.wrong == 0);
        CHECK(left_ == 0);
        CHECK(sum_over_world(static_cast<std::int64_t>(check_.elements())) ==
              sum_over_world(static_cast<std::int64_t>(sent_)));
        CHECK(sum_over_world(static_cast<std::int64_t>(check_.numbers)) ==
              sum_over_world(static_cast<std::int64_t>(sent_ > 0 ? sent_ * (sent_ - 1) / 2 : 0)));
    }

  private:
    static std::uint64_t index_among_consumers(const Channel& channel) {
        const auto all = channel.consumers();
        return static_cast<std::uint64_t>(std::find(all.begin(), all.end(), channel.rank()) -
                                          all.begin());
    }
    Content content() const { return {plan_, channel_.rank()}; }
    std::uint64_t next() {
        --left_;
        return sent_++;
    }
    std::vector<std::byte> elements(std::uint64_t count) {
        std::vector<std::byte> all;
        for (; count > 0 && left_ > 0; --count) {
            const auto one = content().bytes(next());
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }
    Index count_of(const std::vector<std::byte>& bytes) const {
        return static_cast<Index>(bytes.size() / plan_.element.bytes);
    }

    void send(std::uint64_t count) {
        const auto bytes = elements(count);
        stream_.send(bytes.data(), count_of(bytes));
    }
    void isend(std::uint64_t count) {
        auto bytes = std::make_shared<std::vector<std::byte>>(elements(count));
        pending_.push_back(stream_.isend(bytes->data(), count_of(*bytes), bytes));
        if (pending_.size() > 5) {
            for (Pending& one : pending_) {
                one.wait();
            }
            pending_.clear();
        }
    }
    void put() {
        if (plan_.element.bytes == 8) {
            const auto bytes = content().bytes(next());
            std::uint64_t value = 0;
            std::memcpy(&value, bytes.data(), 8);
            stream_.put(value);
        } else if (plan_.element.bytes == 3) {
            std::array<std::byte, 3> value;
            const auto bytes = content().bytes(next());
            std::memcpy(value.data(), bytes.data(), 3);
            stream_.put(value);
        } else {
            send(1);
        }
    }
    void reserve(Random& random) {
        if (plan_.kind == Association::Kind::Choice || plan_.parts || left_ == 0) {
            send(1);
            return;
        }
        const auto room = random() % 2 == 0 ? stream_.reserve() : stream_.reserve_many(30);
        if (plan_.kind != Association::Kind::RoundRobin && random() % 5 == 0) {
            stream_.commit(0);
            return;
        }
        const auto bytes = elements(1 + random() % (room.size() / plan_.element.bytes));
        std::copy(bytes.begin(), bytes.end(), room.begin());
        stream_.commit(count_of(bytes));
    }
    void send_record(Random& random) {
        const auto bytes = content().bytes(next());
        if (random() % 2 == 0) {
            stream_.send_record(bytes);
            return;
        }
        const auto room = stream_.reserve(bytes.size());
        std::copy(bytes.begin(), bytes.end(), room.begin());
        stream_.commit();
    }

    Channel& channel_;
    const Plan plan_;
    Check check_;
    Stream stream_;
    std::uint64_t left_;
    std::uint64_t sent_ = 0;
    std::vector<Pending> pending_;
    Pending last_;
};

std::vector<Role> random_roles(Random& random) {
    std::vector<Role> roles;
    const bool apart = random() % 3 == 0;
    for (int rank = 0; rank < world_size(); ++rank) {
        roles.push_back(apart ? one_of(random, {Role::Producer, Role::Consumer})
                              : one_of(random, {Role::Both, Role::Both, Role::Producer,
                                                Role::Consumer, Role::None}));
    }
    // There has to be a producer and a consumer.
    const auto any = [&](auto&& has) { return std::any_of(roles.begin(), roles.end(), has); };
    if (!any(produces) || !any(consumes)) {
        roles.assign(roles.size(), Role::Both);
    }
    return roles;
}

void run_trial(int trial, bool shared_memory) {
    Random shared(static_cast<std::uint64_t>(trial));  // equal on all ranks
    Random own(static_cast<std::uint64_t>(trial * 1000 + world_rank()));
    const std::vector<Role> roles = random_roles(shared);
    // A rank that blocks as a producer does not call next().
    const bool apart = std::find(roles.begin(), roles.end(), Role::Both) == roles.end();
    Channel channel = world_channel(roles[static_cast<std::size_t>(world_rank())],
                                    {.shared_memory = shared_memory, .timeout_s = 20});
    std::vector<std::unique_ptr<Flow>> flows;
    for (int number = 0; number < 3; ++number) {
        Plan plan = random_plan(shared, number);
        plan.operation = plan.operation || !apart;
        flows.push_back(std::make_unique<Flow>(channel, plan));
    }
    if (channel.role() != Role::None) {
        const auto any = [&] {
            return std::any_of(flows.begin(), flows.end(), [](auto& f) { return f->has_more(); });
        };
        while (any()) {
            Flow& flow = *flows[own() % flows.size()];
            if (flow.has_more()) {
                flow.produce(own);
            }
        }
        for (int i = 0; i < 10; ++i) {
            flows[own() % flows.size()]->consume(own);
        }
        for (auto& flow : flows) {
            flow->terminate();
        }
        bool more = true;
        while (more) {
            more = false;
            for (auto& flow : flows) {
                more = flow->take() || more;
            }
        }
        for (auto& flow : flows) {
            flow->end(own);
        }
    }
    channel.close();
    for (auto& flow : flows) {
        flow->verify(trial);
    }
}

}  // namespace

TEST_CASE("any order of calls, any sizes: every byte arrives where and when it must") {
    const char* const first = std::getenv("FLUVIAL_STRESS_SEED");
    const char* const count = std::getenv("FLUVIAL_STRESS_TRIALS");
    const int from = first != nullptr ? std::atoi(first) : 1;
    for (int trial = from; trial < from + (count != nullptr ? std::atoi(count) : 20); ++trial) {
        run_trial(trial, true);
        run_trial(trial, false);
    }
}
