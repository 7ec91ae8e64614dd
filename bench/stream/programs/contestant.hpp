// SPDX-License-Identifier: Apache-2.0
/// One way of getting elements from producers to consumers.
#pragma once

#include <cstdint>

#include <mpi.h>
#include <sched.h>

#include "elements.hpp"

/// Which ranks produce: the first ones consume. A producer keeps to one consumer, as in
/// the paper (section 3.2), and consumers have as many producers as one another, give or take one.
struct Roles {
    MPI_Comm comm = MPI_COMM_WORLD;
    int rank = 0, ranks = 1, consumers = 1;
    bool yields = false;  ///< more ranks than cores: waiting ones give their core away

    int producers() const { return ranks - consumers; }
    bool consumes() const { return rank < consumers; }
    int producer() const { return rank - consumers; }
    int my_consumer() const { return consumer_of(producer()); }
    int consumer_of(int producer) const {
        return static_cast<int>(static_cast<std::int64_t>(producer) * consumers / producers());
    }
    int my_producers() const {
        int count = 0;
        for (int p = 0; p < producers(); ++p) {
            count += consumer_of(p) == rank ? 1 : 0;
        }
        return count;
    }
};

class Contestant {
  public:
    explicit Contestant(const Roles& roles) : roles_(roles) {}
    virtual ~Contestant() = default;
    Contestant(const Contestant&) = delete;
    Contestant& operator=(const Contestant&) = delete;

    /// Before each run and after it, untimed. Collective. The sink is null on producers.
    virtual void prepare(const Source&, Sink*, std::int64_t /*elements*/) {}
    virtual void finish() {}
    /// The run: each producer sends `elements` elements, consumers process what arrives.
    virtual void produce(const Source& source, std::int64_t elements) = 0;
    virtual void consume(Sink& sink, std::int64_t elements) = 0;
    /// Whether every element is to be counted on the consumers afterwards.
    virtual bool streams() const { return true; }
    /// Memory for elements of each side, as configured; 0 when nothing limits it.
    virtual double limit_bytes() const { return 0; }

  protected:
    /// After a look that found nothing.
    void idle() const {
        if (roles_.yields) {
            sched_yield();
        }
    }

    Roles roles_;
};
