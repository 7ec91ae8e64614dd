// SPDX-License-Identifier: Apache-2.0
/// A limit of streams through shared memory: a ring with two counters and nothing else.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <mpi.h>

#include "contestant.hpp"

/// The producer copies pieces into shared memory by memcpy, and counts them; the consumer works on
/// each where it lies, and counts it, too. Pieces are what a stream's batches are: as many elements
/// as lie side by side in 64 KiB, or parts of larger ones. There are no other copies, no choice of
/// how to copy, and no ends, queries, or ranks that may die. One producer and one consumer.
class BareRing final : public Contestant {
  public:
    BareRing(const Roles& roles, std::size_t ring_bytes)
        : Contestant(roles), slots_(std::max<std::size_t>(ring_bytes / piece_bytes, 2)) {
        const std::size_t bytes = sizeof(Counters) + slots_ * piece_bytes;
        void* memory = nullptr;
        MPI_Win_allocate_shared(roles.rank == 0 ? static_cast<MPI_Aint>(bytes) : 0, 1,
                                MPI_INFO_NULL, roles.comm, &memory, &window_);
        MPI_Aint found = 0;
        int unit = 0;
        MPI_Win_shared_query(window_, 0, &found, &unit, &memory);
        counters_ = static_cast<Counters*>(memory);
        pieces_ = reinterpret_cast<double*>(counters_ + 1);
        if (roles.rank == 0) {
            new (counters_) Counters;
            std::memset(pieces_, 0, slots_ * piece_bytes);
        }
        MPI_Barrier(roles.comm);
        touch();
    }
    ~BareRing() override { MPI_Win_free(&window_); }

    void prepare(const Source& source, Sink*, std::int64_t) override {
        doubles_ = static_cast<std::size_t>(source.doubles());
        side_by_side_ = std::min(source.side_by_side(0), piece_elements());
        if (roles_.rank == 0) {
            counters_->written.store(0);
            counters_->released.store(0);
        }
    }
    void produce(const Source& source, std::int64_t elements) override {
        std::uint64_t released = 0;
        each_piece(elements, [&](std::uint64_t number, const Piece& piece) {
            while (number - released >= slots_) {
                idle();
                released = counters_->released.load(std::memory_order_acquire);
            }
            const double* const element =
                piece.first == 0 ? source.made(piece.element) : source.element(piece.element);
            std::memcpy(place_of(number), element + piece.first, sizeof(double) * piece.doubles);
            counters_->written.store(number + 1, std::memory_order_release);
        });
    }
    void consume(Sink& sink, std::int64_t elements) override {
        std::uint64_t written = 0;
        each_piece(elements, [&](std::uint64_t number, const Piece& piece) {
            while (written <= number) {
                idle();
                written = counters_->written.load(std::memory_order_acquire);
            }
            if (doubles_ > piece_doubles) {
                sink.part(place_of(number), piece.first, piece.doubles);
            } else {
                sink.many(place_of(number), piece.doubles / doubles_);
            }
            counters_->released.store(number + 1, std::memory_order_release);
        });
    }

  private:
    static constexpr std::size_t piece_bytes = std::size_t{64} << 10;
    static constexpr std::size_t piece_doubles = piece_bytes / sizeof(double);

    /// Processors fetch pairs of cache lines.
    struct Counters {
        alignas(128) std::atomic<std::uint64_t> written{0};
        alignas(128) std::atomic<std::uint64_t> released{0};
    };
    /// From double `first` of an element on.
    struct Piece {
        std::int64_t element;
        std::size_t first, doubles;
    };

    double* place_of(std::uint64_t number) { return pieces_ + number % slots_ * piece_doubles; }
    std::int64_t piece_elements() const {
        return static_cast<std::int64_t>(std::max<std::size_t>(piece_doubles / doubles_, 1));
    }

    /// Calls `work` with the number and the place of each piece, in the same order on both sides.
    template <typename Work>
    void each_piece(std::int64_t elements, Work&& work) {
        std::uint64_t number = 0;
        for (std::int64_t k = 0; k < elements; k += side_by_side_) {
            const auto now = static_cast<std::size_t>(std::min(side_by_side_, elements - k));
            for (std::size_t first = 0; first < now * doubles_; first += piece_doubles) {
                work(number++, Piece{k, first, std::min(piece_doubles, now * doubles_ - first)});
            }
        }
    }

    /// The memory of all runs is used once beforehand.
    void touch() {
        constexpr std::size_t page_doubles = 512;
        [[maybe_unused]] volatile double read = 0;
        for (std::size_t i = 0; i < slots_ * piece_doubles; i += page_doubles) {
            read = pieces_[i];
        }
    }

    std::size_t slots_;
    std::size_t doubles_ = 1;
    std::int64_t side_by_side_ = 1;  ///< elements of a piece, or the one of which it is a part
    MPI_Win window_ = MPI_WIN_NULL;
    Counters* counters_ = nullptr;
    double* pieces_ = nullptr;
};
