// SPDX-License-Identifier: Apache-2.0
/// A limit where two cores share no cache: what one writes past the caches and another reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "contestant.hpp"
#include "fluvial/move/copy_policy.hpp"

/// The producer copies elements by non-temporal stores, where the processor has them, into memory
/// far larger than caches, round and round; the consumer works on as much that is not in its caches
/// either. Each side has memory of its own and waits for no other, so nothing is streamed. One
/// producer and one consumer.
class PastCaches final : public Contestant {
  public:
    explicit PastCaches(const Roles& roles) : Contestant(roles) {}

    void prepare(const Source& source, Sink*, std::int64_t) override {
        doubles_ = static_cast<std::size_t>(source.doubles());
        all_ = std::max(memory_bytes / source.bytes(), std::size_t{1}) * doubles_;
        memory_.resize(all_, 1.0);
    }

    void produce(const Source& source, std::int64_t elements) override {
        const auto copy = fluvial::move::copy_methods().back().copy;
        std::size_t at = 0;
        for (std::int64_t k = 0; k < elements;) {
            const std::int64_t now = std::min(source.side_by_side(k), elements - k);
            const double* from = source.element(k);
            for (std::size_t left = static_cast<std::size_t>(now) * doubles_; left > 0;) {
                const std::size_t n = std::min({left, all_ - at, piece_doubles});
                copy(reinterpret_cast<std::byte*>(memory_.data() + at),
                     reinterpret_cast<const std::byte*>(from), n * sizeof(double));
                from += n;
                left -= n;
                at = at + n == all_ ? 0 : at + n;
            }
            k += now;
        }
    }
    void consume(Sink& sink, std::int64_t elements) override {
        std::size_t at = 0;
        for (std::int64_t k = 0; k < elements;) {
            if (doubles_ > piece_doubles) {
                for (std::size_t first = 0; first < doubles_; first += piece_doubles) {
                    sink.part(memory_.data() + at + first, first,
                              std::min(piece_doubles, doubles_ - first));
                }
                at = at + doubles_ == all_ ? 0 : at + doubles_;
                k += 1;
                continue;
            }
            const auto left = static_cast<std::size_t>(elements - k);
            const std::size_t n =
                std::min({left, (all_ - at) / doubles_, piece_doubles / doubles_});
            sink.many(memory_.data() + at, n);
            at = at + n * doubles_ == all_ ? 0 : at + n * doubles_;
            k += static_cast<std::int64_t>(n);
        }
    }
    bool streams() const override { return false; }

  private:
    static constexpr std::size_t memory_bytes = 64 << 20, piece_doubles = 8192;

    std::vector<double> memory_;
    std::size_t doubles_ = 1, all_ = 1;
};
