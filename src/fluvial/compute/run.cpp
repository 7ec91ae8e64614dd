// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/run.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "fluvial/compute/gather.hpp"
#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/nest.hpp"

namespace fluvial::compute {
namespace {

constexpr Index gathered_max = 2048;  ///< elements gathered in one go: 32 KiB of complex128
constexpr Index tile_columns = 1024;  ///< their sums and bounds stay in the first-level cache
constexpr Index tile_rows =
    32;  ///< 256 KiB of float64 stay in the second-level cache for other operators

/// Whether element i is NaN.
template <class T>
void exclude_nan(const T* x, Index count, std::uint8_t* included) {
    for (Index i = 0; i < count; ++i) {
        bool nan;
        if constexpr (std::is_floating_point_v<T>) {
            nan = x[i] != x[i];
        } else {
            nan = x[i].real() != x[i].real() || x[i].imag() != x[i].imag();
        }
        included[i] &= static_cast<std::uint8_t>(!nan);
    }
}

/// Turns the elements of one line into runs and hands them to the partials.
class Feeder {
  public:
    Feeder(const Piece& piece, std::span<RunPartial* const> partials)
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
        run_.dtype = needs_.dtype;
    }

    void line(const std::byte* const* inputs, const std::byte* weights, const std::byte* mask,
              const Loop& loop, Index cell, Index position) {
        const bool gathers = masked_ || weighted_ || skipna_ || needs_gather(inputs, loop);
        // The same runs whatever the byte order, so that sums are the same to the bit.
        const Index step = gathers ? gathered_max : run_count_max;
        const bool raw = summary_alone_ && !gathers && loop.cell == 0 && !needs_.positions;
        for (Index begin = 0; begin < loop.count; begin += step) {
            const Index count = std::min(step, loop.count - begin);
            for (int i = 0; i < needs_.inputs; ++i) {
                const std::byte* const data = inputs[i] + begin * loop.input[i];
                run_.values[i] = raw ? data : fetch(i, data, loop.input[i], count);
            }
            swapped_run_ = raw && swapped_[0];
            run_.count = count;
            run_.cell = cell + begin * loop.cell;
            run_.cell_step = loop.cell;
            run_.position = position + begin * loop.position;
            run_.position_step = loop.position;
            run_.weights = weighted_
                               ? fetch_weights(weights + begin * loop.weights, loop.weights, count)
                               : nullptr;
            run_.included = nullptr;
            if (masked_ || skipna_) {
                select(mask == nullptr ? nullptr : mask + begin * loop.mask, loop.mask);
            }
            feed();
        }
    }

    /// Whether rows of this loop, one after the other along `rows`, can be fed as tiles.
    bool takes_tiles(const std::byte* const* inputs, const Loop& rows, const Loop& columns) const {
        const bool real = needs_.dtype == DType::Float32 || needs_.dtype == DType::Float64;
        return real && needs_.inputs == 1 && !needs_.positions && !masked_ && !weighted_ &&
               !skipna_ && rows.cell == 0 && columns.cell == 1 && rows.input[0] % item_ == 0 &&
               !needs_gather(inputs, columns) &&
               std::any_of(partials_.begin(), partials_.end(),
                           [](auto* p) { return p->takes_columns(); });
    }

    void tiles(const std::byte* data, const Loop& rows, const Loop& columns, Index cell) {
        for (Index column = 0; column < columns.count; column += tile_columns) {
            for (Index row = 0; row < rows.count; row += tile_rows) {
                run_.values[0] = data + row * rows.input[0] + column * item_;
                run_.count = std::min(tile_columns, columns.count - column);
                run_.cell = cell + column;
                run_.cell_step = 1;
                feed_tile(std::min(tile_rows, rows.count - row), rows.input[0]);
            }
        }
    }

  private:
    void feed_tile(Index rows, Index stride) {
        const std::byte* const data = run_.as<std::byte>();
        const bool nan =
            needs_.dtype == DType::Float32
                ? summarise_tile<float>(kernels().columns_float[swapped_[0]], rows, stride)
                : summarise_tile<double>(kernels().columns_double[swapped_[0]], rows, stride);
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

    const void* fetch_row(const std::byte* data) {
        if (!swapped_[0]) {
            return data;
        }
        row_.resize(tile_columns);
        gather_[0](data, item_, run_.count, row_.data());
        return row_.data();
    }

    template <class T, class Kernel>
    bool summarise_tile(Kernel kernel, Index rows, Index stride) {
        values_[0].resize(3 * tile_columns);
        double* const sum = values_[0].data();
        T* const low = reinterpret_cast<T*>(sum + tile_columns);
        T* const high = reinterpret_cast<T*>(sum + 2 * tile_columns);
        columns_ = {rows, sum, low, high};
        return kernel(run_.as<T>(), stride / item_, rows, run_.count, parts_, sum, low, high);
    }

    bool aligned(const std::byte* data) const {
        return reinterpret_cast<std::uintptr_t>(data) % std::min<Index>(item_, 8) == 0;
    }

    bool needs_gather(const std::byte* const* inputs, const Loop& loop) const {
        bool needed = convert_;
        for (int i = 0; i < needs_.inputs; ++i) {
            needed = needed || (loop.input[i] != item_ && loop.count > 1) || !aligned(inputs[i]);
        }
        return needed;
    }

    const void* fetch(int input, const std::byte* data, Index stride, Index count) {
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
    void* buffer(int input, Index count) {
        const auto needed = static_cast<std::size_t>(count * item_ / 8 + 1);
        if (values_[input].size() < needed) {
            values_[input].resize(needed);
        }
        return values_[input].data();
    }

    const double* fetch_weights(const std::byte* data, Index stride, Index count) {
        if (stride == sizeof(double) &&
            reinterpret_cast<std::uintptr_t>(data) % alignof(double) == 0) {
            return reinterpret_cast<const double*>(data);
        }
        weights_.resize(gathered_max);
        gather_function(DType::Float64, DType::Float64)(data, stride, count, weights_.data());
        return weights_.data();
    }

    bool has_nan() const {
        for (int i = 0; i < needs_.inputs; ++i) {
            const Index reals = is_complex(needs_.dtype) ? 2 * run_.count : run_.count;
            const bool single = needs_.dtype == DType::Float32 || needs_.dtype == DType::Complex64;
            if (single ? kernels().has_nan_float[false](static_cast<const float*>(run_.values[i]),
                                                        reals)
                       : kernels().has_nan_double[false](static_cast<const double*>(run_.values[i]),
                                                         reals)) {
                return true;
            }
        }
        return false;
    }

    /// Applies mask and skipna to the run: marks what does not count, or squeezes it out where
    /// cells allow.
    void select(const std::byte* mask, Index mask_stride) {
        const bool drop_nan = skipna_ && has_nan();
        if (!masked_ && !drop_nan) {
            return;
        }
        included_.assign(static_cast<std::size_t>(run_.count), 1);
        if (masked_) {
            for (Index i = 0; i < run_.count; ++i) {
                included_[i] = mask[i * mask_stride] != std::byte{0};
            }
        }
        for (int i = 0; drop_nan && i < needs_.inputs; ++i) {
            switch (needs_.dtype) {
                case DType::Float32:
                    exclude_nan(run_.as<float>(i), run_.count, included_.data());
                    break;
                case DType::Float64:
                    exclude_nan(run_.as<double>(i), run_.count, included_.data());
                    break;
                case DType::Complex64:
                    exclude_nan(run_.as<std::complex<float>>(i), run_.count, included_.data());
                    break;
                default:
                    exclude_nan(run_.as<std::complex<double>>(i), run_.count, included_.data());
            }
        }
        run_.included = included_.data();
        if (run_.cell_step == 0 && !needs_.positions) {
            squeeze();
        }
    }

    template <class T>
    Index squeeze_into(const void* values, void* out) const {
        const T* x = static_cast<const T*>(values);
        T* kept = static_cast<T*>(out);
        Index n = 0;
        for (Index i = 0; i < run_.count; ++i) {
            kept[n] = x[i];  // n <= i, so this also works in place
            n += run_.included[i];
        }
        return n;
    }

    void squeeze() {
        struct Pair {
            double a, b;
        };
        Index n = 0;
        for (int i = 0; i < needs_.inputs; ++i) {
            void* const out = buffer(i, run_.count);
            switch (item_) {
                case 1:
                    n = squeeze_into<std::uint8_t>(run_.values[i], out);
                    break;
                case 2:
                    n = squeeze_into<std::uint16_t>(run_.values[i], out);
                    break;
                case 4:
                    n = squeeze_into<float>(run_.values[i], out);
                    break;
                case 8:
                    n = squeeze_into<double>(run_.values[i], out);
                    break;
                default:
                    n = squeeze_into<Pair>(run_.values[i], out);
            }
            run_.values[i] = out;
        }
        if (run_.weights != nullptr) {
            weights_.resize(gathered_max);
            squeeze_into<double>(run_.weights, weights_.data());
            run_.weights = weights_.data();
        }
        run_.count = n;
        run_.included = nullptr;
    }

    void feed() {
        if (run_.count == 0) {
            return;
        }
        run_.summary = nullptr;
        if (parts_ != 0 && run_.cell_step == 0 && run_.included == nullptr) {
            kernels().summary[swapped_run_][static_cast<int>(run_.dtype)](
                run_.values[0], run_.count, parts_, summary_);
            run_.summary = &summary_;
        }
        for (RunPartial* partial : partials_) {
            partial->absorb_run(run_);
        }
    }

    const RunNeeds& needs_;
    std::span<RunPartial* const> partials_;
    const bool masked_, weighted_;
    bool skipna_ = false, convert_ = false;
    bool swapped_[run_inputs_max] = {};
    bool summary_alone_ = true;  ///< no partial needs values where there is a summary
    bool swapped_run_ = false;   ///< the run's values are as they came
    Index item_ = 0;
    unsigned parts_ = 0;
    Gather gather_[run_inputs_max] = {};
    Run run_;
    Summary summary_;
    Columns columns_;
    std::vector<double> values_[run_inputs_max];
    std::vector<double> weights_;
    std::vector<double> row_;
    std::vector<std::uint8_t> included_;
};

}  // namespace

DType kernel_dtype(DType dtype) {
    return dtype == DType::Float16 ? DType::Float32 : dtype;
}

Coordinates global_coordinates(Index position, const Region& selection) {
    Coordinates point = coordinates_of(position, selection.extent);
    for (int axis = 0; axis < point.size(); ++axis) {
        point[axis] += selection.offset[axis];
    }
    return point;
}

RunPartial::RunPartial(std::string name, Domain domain, const RunNeeds& needs)
    : name_(std::move(name)),
      domain_(std::move(domain)),
      needs_(needs),
      kept_shape_(domain_.kept_shape()),
      cells_(volume_of(kept_shape_)) {}

void RunPartial::absorb(const Piece& piece) {
    check_piece(piece, domain_, name_);
    RunPartial* const self[] = {this};
    walk(piece, self);
}

void walk(const Piece& piece, std::span<RunPartial* const> partials) {
    if (partials.empty() || piece.where.empty()) {
        return;
    }
    const RunNeeds& needs = partials.front()->needs();
    const Nest nest = make_nest(piece, partials.front()->domain(), needs);
    Feeder feeder(piece, partials);
    int outer_depth = nest.depth - 1;
    const std::byte* inputs[run_inputs_max] = {};
    for (int i = 0; i < needs.inputs; ++i) {
        inputs[i] = piece.inputs[i].data;
    }
    const std::byte* weights = piece.weights != nullptr ? piece.weights->data : nullptr;
    const std::byte* mask = piece.mask != nullptr ? piece.mask->data : nullptr;
    Index cell = nest.cell, position = nest.position;
    const Loop& innermost = nest.loops[outer_depth];
    const bool tiles =
        outer_depth > 0 && feeder.takes_tiles(inputs, nest.loops[outer_depth - 1], innermost);
    outer_depth -= tiles;
    Index at[ndim_max + 1] = {};
    const auto move = [&](const Loop& loop, Index steps) {
        for (int i = 0; i < needs.inputs; ++i) {
            inputs[i] += steps * loop.input[i];
        }
        weights += steps * loop.weights;
        mask += steps * loop.mask;
        cell += steps * loop.cell;
        position += steps * loop.position;
    };
    for (;;) {
        if (tiles) {
            feeder.tiles(inputs[0], nest.loops[outer_depth], innermost, cell);
        } else {
            feeder.line(inputs, weights, mask, innermost, cell, position);
        }
        int level = outer_depth - 1;
        for (; level >= 0; --level) {
            move(nest.loops[level], 1);
            if (++at[level] < nest.loops[level].count) {
                break;
            }
            move(nest.loops[level], -at[level]);
            at[level] = 0;
        }
        if (level < 0) {
            return;
        }
    }
}

}  // namespace fluvial::compute
