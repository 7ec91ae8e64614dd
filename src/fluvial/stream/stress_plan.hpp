// SPDX-License-Identifier: Apache-2.0
/// What a stream of a random trial is like, what its elements hold, and a check of what a consumer
/// gets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "fluvial/move/record.hpp"
#include "fluvial/stream/channel_fixture.hpp"

namespace fluvial::stream {

inline std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/// What one stream of a trial is like; equal on all ranks.
struct Plan {
    int number = 0;
    Element element;
    std::size_t buffer_bytes = 0;
    Association::Kind kind = Association::Kind::Nearest;
    bool parts = false;       ///< its operation takes elements in parts
    bool operation = true;    ///< or next()
    std::uint64_t count = 0;  ///< of elements, about
    bool result_on_producers = false;
};

/// Element number `n` of a producer: its length, and its bytes. The first eight bytes are `n`,
/// where there are as many.
struct Content {
    const Plan& plan;
    int producer;

    std::uint64_t seed(std::uint64_t n) const {
        return mixed((n << 16) + static_cast<std::uint64_t>(producer * 64 + plan.number));
    }
    std::size_t length(std::uint64_t n) const {
        return plan.element.varies ? seed(n) % (plan.element.bytes + 1) : plan.element.bytes;
    }
    std::byte at(std::uint64_t n, std::size_t i) const {
        if (i < 8 && plan.element.bytes >= 8) {
            return static_cast<std::byte>(n >> (8 * i));
        }
        return static_cast<std::byte>(seed(n) >> (8 * (i % 8)));
    }
    std::vector<std::byte> bytes(std::uint64_t n) const {
        std::vector<std::byte> all(length(n));
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i] = at(n, i);
        }
        return all;
    }
};

/// Compares what one consumer gets. Where the link of an element is known, so is every byte.
class Check {
  public:
    Check(const Plan& plan, std::uint64_t consumers, std::uint64_t index)
        : plan_(plan),
          stride_(plan.kind == Association::Kind::Nearest ? 1 : consumers),
          index_(plan.kind == Association::Kind::Nearest ? 0 : index) {}

    void batch(const Batch& batch) {
        if (batch.bytes == 0) {
            return;  // nothing there now
        }
        std::uint64_t& bytes = bytes_of_[batch.producer];
        wrong += batch.first != bytes;
        bytes += batch.bytes;
        if (plan_.element.varies) {
            for_each_record(batch, [&](std::span<const std::byte> record) {
                compare(batch.producer, elements_of_[batch.producer]++, 0, record, true);
            });
            return;
        }
        const std::size_t size = plan_.element.bytes;
        for (std::size_t at = 0; at < batch.bytes;) {
            const std::uint64_t place = batch.first + at;
            const std::size_t inside = place % size;
            const std::size_t n = std::min(size - inside, batch.bytes - at);
            wrong += !plan_.parts && n != size;
            compare(batch.producer, place / size, inside, {batch.data + at, n}, false);
            at += n;
        }
        elements_of_[batch.producer] = bytes / size;
        if (plan_.parts || bytes % size == 0) {
            return;
        }
        ++wrong;
    }

    std::uint64_t elements() const {
        std::uint64_t all = 0;
        for (const auto& [producer, n] : elements_of_) {
            all += n;
        }
        return all;
    }

    int wrong = 0;
    std::uint64_t numbers = 0;  ///< sum of those of the elements that tell

  private:
    void compare(int producer, std::uint64_t place, std::size_t inside,
                 std::span<const std::byte> seen, bool whole) {
        const Content content{plan_, producer};
        std::uint64_t n = place * stride_ + index_;
        if (plan_.kind == Association::Kind::MostRoom) {  // the element tells its number
            n = 0;
            std::memcpy(&n, seen.data(), 8);
            const auto before = last_.find(producer);
            wrong += before != last_.end() && before->second >= n;
            last_[producer] = n;
        }
        numbers += inside == 0 ? n : 0;
        if (whole) {
            wrong += seen.size() != content.length(n);
        }
        // The first and last bytes of long stretches tell enough.
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (i == 256 && seen.size() > 512) {
                i = seen.size() - 256;
            }
            wrong += seen[i] != content.at(n, inside + i);
        }
    }

    const Plan& plan_;
    std::uint64_t stride_;
    std::uint64_t index_;
    std::map<int, std::uint64_t> bytes_of_;
    std::map<int, std::uint64_t> elements_of_;
    std::map<int, std::uint64_t> last_;
};

using Random = std::mt19937_64;

template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
    return choices.begin()[random() % choices.size()];
}

inline Plan random_plan(Random& random, int number) {
    Plan plan;
    plan.number = number;
    plan.kind = one_of(random, {Association::Kind::Nearest, Association::Kind::Nearest,
                                Association::Kind::RoundRobin, Association::Kind::MostRoom,
                                Association::Kind::Choice});
    const bool tells =
        plan.kind == Association::Kind::MostRoom || plan.kind == Association::Kind::Choice;
    if (!tells && random() % 4 == 0) {
        plan.element = Element::varying(one_of<std::size_t>(random, {0, 1, 8, 100, 5000}));
    } else if (random() % 6 == 0) {
        plan.element = Element::of(DType::Float64, {one_of<Index>(random, {40'000, 100'001})});
        plan.parts = !tells && random() % 2 == 0;
    } else {
        const std::size_t bytes =
            one_of<std::size_t>(random, {1, 3, 7, 8, 12, 24, 100, 512, 4096, 70'000});
        plan.element = Element::opaque(tells ? std::max<std::size_t>(bytes, 12) : bytes);
    }
    const std::size_t size = std::max<std::size_t>(plan.element.bytes, 8);
    plan.count = random() % (std::min<std::uint64_t>(4000, (4 << 20) / size) + 1);
    plan.operation = plan.parts || random() % 2 == 0;
    plan.result_on_producers = random() % 2 == 0;
    const auto ranks = static_cast<std::size_t>(world_size());
    // The least that is allowed where every rank produces for every consumer, and more.
    const std::size_t least =
        std::max<std::size_t>(512, 2 * (plan.element.varies ? move::record_bytes(plan.element.bytes)
                                        : plan.parts        ? 256 * 1024
                                                            : plan.element.bytes));
    plan.buffer_bytes = one_of<std::size_t>(
        random, {0, ranks * least, ranks * (least + random() % 999), ranks * least * 3 + 1});
    return plan;
}

inline Association association_of(const Plan& plan) {
    switch (plan.kind) {
        case Association::Kind::Nearest:
            break;
        case Association::Kind::RoundRobin:
            return Association::round_robin();
        case Association::Kind::MostRoom:
            return Association::most_room();
        case Association::Kind::Choice:
            return Association::by([](std::span<const std::byte> element) {
                std::uint64_t n = 0;
                std::memcpy(&n, element.data(), 8);
                return n;
            });
    }
    return Association::nearest();
}

}  // namespace fluvial::stream
