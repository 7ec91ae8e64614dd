// SPDX-License-Identifier: Apache-2.0
/// What is streamed and what is done with it: the kernels of STREAM on each element, as in "A Data
/// Streaming Model in MPI", section 4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"

enum class Kernel { Copy, Scale, Add, Triad };

inline Kernel kernel_of(const std::string& name) {
    for (const auto& [known, kernel] : {std::pair{"copy", Kernel::Copy},
                                        {"scale", Kernel::Scale},
                                        {"add", Kernel::Add},
                                        {"triad", Kernel::Triad}}) {
        if (name == known) {
            return kernel;
        }
    }
    throw std::invalid_argument("kernel copy, scale, add or triad expected, got '" + name + "'");
}

/// Writes one number of each cache line again, so that no cache but this core's has them.
inline void make_anew(double* element, std::size_t doubles) {
    constexpr std::size_t line_doubles = 8;
    for (std::size_t i = 0; i < doubles; i += line_doubles) {
        volatile double* const number = element + i;
        *number = *number;
    }
}

/// The elements of one producer: a few, over and over again, each with numbers of its own.
class Source {
  public:
    /// `doubles` in an element. Small elements lie side by side in 64 KiB. If they change, the
    /// producer makes each one anew before it gives it, as programs do whose data are new; those
    /// have 64 KiB or more.
    Source(std::size_t doubles, int producer, bool changes = false)
        : doubles_(doubles),
          elements_(std::max<std::size_t>(pool_bytes / (8 * doubles), 1)),
          changes_(changes),
          numbers_(doubles * elements_) {
        if (changes && elements_ > 1) {
            throw std::invalid_argument("elements that change have 64 KiB or more");
        }
        for (std::size_t i = 0; i < numbers_.size(); ++i) {
            numbers_[i] = static_cast<double>(1 + (7 * i + 13 * producer) % 1021);
        }
    }
    /// Element `k` of the stream.
    const double* element(std::int64_t k) const {
        return numbers_.data() + static_cast<std::size_t>(k) % elements_ * doubles_;
    }
    /// The same; no message of it is on its way.
    const double* made(std::int64_t k) const {
        if (changes_) {
            make_anew(numbers_.data(), doubles_);
        }
        return element(k);
    }
    bool changes() const { return changes_; }
    /// How many elements lie in memory from element `k` on, itself included.
    std::int64_t side_by_side(std::int64_t k) const {
        return static_cast<std::int64_t>(elements_ - static_cast<std::size_t>(k) % elements_);
    }
    std::size_t bytes() const { return 8 * doubles_; }
    int doubles() const { return static_cast<int>(doubles_); }
    /// What Sink::sum() has to be after the first `count` elements.
    double sum(std::int64_t count) const {
        double once = 0, rest = 0;
        const auto every = static_cast<std::int64_t>(elements_);
        for (std::int64_t k = 0; k < every; ++k) {
            const double ends = element(k)[0] + element(k)[doubles_ - 1];
            once += ends;
            rest += k < count % every ? ends : 0;
        }
        return once * static_cast<double>(count / every) + rest;
    }

  private:
    static constexpr std::size_t pool_bytes = 64 << 10;

    std::size_t doubles_, elements_;
    bool changes_;
    mutable std::vector<double> numbers_;
};

struct SinkPlan {
    std::size_t doubles = 1;  ///< in an element
    Kernel kernel = Kernel::Scale;
    int flops = 0;             ///< further operations on each element
    double away_s = 0;         ///< what the first element takes in addition
    bool calls_mpi = false;    ///< during that time
    bool checks = false;       ///< add up what arrives
    double second_a_byte = 0;  ///< simulated: what the kernel takes
};

/// One consumer's processing: the results go round a buffer that stays in the cache, unless a
/// single element is larger.
class Sink {
  public:
    explicit Sink(const SinkPlan& plan)
        : plan_(plan), out_(std::max(plan.doubles, results)), other_(out_.size(), 2.0) {}

    /// One element.
    void one(const double* element) {
        if (out_.size() - at_ < plan_.doubles) {
            at_ = 0;
        }
        work(element, plan_.doubles);
        at_ += plan_.doubles;
        elements_ += 1;
        if (special_) {
            also(element, 1);
        }
    }
    /// `count` elements side by side.
    void many(const double* elements, std::size_t count) {
        const double* from = elements;
        for (std::size_t left = count * plan_.doubles; left > 0;) {
            const std::size_t now = std::min(left, out_.size() - at_);
            work(from, now);
            from += now;
            left -= now;
            at_ = at_ + now == out_.size() ? 0 : at_ + now;
        }
        elements_ += static_cast<std::int64_t>(count);
        if (special_) {
            also(elements, count);
        }
    }
    /// A part of an element from its double number `first` on.
    void part(const double* values, std::size_t first, std::size_t count) {
        at_ = first;
        work(values, count);
        const bool last = first + count == plan_.doubles;
        at_ = 0;
        sum_ += (first == 0 ? values[0] : 0) + (last ? values[count - 1] : 0);
        if (last) {
            elements_ += 1;
            extra_work(1);
        }
    }

    std::int64_t elements() const { return elements_; }
    double sum() const { return sum_; }
    bool checks() const { return plan_.checks; }
    std::size_t doubles() const { return plan_.doubles; }

  private:
    static constexpr std::size_t results = 4096;

    void work(const double* in, std::size_t count) {
        double* out = out_.data() + at_;
        const double* other = other_.data() + at_;
        switch (plan_.kernel) {
            case Kernel::Copy:
                for (std::size_t i = 0; i < count; ++i) {
                    out[i] = in[i];
                }
                break;
            case Kernel::Scale:
                for (std::size_t i = 0; i < count; ++i) {
                    out[i] = 3.0 * in[i];
                }
                break;
            case Kernel::Add:
                for (std::size_t i = 0; i < count; ++i) {
                    out[i] = in[i] + other[i];
                }
                break;
            case Kernel::Triad:
                for (std::size_t i = 0; i < count; ++i) {
                    out[i] = in[i] + 3.0 * other[i];
                }
                break;
        }
    }
    void also(const double* elements, std::size_t count) {
        if (plan_.checks) {
            for (std::size_t k = 0; k < count; ++k) {
                const double* element = elements + k * plan_.doubles;
                sum_ += element[0] + element[plan_.doubles - 1];
            }
        }
        extra_work(count);
    }
    void extra_work(std::size_t count) {
        if (plan_.away_s > 0) {
            be_away(std::exchange(plan_.away_s, 0));
        }
        for (std::size_t k = 0; plan_.flops > 0 && k < count; ++k) {
            for (int done = 0; done < plan_.flops; done += 2 * lanes) {
                for (double& lane : lane_) {
                    lane = lane * 0.999 + 0.001;
                }
            }
        }
        if (plan_.second_a_byte > 0) {
            spend(plan_.second_a_byte * static_cast<double>(8 * plan_.doubles * count));
        }
    }

    void be_away(double seconds) const {
        for (const double until = now() + seconds; now() < until;) {
            int found = 0;
            if (plan_.calls_mpi) {
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
            }
        }
    }

    static constexpr int lanes = 8;

    SinkPlan plan_;
    bool special_ = plan_.checks || plan_.flops > 0 || plan_.away_s > 0 || plan_.second_a_byte > 0;
    std::vector<double> out_, other_;
    double lane_[lanes] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::size_t at_ = 0;
    std::int64_t elements_ = 0;
    double sum_ = 0;
};
