// SPDX-License-Identifier: Apache-2.0
/// The paper's own scheme (section 3.2): a consumer keeps N persistent receives from any source,
/// each with a tag and a buffer of its own; producers send each element with a random one of these
/// tags; MPI_Testany finds what has arrived, which is processed before its receive starts again.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "contestant.hpp"

class SeedScheme final : public Contestant {
  public:
    explicit SeedScheme(const Roles& roles)
        : Contestant(roles), random_(static_cast<unsigned>(roles.rank)) {
        MPI_Comm_dup(roles.comm, &roles_.comm);
    }
    ~SeedScheme() override { MPI_Comm_free(&roles_.comm); }

    void prepare(const Source& source, Sink* sink, std::int64_t) override {
        if (sink == nullptr) {
            return;
        }
        const std::size_t doubles = sink->doubles();
        buffer_.resize(receives * doubles);
        for (int i = 0; i < receives; ++i) {
            MPI_Recv_init(buffer_.data() + static_cast<std::size_t>(i) * doubles, source.doubles(),
                          MPI_DOUBLE, MPI_ANY_SOURCE, i + 1, roles_.comm, &requests_[place(i)]);
            MPI_Start(&requests_[place(i)]);
        }
    }

    void produce(const Source& source, std::int64_t elements) override {
        const int consumer = roles_.my_consumer();
        std::uniform_int_distribution<int> any_tag(1, receives);
        for (std::int64_t k = 0; k < elements; ++k) {
            MPI_Send(source.made(k), source.doubles(), MPI_DOUBLE, consumer, any_tag(random_),
                     roles_.comm);
        }
        // On another tag the end overtakes elements: it says how many there are.
        MPI_Send(&elements, 1, MPI_INT64_T, consumer, end_tag, roles_.comm);
    }

    void consume(Sink& sink, std::int64_t) override {
        int producers = roles_.my_producers();
        std::int64_t expected = 0, one = 0;
        MPI_Request end = MPI_REQUEST_NULL;
        const auto listen = [&] {
            MPI_Irecv(&one, 1, MPI_INT64_T, MPI_ANY_SOURCE, end_tag, roles_.comm, &end);
        };
        listen();
        while (producers > 0 || sink.elements() < expected) {
            int found = MPI_UNDEFINED, done = 0;
            MPI_Testany(receives, requests_.data(), &found, &done, MPI_STATUS_IGNORE);
            if (done != 0 && found != MPI_UNDEFINED) {
                const auto i = static_cast<std::size_t>(found);
                sink.one(buffer_.data() + i * sink.doubles());
                MPI_Start(&requests_[i]);
                continue;
            }
            if (producers > 0) {
                MPI_Test(&end, &done, MPI_STATUS_IGNORE);
                if (done != 0) {
                    expected += one;
                    if (--producers > 0) {
                        listen();
                    }
                    continue;
                }
            }
            idle();
        }
    }

    void finish() override {
        for (MPI_Request& request : requests_) {
            if (request != MPI_REQUEST_NULL) {
                MPI_Cancel(&request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                MPI_Request_free(&request);
            }
        }
        buffer_ = {};
    }

  private:
    static constexpr int receives = 16, end_tag = receives + 1;

    static std::size_t place(int i) { return static_cast<std::size_t>(i); }

    std::minstd_rand random_;
    std::vector<double> buffer_;
    std::array<MPI_Request, receives> requests_ = [] {
        std::array<MPI_Request, receives> none{};
        none.fill(MPI_REQUEST_NULL);
        return none;
    }();
};
