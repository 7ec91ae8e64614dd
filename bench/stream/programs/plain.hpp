// SPDX-License-Identifier: Apache-2.0
/// What MPI gives without a library: Send and Recv, a window of non-blocking messages, ping-pong;
/// and memcpy, without any messages.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "contestant.hpp"

/// With a communicator and room for an element, kept from run to run.
class Messages : public Contestant {
  public:
    explicit Messages(const Roles& roles) : Contestant(roles) {
        MPI_Comm_dup(roles.comm, &roles_.comm);
    }
    ~Messages() override { MPI_Comm_free(&roles_.comm); }

    void prepare(const Source& source, Sink*, std::int64_t) override {
        element_.resize(static_cast<std::size_t>(source.doubles()));
    }

  protected:
    MPI_Comm comm() const { return roles_.comm; }
    int doubles() const { return static_cast<int>(element_.size()); }

    std::vector<double> element_;
};

/// Each element a blocking send and a blocking receive; an empty message ends the stream.
class SendRecv final : public Messages {
  public:
    using Messages::Messages;

    void produce(const Source& source, std::int64_t elements) override {
        const int consumer = roles_.my_consumer();
        for (std::int64_t k = 0; k < elements; ++k) {
            MPI_Send(source.made(k), source.doubles(), MPI_DOUBLE, consumer, 1, comm());
        }
        MPI_Send(nullptr, 0, MPI_DOUBLE, consumer, 1, comm());
    }
    void consume(Sink& sink, std::int64_t) override {
        int producers = roles_.my_producers();
        const int source = producers == 1 && roles_.consumers == 1 ? 1 : MPI_ANY_SOURCE;
        while (producers > 0) {
            MPI_Status status;
            MPI_Recv(element_.data(), doubles(), MPI_DOUBLE, source, 1, comm(), &status);
            int count = 0;
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            if (count == 0) {
                producers -= 1;
            } else {
                sink.one(element_.data());
            }
        }
    }
};

/// Where elements lie while their messages are on the way: elements that change have memory of
/// their own each, until as many others have followed as there are places.
class Outgoing {
  public:
    void prepare(const Source& source, std::size_t places) {
        doubles_ = static_cast<std::size_t>(source.doubles());
        memory_.clear();
        for (std::size_t i = 0; source.changes() && i < places; ++i) {
            memory_.insert(memory_.end(), source.element(0), source.element(0) + doubles_);
        }
    }
    const double* element(const Source& source, std::int64_t k) {
        if (memory_.empty()) {
            return source.element(k);
        }
        const std::size_t places = memory_.size() / doubles_;
        double* const place = memory_.data() + static_cast<std::size_t>(k) % places * doubles_;
        make_anew(place, doubles_);
        return place;
    }

  private:
    std::size_t doubles_ = 1;
    std::vector<double> memory_;
};

/// The usual one-way bandwidth test: 64 messages in flight, all into one buffer, none processed. If
/// it works on elements, each has memory of its own, and the consumer takes it as soon as it is
/// there.
class Windowed final : public Messages {
  public:
    Windowed(const Roles& roles, bool works) : Messages(roles), works_(works) {}

    void prepare(const Source& source, Sink* sink, std::int64_t elements) override {
        Messages::prepare(source, sink, elements);
        stride_ = works_ ? element_.size() : 0;
        const auto places = static_cast<std::size_t>(works_ ? in_window(0, elements) : 1);
        memory_.resize(sink == nullptr ? 0 : places * element_.size());
        if (sink == nullptr) {
            outgoing_.prepare(source, static_cast<std::size_t>(in_window(0, elements)));
        }
    }
    void produce(const Source& source, std::int64_t elements) override {
        int ready = 0;
        for (std::int64_t k = 0; k < elements; k += window) {
            const int count = in_window(k, elements);
            for (int i = 0; i < count; ++i) {
                const std::int64_t sent = works_ || source.changes() ? k + i : 0;
                MPI_Isend(outgoing_.element(source, sent), source.doubles(), MPI_DOUBLE, 0, 1,
                          comm(), &requests_[i]);
            }
            MPI_Waitall(count, requests_, MPI_STATUSES_IGNORE);
            MPI_Recv(&ready, 1, MPI_INT, 0, 2, comm(), MPI_STATUS_IGNORE);
        }
    }
    void consume(Sink& sink, std::int64_t elements) override {
        const int ready = 1;
        for (std::int64_t k = 0; k < elements; k += window) {
            const int count = in_window(k, elements);
            for (int i = 0; i < count; ++i) {
                MPI_Irecv(place_of(i), doubles(), MPI_DOUBLE, 1, 1, comm(), &requests_[i]);
            }
            for (int i = 0; works_ && i < count; ++i) {
                MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
                sink.one(place_of(i));
            }
            MPI_Waitall(count, requests_, MPI_STATUSES_IGNORE);
            MPI_Send(&ready, 1, MPI_INT, 1, 2, comm());
        }
    }
    bool streams() const override { return works_; }

  private:
    static constexpr int window = 64;
    static int in_window(std::int64_t k, std::int64_t elements) {
        return static_cast<int>(std::min<std::int64_t>(window, elements - k));
    }
    double* place_of(int i) { return memory_.data() + static_cast<std::size_t>(i) * stride_; }

    bool works_;
    std::size_t stride_ = 0;  ///< doubles from place to place
    std::vector<double> memory_;
    Outgoing outgoing_;
    MPI_Request requests_[window];
};

/// Elements go one way, then the other: the paper's "available bandwidth".
class PingPong final : public Messages {
  public:
    using Messages::Messages;

    void produce(const Source& source, std::int64_t elements) override {
        for (std::int64_t k = 0; k < elements; ++k) {
            if (k % 2 == 0) {
                MPI_Send(source.element(0), source.doubles(), MPI_DOUBLE, 0, 1, comm());
            } else {
                MPI_Recv(element_.data(), source.doubles(), MPI_DOUBLE, 0, 1, comm(),
                         MPI_STATUS_IGNORE);
            }
        }
    }
    void consume(Sink&, std::int64_t elements) override {
        for (std::int64_t k = 0; k < elements; ++k) {
            if (k % 2 == 0) {
                MPI_Recv(element_.data(), doubles(), MPI_DOUBLE, 1, 1, comm(), MPI_STATUS_IGNORE);
            } else {
                MPI_Send(element_.data(), doubles(), MPI_DOUBLE, 1, 1, comm());
            }
        }
    }
    bool streams() const override { return false; }
};

/// The work of both sides and nothing else, each in memory of its own, as large as the ring of one
/// producer is at most while the consumer keeps up. Nothing goes from core to core, and neither
/// side waits: this is the most that the cores can do.
class Limit final : public Contestant {
  public:
    using Contestant::Contestant;

    void prepare(const Source& source, Sink*, std::int64_t) override {
        memory_.assign(std::max(memory_bytes / source.bytes(), std::size_t{1}) * source.bytes() / 8,
                       1.0);
    }
    void produce(const Source& source, std::int64_t elements) override {
        const auto doubles = static_cast<std::size_t>(source.doubles());
        std::size_t at = 0;
        for (std::int64_t k = 0; k < elements; ++k) {
            std::memcpy(memory_.data() + at, source.element(k), source.bytes());
            asm volatile("" : : "r"(memory_.data()) : "memory");
            at = at + doubles == memory_.size() ? 0 : at + doubles;
        }
    }
    void consume(Sink& sink, std::int64_t elements) override {
        auto left = static_cast<std::size_t>(elements * roles_.my_producers());
        const std::size_t most = std::max<std::size_t>(batch_bytes / 8 / sink.doubles(), 1);
        std::size_t at = 0;
        while (left > 0) {
            const std::size_t room = (memory_.size() - at) / sink.doubles();
            const std::size_t count = std::min({left, most, room});
            sink.many(memory_.data() + at, count);
            left -= count;
            at = count == room ? 0 : at + count * sink.doubles();
        }
    }
    bool streams() const override { return false; }

  private:
    static constexpr std::size_t memory_bytes = 4 << 20, batch_bytes = 64 << 10;

    std::vector<double> memory_;
};

/// The consumer alone copies arrays of 64 MiB, or of an element when that is larger.
class Memcpy final : public Contestant {
  public:
    using Contestant::Contestant;

    void prepare(const Source&, Sink* sink, std::int64_t) override {
        if (sink != nullptr && from_.empty()) {
            from_.assign(std::max<std::size_t>(8 << 20, sink->doubles()), 1.0);
            to_.assign(from_.size(), 0.0);
        }
    }
    void produce(const Source&, std::int64_t) override {}
    void consume(Sink& sink, std::int64_t elements) override {
        auto left = static_cast<std::size_t>(elements) * sink.doubles();
        while (left > 0) {
            const std::size_t count = std::min(left, from_.size());
            std::memcpy(to_.data(), from_.data(), 8 * count);
            asm volatile("" : : "r"(to_.data()) : "memory");
            left -= count;
        }
    }
    bool streams() const override { return false; }

  private:
    std::vector<double> from_, to_;
};
