// SPDX-License-Identifier: Apache-2.0
/// Fluvial's stage as a contestant: steps of one dataset or of several, put, or written where they
/// are staged, and viewed by the reader.
#pragma once

#include <optional>

#include <fluvial/stage.hpp>

#include "sides.hpp"

namespace bench {

/// A stream of such steps; what derives from it says where its ends are and how steps are written.
class FluvialStream {
  public:
    void open_writer() { writer_.emplace(name_, fluvial::mpi::Comm(), writing_); }
    void open_reader() { reader_.emplace(name_, fluvial::mpi::Comm(), reading_); }

    /// The elements of the next step; of several datasets the first one of each.
    const double* next() {
        data_.reset();
        step_ = reader_->next();
        if (!step_) {
            fail("the stream has ended too early");
        }
        if (names_.size() == 1) {
            data_ = step_->dataset(names_[0]).read();
            return reinterpret_cast<const double*>(data_->view.data);
        }
        gathered_.clear();
        for (const std::string& name : names_) {
            const auto data = step_->dataset(name).read();
            gathered_.push_back(*reinterpret_cast<const double*>(data.view.data));
        }
        return gathered_.data();
    }

    void close_writer() {
        writer_->close();
        writer_.reset();
    }
    void close_reader() {
        data_.reset();
        step_.reset();
        reader_->close();
        reader_.reset();
    }

  protected:
    FluvialStream(const std::string& folder, std::size_t step_bytes, int queue_steps,
                  std::vector<std::string> names)
        : count_(static_cast<fluvial::Index>(step_bytes / sizeof(double))),
          names_(std::move(names)) {
        static int streams = 0;
        name_ = "bench-" + std::to_string(::getpid()) + "-" + std::to_string(streams++);
        writing_.directory = reading_.directory = folder;
        writing_.queue_steps = queue_steps;
    }

    /// A step of these elements, shared out among the datasets.
    void put(const double* values) {
        auto step = writer_->begin_step();
        const fluvial::Index each = count_ / static_cast<fluvial::Index>(names_.size());
        for (const std::string& name : names_) {
            step.put(name, fluvial::ArrayView(values, fluvial::DType::Float64, {each}), {0},
                     {each});
            values += each;
        }
        step.end();
    }

    /// A step of one dataset; `fill` is called with the memory where it is staged.
    template <class Fill>
    void put_in_place(Fill fill) {
        auto step = writer_->begin_step();
        const auto view = step.span(names_[0], fluvial::DType::Float64, {{0}, {count_}}, {count_});
        fill(reinterpret_cast<double*>(view.data));
        step.end();
    }

    fluvial::stage::WriterOptions writing_;
    fluvial::stage::ReaderOptions reading_;

  private:
    fluvial::Index count_;
    std::string name_;
    std::vector<std::string> names_;
    std::vector<double> gathered_;
    std::optional<fluvial::stage::Writer> writer_;
    std::optional<fluvial::stage::Reader> reader_;
    std::optional<fluvial::stage::ReadStep> step_;
    std::optional<fluvial::stage::Data> data_;
};

/// One on a single host, with the moves of Bare.
class Fluvial : public FluvialStream {
  public:
    /// `span`: steps are written where they are staged.
    Fluvial(const std::string& folder, std::size_t step_bytes, int queue_steps, bool span)
        : FluvialStream(folder, step_bytes, queue_steps, {"x"}), span_(span) {
        writing_.network = "off";
    }
    void write(const double* values) {
        if (span_) {
            put_in_place([&](double* to) { to[0] = values[0]; });
        } else {
            put(values);
        }
    }

  private:
    bool span_;
};

}  // namespace bench
