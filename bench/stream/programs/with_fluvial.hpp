// SPDX-License-Identifier: Apache-2.0
/// Fluvial: how elements are given to the stream, and how the operation takes them.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "contestant.hpp"
#include "fluvial/stream/stream.hpp"
#include "words.hpp"

enum class Giving {
    One,      ///< a call for each element
    Many,     ///< as many in a call as lie side by side in the source
    InPlace,  ///< written where they leave from
};
enum class Taking {
    Each,   ///< a function called with each element
    Batch,  ///< spans of elements, or of parts of large ones
};

/// What the operation calls; chosen at run time, so that each call is one.
inline void take_one(const double* element, Sink& sink) {
    sink.one(element);
}

class WithFluvial final : public Contestant {
  public:
    WithFluvial(const Roles& roles, Giving giving, Taking taking, bool shared_memory,
                const Words& words)
        : Contestant(roles),
          giving_(giving),
          taking_(taking),
          buffer_bytes_(static_cast<std::size_t>(words.number("buffer", 0))) {
        options_.shared_memory = shared_memory;
        latency_s_ = words.real("latency", latency_s_);
    }

    /// A new stream for each run. Its memory is used once beforehand, as that of MPI has been.
    void prepare(const Source& source, Sink* sink, std::int64_t) override {
        namespace stream = fluvial::stream;
        sink_ = sink;
        bytes_ = source.bytes();
        rehearsed_ = 0;
        rehearses_ = !simulated;
        channel_ = std::make_unique<stream::Channel>(
            fluvial::mpi::Comm::duplicate(roles_.comm),
            roles_.consumes() ? stream::Role::Consumer : stream::Role::Producer, options_);
        stream::StreamOptions options;
        options.element = stream::Element::of(fluvial::DType::Float64, {source.doubles()});
        options.buffer_bytes = buffer_bytes_;
        options.latency_s = latency_s_;
        const bool parts = taking_ == Taking::Batch;
        auto operation =
            stream::make_callback([this](const stream::Batch& batch) { take(batch); }, parts);
        stream_ = std::make_unique<stream::Stream>(*channel_, options, std::move(operation));
        if (rehearses_) {
            rehearse(source);
        }
    }

    void produce(const Source& source, std::int64_t elements) override {
        send(source, elements);
        stream_->terminate();
    }
    void consume(Sink&, std::int64_t) override { stream_->operate(); }
    void finish() override {
        channel_->close();
        stream_.reset();
        channel_.reset();
    }
    double limit_bytes() const override { return static_cast<double>(buffer_bytes_); }

  private:
    void send(const Source& source, std::int64_t elements) {
        switch (giving_) {
            case Giving::One:
                return send_one_by_one(source, elements);
            case Giving::Many:
                for (std::int64_t k = 0; k < elements;) {
                    const std::int64_t now = std::min(source.side_by_side(k), elements - k);
                    stream_->send(source.made(k), now);
                    k += now;
                }
                return;
            case Giving::InPlace:
                return write_in_place(source, elements);
        }
    }
    /// Large elements are written in parts: then a unit is a number, not an element.
    void write_in_place(const Source& source, std::int64_t elements) {
        const std::size_t unit = stream_->reserve_many(1).size();
        stream_->commit(0);
        for (std::int64_t k = 0; k < elements;) {
            const std::int64_t now = std::min(source.side_by_side(k), elements - k);
            const auto* from = reinterpret_cast<const std::byte*>(source.made(k));
            for (std::size_t left = static_cast<std::size_t>(now) * bytes_; left > 0;) {
                const auto units = static_cast<std::int64_t>(left / unit);
                const std::span<std::byte> room = stream_->reserve_many(units);
                std::memcpy(room.data(), from, room.size());
                stream_->commit(static_cast<std::int64_t>(room.size() / unit));
                from += room.size();
                left -= room.size();
            }
            k += now;
        }
    }
    void send_one_by_one(const Source& source, std::int64_t elements) {
        if (source.doubles() == 1) {
            for (std::int64_t k = 0; k < elements; ++k) {
                stream_->put(*source.element(k));
            }
        } else {
            for (std::int64_t k = 0; k < elements; ++k) {
                stream_->send(source.made(k));
            }
        }
    }

    void take(const fluvial::stream::Batch& batch) {
        if (rehearses_) {
            for (std::size_t at = 0; at < batch.bytes; at += 4096) {
                touched_ += std::to_integer<unsigned>(batch.data[at]);
            }
            rehearsed_ += batch.bytes;
            return;
        }
        const auto* values = reinterpret_cast<const double*>(batch.data);
        const std::size_t first = batch.first % bytes_;
        if (first != 0 || batch.bytes % bytes_ != 0) {
            take_parts(values, first / 8, batch.bytes / 8);
        } else if (taking_ == Taking::Batch) {
            sink_->many(values, batch.bytes / bytes_);
        } else {
            const std::size_t doubles = bytes_ / 8;
            for (std::size_t left = batch.bytes / bytes_; left > 0; --left, values += doubles) {
                take_(values, *sink_);
            }
        }
    }
    void take_parts(const double* values, std::size_t first, std::size_t count) {
        while (count > 0) {
            const std::size_t now = std::min(count, bytes_ / 8 - first);
            sink_->part(values, first, now);
            values += now;
            count -= now;
            first = 0;
        }
    }

    /// As many elements as fill the stream's memory once.
    void rehearse(const Source& source) {
        const auto bytes = static_cast<std::int64_t>(bytes_);
        const std::int64_t enough = (std::int64_t{8} << 20) / bytes + 5;
        if (sink_ == nullptr) {
            send(source, enough);
            stream_->flush();
        } else {
            const std::int64_t all = enough * bytes * roles_.my_producers();
            while (rehearsed_ < static_cast<std::size_t>(all)) {
                if (stream_->operate_some() == 0) {
                    idle();
                }
            }
        }
        MPI_Barrier(roles_.comm);
        rehearses_ = false;
    }

    Giving giving_;
    Taking taking_;
    std::size_t buffer_bytes_;
    double latency_s_ = 1e-3;
    fluvial::stream::ChannelOptions options_;
    std::unique_ptr<fluvial::stream::Channel> channel_;
    std::unique_ptr<fluvial::stream::Stream> stream_;
    Sink* sink_ = nullptr;
    void (*volatile take_)(const double*, Sink&) = take_one;
    std::size_t bytes_ = 8;
    bool rehearses_ = true;
    std::size_t rehearsed_ = 0;
    unsigned touched_ = 0;
};
