// SPDX-License-Identifier: Apache-2.0
/// A limit of streams by messages: as many as fit in some memory are on their way all the time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plain.hpp"

/// Each element is a non-blocking message into memory of its own, where the consumer works on it as
/// soon as it is there, and receives the next but so many into the same place. No element is copied
/// or waited for in addition, and there are no credits, queries, ends, or ranks that may die. One
/// producer and one consumer.
class BareMessages final : public Messages {
  public:
    BareMessages(const Roles& roles, std::size_t memory_bytes)
        : Messages(roles), memory_bytes_(memory_bytes) {}

    void prepare(const Source& source, Sink* sink, std::int64_t elements) override {
        const std::size_t room = std::clamp(memory_bytes_ / source.bytes(), places_min, places_max);
        places_ = std::min(static_cast<std::int64_t>(room), elements);
        requests_.assign(static_cast<std::size_t>(places_), MPI_REQUEST_NULL);
        doubles_ = static_cast<std::size_t>(source.doubles());
        memory_.resize(sink == nullptr ? 0 : static_cast<std::size_t>(places_) * doubles_);
        if (sink == nullptr) {
            outgoing_.prepare(source, static_cast<std::size_t>(places_));
        }
    }
    void produce(const Source& source, std::int64_t elements) override {
        for (std::int64_t k = 0; k < elements; ++k) {
            MPI_Request& request = request_of(k);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Isend(outgoing_.element(source, k), source.doubles(), MPI_DOUBLE, 0, 1, comm(),
                      &request);
        }
        MPI_Waitall(static_cast<int>(places_), requests_.data(), MPI_STATUSES_IGNORE);
    }
    void consume(Sink& sink, std::int64_t elements) override {
        for (std::int64_t k = 0; k < places_; ++k) {
            receive(k);
        }
        for (std::int64_t k = 0; k < elements; ++k) {
            MPI_Wait(&request_of(k), MPI_STATUS_IGNORE);
            sink.one(place_of(k));
            if (k + places_ < elements) {
                receive(k + places_);
            }
        }
    }

  private:
    static constexpr std::size_t places_min = 2, places_max = 64;

    MPI_Request& request_of(std::int64_t k) {
        return requests_[static_cast<std::size_t>(k % places_)];
    }
    double* place_of(std::int64_t k) {
        return memory_.data() + static_cast<std::size_t>(k % places_) * doubles_;
    }
    void receive(std::int64_t k) {
        MPI_Irecv(place_of(k), static_cast<int>(doubles_), MPI_DOUBLE, 1, 1, comm(),
                  &request_of(k));
    }

    std::size_t memory_bytes_;
    std::int64_t places_ = 0;
    std::size_t doubles_ = 0;
    std::vector<double> memory_;
    Outgoing outgoing_;
    std::vector<MPI_Request> requests_;
};
