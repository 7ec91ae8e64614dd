// SPDX-License-Identifier: Apache-2.0
/// Fluvial's stage with the moves of Bare: one dataset a step, put, and viewed by the reader.
#pragma once

#include <optional>

#include <fluvial/stage.hpp>

#include "sides.hpp"

namespace bench {

class Fluvial {
  public:
    /// `span`: steps are written where they are staged.
    Fluvial(const std::string& folder, std::size_t step_bytes, int queue_steps, bool span)
        : count_(static_cast<fluvial::Index>(step_bytes / sizeof(double))), span_(span) {
        static int streams = 0;
        name_ = "bench-" + std::to_string(::getpid()) + "-" + std::to_string(streams++);
        writing_.directory = reading_.directory = folder;
        writing_.queue_steps = queue_steps;
        writing_.network = "off";
    }
    void open_writer() { writer_.emplace(name_, fluvial::mpi::Comm(), writing_); }
    void open_reader() { reader_.emplace(name_, fluvial::mpi::Comm(), reading_); }
    void write(const double* values) {
        auto step = writer_->begin_step();
        if (span_) {
            const auto view = step.span("x", fluvial::DType::Float64, {{0}, {count_}}, {count_});
            reinterpret_cast<double*>(view.data)[0] = values[0];
        } else {
            step.put("x", fluvial::ArrayView(values, fluvial::DType::Float64, {count_}), {0},
                     {count_});
        }
        step.end();
    }
    const double* next() {
        data_.reset();
        step_ = reader_->next();
        data_ = step_->dataset("x").read();
        return reinterpret_cast<const double*>(data_->view.data);
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

  private:
    fluvial::Index count_;
    bool span_;
    std::string name_;
    fluvial::stage::WriterOptions writing_;
    fluvial::stage::ReaderOptions reading_;
    std::optional<fluvial::stage::Writer> writer_;
    std::optional<fluvial::stage::Reader> reader_;
    std::optional<fluvial::stage::ReadStep> step_;
    std::optional<fluvial::stage::Data> data_;
};

}  // namespace bench
