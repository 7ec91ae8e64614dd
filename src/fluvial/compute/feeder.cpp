// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/feeder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/compute/kernels/kernels.hpp"

namespace fluvial::compute {
namespace {

constexpr Index tile_columns = 1024;  ///< their sums and bounds stay in the first-level cache
constexpr Index tile_rows =
    32;  ///< 256 KiB of float64 stay in the second-level cache for other operators

}  // namespace

Feeder::Feeder(const Piece& piece, std::span<RunPartial* const> partials)
    : needs_(partials.front()->needs()),
      partials_(partials),
      masked_(piece.mask != nullptr),
      weighted_(piece.weights != nullptr) {
    skipna_ = needs_.skipna && !is_integer(needs_.dtype);
    item_ = static_cast<Index>(size_of(needs_.dtype));
    for (int i = 0; i < needs_.inputs; ++i) {
        const ArrayView& input = piece.inputs[i];
        swapped_[i] = input.swapped && size_of(input.dtype) > 1;
        gather_[i] = gather_function(input.dtype, needs_.dtype, swapped_[i]);
        convert_ = convert_ || input.dtype != needs_.dtype;
    }
    for (const RunPartial* partial : partials) {
        parts_ |= partial->summary_parts();
        summary_alone_ = summary_alone_ && partial->takes_summary_alone();
    }
    summary_alone_ = summary_alone_ && needs_.inputs == 1 && !needs_.positions;
    as_stored_ = needs_.inputs == 1 && swapped_[0] && !convert_ && !masked_ && !weighted_ &&
                 std::all_of(partials.begin(), partials.end(),
                             [](const auto* p) { return p->takes_swapped(); });
    run_.dtype = needs_.dtype;
}

void Feeder::line(const Line& line, const Loop& loop) {
    const bool gathers = weighted_ || needs_gather(line, loop);
    const bool plain = !masked_ && !weighted_ && !needs_.positions && loop.cell == 0;
    const bool rows = plain && summary_alone_ && !gathers;
    if (plain && !rows && loop.count <= joined_max) {
        join(line, loop);
        return;
    }
    const Index step = gathers ? gathered_max : rows ? summary_count_max : run_count_max;
    for (Index begin = 0; begin < loop.count; begin += step) {
        const Index count = std::min(step, loop.count - begin);
        if (rows) {
            add_row(line.inputs[0] + begin * item_, count, line.cell);
        } else {
            chunk(line, loop, begin, count);
        }
    }
}

void Feeder::finish() {
    finish_joined();
    finish_rows();
}

void Feeder::join(const Line& line, const Loop& loop) {
    if (line.cell != joined_cell_ || joined_ + loop.count > gathered_max) {
        finish_joined();
    }
    for (int i = 0; i < needs_.inputs; ++i) {
        auto* const out = static_cast<std::byte*>(buffer(i, gathered_max));
        gather_[i](line.inputs[i], loop.input[i], loop.count, out + joined_ * item_);
    }
    joined_ += loop.count;
    joined_cell_ = line.cell;
}

void Feeder::finish_joined() {
    run_.count = std::exchange(joined_, 0);
    for (int i = 0; i < needs_.inputs; ++i) {
        run_.values[i] = values_[i].data();
    }
    run_.cell = joined_cell_;
    run_.cell_step = 0;
    run_.weights = nullptr;
    run_.included = nullptr;
    if (run_.count > 0 && skipna_ && excludes_any(nullptr, 0)) {
        feed_selected(nullptr, 0);
    } else {
        feed();
    }
}

void Feeder::add_row(const void* row, Index count, Index cell) {
    const bool fits = count == rows_length_ && cell == rows_cell_ && rows_count_ < rows_max &&
                      (rows_count_ + 1) * count <= summary_count_max;
    if (!fits) {
        finish();  // what is joined too: taking NaN out of rows needs its buffers
    }
    rows_[rows_count_++] = row;
    rows_length_ = count;
    rows_cell_ = cell;
}

void Feeder::finish_rows() {
    const Index rows = std::exchange(rows_count_, 0);
    if (rows == 0) {
        return;
    }
    run_.weights = nullptr;
    run_.included = nullptr;
    run_.count = rows * rows_length_;
    run_.cell = rows_cell_;
    run_.cell_step = 0;
    run_.summary = nullptr;
    if (parts_ != 0) {
        kernels().summary[swapped_[0]][static_cast<int>(run_.dtype)](rows_, rows, rows_length_,
                                                                     parts_, summary_);
        run_.summary = &summary_;
    }
    if (!skipna_ || !(parts_ != 0 ? summary_has_nan() : rows_have_nan(rows))) {
        for (RunPartial* partial : partials_) {
            partial->absorb_run(run_);
        }
        return;
    }
    Loop loop;
    loop.count = rows_length_;
    loop.input[0] = item_;
    for (Index row = 0; row < rows; ++row) {
        Line line;
        line.inputs[0] = static_cast<const std::byte*>(rows_[row]);
        line.cell = rows_cell_;
        if (loop.count <= joined_max) {
            join(line, loop);
        } else {
            chunk(line, loop, 0, loop.count);
        }
    }
    finish_joined();
}

/// May also say so of infinities, whose sum can be NaN.
bool Feeder::summary_has_nan() const {
    if (parts_ & summary_bounds) {
        return summary_.nan;
    }
    return summary_.sum != summary_.sum || summary_.imag != summary_.imag;
}

bool Feeder::rows_have_nan(Index rows) const {
    for (Index row = 0; row < rows; ++row) {
        if (has_nan(rows_[row], rows_length_, swapped_[0])) {
            return true;
        }
    }
    return false;
}

void Feeder::chunk(const Line& line, const Loop& loop, Index begin, Index count) {
    run_.swapped = as_stored_ && loop.cell == 0 && !needs_gather(line, loop);
    for (int i = 0; i < needs_.inputs; ++i) {
        const std::byte* const data = line.inputs[i] + begin * loop.input[i];
        run_.values[i] = run_.swapped ? data : fetch(i, data, loop.input[i], count);
    }
    run_.count = count;
    run_.cell = line.cell + begin * loop.cell;
    run_.cell_step = loop.cell;
    run_.position = line.position + begin * loop.position;
    run_.position_step = loop.position;
    run_.weights = weighted_
                       ? fetch_weights(line.weights + begin * loop.weights, loop.weights, count)
                       : nullptr;
    run_.included = nullptr;
    const std::byte* const mask = masked_ ? line.mask + begin * loop.mask : nullptr;
    // The summary tells of NaN, too, so that the values need not be looked through beforehand.
    const bool told = skipna_ && !masked_ && needs_.inputs == 1 && summarise();
    if (told ? !summary_has_nan() : !(masked_ || skipna_) || !excludes_any(mask, loop.mask)) {
        feed(told);
        run_.swapped = false;
    } else if (count <= gathered_max) {
        if (std::exchange(run_.swapped, false)) {
            run_.values[0] = fetch(0, line.inputs[0] + begin * loop.input[0], loop.input[0], count);
        }
        feed_selected(mask, loop.mask);
    } else {  // in parts that stay in the first-level cache
        for (Index part = 0; part < count; part += gathered_max) {
            chunk(line, loop, begin + part, std::min(gathered_max, count - part));
        }
    }
}

bool Feeder::has_nan(const void* values, Index count, bool swapped) const {
    const Index reals = is_complex(needs_.dtype) ? 2 * count : count;
    if (needs_.dtype == DType::Float32 || needs_.dtype == DType::Complex64) {
        return kernels().has_nan_float[swapped](static_cast<const float*>(values), reals);
    }
    return kernels().has_nan_double[swapped](static_cast<const double*>(values), reals);
}

bool Feeder::takes_tiles(const Line& first, const Loop& rows, const Loop& columns) const {
    const bool real = needs_.dtype == DType::Float32 || needs_.dtype == DType::Float64;
    return real && needs_.inputs == 1 && !needs_.positions && !masked_ && !weighted_ &&
           rows.cell == 0 && columns.cell == 1 && rows.input[0] % item_ == 0 &&
           !needs_gather(first, columns) &&
           std::any_of(partials_.begin(), partials_.end(),
                       [](auto* p) { return p->takes_columns(); });
}

void Feeder::tiles(const Line& first, const Loop& rows, const Loop& columns) {
    for (Index column = 0; column < columns.count; column += tile_columns) {
        for (Index row = 0; row < rows.count; row += tile_rows) {
            run_.values[0] = first.inputs[0] + row * rows.input[0] + column * item_;
            run_.count = std::min(tile_columns, columns.count - column);
            run_.cell = first.cell + column;
            run_.cell_step = 1;
            feed_tile(std::min(tile_rows, rows.count - row), rows.input[0]);
        }
    }
}

void Feeder::feed_tile(Index rows, Index stride) {
    const std::byte* const data = run_.as<std::byte>();
    const bool nan =
        needs_.dtype == DType::Float32
            ? summarise_tile<float>(kernels().columns_float[swapped_[0]], rows, stride)
            : summarise_tile<double>(kernels().columns_double[swapped_[0]], rows, stride);
    if (skipna_ && nan) {
        for (Index row = 0; row < rows; ++row) {
            run_.values[0] = fetch_row(data + row * stride);
            feed_selected(nullptr, 0);
            run_.included = nullptr;
        }
        return;
    }
    for (RunPartial* partial : partials_) {
        // Bounds of columns do not tell which of them has a NaN: such a tile goes row by row.
        const bool whole =
            partial->takes_columns() && !(nan && (partial->summary_parts() & summary_bounds));
        run_.columns = whole ? &columns_ : nullptr;
        for (Index row = 0; row < (whole ? 1 : rows); ++row) {
            // Of a whole tile the values are not looked at.
            const std::byte* const here = data + row * stride;
            run_.values[0] = whole ? here : fetch_row(here);
            partial->absorb_run(run_);
        }
    }
    run_.columns = nullptr;
}

template <class T, class Kernel>
bool Feeder::summarise_tile(Kernel kernel, Index rows, Index stride) {
    values_[0].resize(3 * tile_columns);
    double* const sum = values_[0].data();
    T* const low = reinterpret_cast<T*>(sum + tile_columns);
    T* const high = reinterpret_cast<T*>(sum + 2 * tile_columns);
    columns_ = {rows, sum, low, high};
    if (parts_ == 0 && !skipna_) {
        return false;
    }
    const bool nan = kernel(run_.as<T>(), stride / item_, rows, run_.count, parts_, sum, low, high);
    // Where only sums are asked for, the kernel says nothing of NaN: it is in the sum of its
    // column.
    return parts_ == summary_sum && skipna_ ? kernels().has_nan_double[false](sum, run_.count)
                                            : nan;
}

const void* Feeder::fetch_row(const std::byte* data) {
    if (!swapped_[0]) {
        return data;
    }
    row_.resize(tile_columns);
    gather_[0](data, item_, run_.count, row_.data());
    return row_.data();
}

bool Feeder::aligned(const std::byte* data) const {
    return reinterpret_cast<std::uintptr_t>(data) % std::min<Index>(item_, 8) == 0;
}

bool Feeder::needs_gather(const Line& line, const Loop& loop) const {
    bool needed = convert_;
    for (int i = 0; i < needs_.inputs; ++i) {
        needed = needed || (loop.input[i] != item_ && loop.count > 1) || !aligned(line.inputs[i]);
    }
    return needed;
}

const void* Feeder::fetch(int input, const std::byte* data, Index stride, Index count) {
    const bool direct =
        !convert_ && !swapped_[input] && (stride == item_ || count == 1) && aligned(data);
    if (direct) {
        return data;
    }
    void* const out = buffer(input, count);
    gather_[input](data, stride, count, out);
    return out;
}

/// Room for that many values of an input; never moves what a run already points to, because no
/// later step of the run asks for more.
void* Feeder::buffer(int input, Index count) {
    const auto needed = static_cast<std::size_t>(count * item_ / 8 + 1);
    if (values_[input].size() < needed) {
        values_[input].resize(needed);
    }
    return values_[input].data();
}

const double* Feeder::fetch_weights(const std::byte* data, Index stride, Index count) {
    if (stride == sizeof(double) && reinterpret_cast<std::uintptr_t>(data) % alignof(double) == 0) {
        return reinterpret_cast<const double*>(data);
    }
    weights_.resize(gathered_max);
    gather_function(DType::Float64, DType::Float64)(data, stride, count, weights_.data());
    return weights_.data();
}

/// Whether the run has a summary, which is then made.
bool Feeder::summarise() {
    run_.summary = nullptr;
    if (parts_ != 0 && run_.cell_step == 0 && run_.included == nullptr) {
        kernels().summary[run_.swapped][static_cast<int>(run_.dtype)](run_.values, 1, run_.count,
                                                                      parts_, summary_);
        run_.summary = &summary_;
    }
    return run_.summary != nullptr;
}

void Feeder::feed(bool summarised) {
    if (run_.count == 0) {
        return;
    }
    if (!summarised) {
        summarise();
    }
    for (RunPartial* partial : partials_) {
        partial->absorb_run(run_);
    }
}

}  // namespace fluvial::compute
