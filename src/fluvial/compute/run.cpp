// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/run.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "fluvial/compute/gather.hpp"
#include "fluvial/compute/kernels/kernels.hpp"

namespace fluvial::compute {
namespace {

constexpr Index gathered_max = 2048;  ///< elements gathered in one go: 32 KiB of complex128
constexpr Index short_axis = 32;      ///< kept axes shorter than this are not worth being innermost

/// One loop, with the stride of everything that moves along: bytes for inputs, weights and mask; cells; positions.
struct Loop {
    Index count = 1;
    Index input[run_inputs_max] = {};
    Index weights = 0, mask = 0, cell = 0, position = 0;
};

bool fuses(const Loop& outer, const Loop& inner, int inputs) {
    bool fits = outer.weights == inner.weights * inner.count && outer.mask == inner.mask * inner.count &&
                outer.cell == inner.cell * inner.count && outer.position == inner.position * inner.count;
    for (int i = 0; i < inputs; ++i) {
        fits = fits && outer.input[i] == inner.input[i] * inner.count;
    }
    return fits;
}

/// Loops over the piece, outermost first.
struct Nest {
    Loop loops[ndim_max + 1];
    int depth = 0;
    Index cell = 0, position = 0;  ///< of the piece's first element
};

/// Strides of kept cells and of positions, and where the piece begins.
void place(const Piece& piece, const Domain& domain, bool positions, Loop* axes, Nest& nest) {
    Index cell_stride = 1, position_stride = 1;
    auto reduced = domain.over.rbegin();
    for (int axis = piece.where.ndim() - 1; axis >= 0; --axis) {
        const Index inside = piece.where.offset[axis] - domain.selection.offset[axis];
        if (reduced != domain.over.rend() && *reduced == axis) {
            ++reduced;
        } else {
            axes[axis].cell = cell_stride;
            nest.cell += inside * cell_stride;
            cell_stride *= domain.selection.extent[axis];
        }
        if (positions) {
            axes[axis].position = position_stride;
            nest.position += inside * position_stride;
        }
        position_stride *= domain.selection.extent[axis];
    }
}

Nest make_nest(const Piece& piece, const Domain& domain, const RunNeeds& needs) {
    Nest nest;
    Loop axes[ndim_max];
    place(piece, domain, needs.positions, axes, nest);
    int count = 0;
    for (int axis = 0; axis < piece.where.ndim(); ++axis) {
        Loop loop = axes[axis];
        loop.count = piece.where.extent[axis];
        for (int i = 0; i < needs.inputs; ++i) {
            loop.input[i] = piece.inputs[i].strides[axis];
        }
        loop.weights = piece.weights != nullptr ? piece.weights->strides[axis] : 0;
        loop.mask = piece.mask != nullptr ? piece.mask->strides[axis] : 0;
        if (loop.count != 1) {
            axes[count++] = loop;
        }
    }
    // Innermost is what lies closest in memory, whatever the order of the axes.
    std::stable_sort(axes, axes + count,
                     [](const Loop& a, const Loop& b) { return std::abs(a.input[0]) > std::abs(b.input[0]); });
    for (int i = 0; i < count; ++i) {
        if (nest.depth > 0 && fuses(nest.loops[nest.depth - 1], axes[i], needs.inputs)) {
            const Index outer = nest.loops[nest.depth - 1].count;
            nest.loops[nest.depth - 1] = axes[i];
            nest.loops[nest.depth - 1].count *= outer;
        } else {
            nest.loops[nest.depth++] = axes[i];
        }
    }
    if (nest.depth == 0) {
        nest.depth = 1;  // one element
    }
    // A short kept axis innermost (positions of shape (n, 3)) makes short runs; go along the longest reduced one.
    Loop* const last = nest.loops + nest.depth - 1;
    if (last->cell != 0 && last->count < short_axis) {
        Loop* longest = last;
        for (Loop* loop = nest.loops; loop < last; ++loop) {
            longest = loop->cell == 0 && loop->count > longest->count ? loop : longest;
        }
        std::rotate(longest, longest + 1, last + 1);
    }
    return nest;
}

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
        : needs_(partials.front()->needs()), partials_(partials), masked_(piece.mask != nullptr),
          weighted_(piece.weights != nullptr) {
        skipna_ = needs_.skipna && !is_integer(needs_.dtype);
        item_ = static_cast<Index>(size_of(needs_.dtype));
        for (int i = 0; i < needs_.inputs; ++i) {
            gather_[i] = gather_function(piece.inputs[i].dtype, needs_.dtype);
            convert_ = convert_ || piece.inputs[i].dtype != needs_.dtype;
        }
        for (const RunPartial* partial : partials) {
            parts_ |= partial->summary_parts();
        }
        run_.dtype = needs_.dtype;
    }

    void line(const std::byte* const* inputs, const std::byte* weights, const std::byte* mask, const Loop& loop,
              Index cell, Index position) {
        const bool gathers = masked_ || weighted_ || skipna_ || needs_gather(inputs, loop);
        const Index step = gathers ? gathered_max : run_count_max;
        for (Index begin = 0; begin < loop.count; begin += step) {
            const Index count = std::min(step, loop.count - begin);
            for (int i = 0; i < needs_.inputs; ++i) {
                run_.values[i] = fetch(i, inputs[i] + begin * loop.input[i], loop.input[i], count);
            }
            run_.count = count;
            run_.cell = cell + begin * loop.cell;
            run_.cell_step = loop.cell;
            run_.position = position + begin * loop.position;
            run_.position_step = loop.position;
            run_.weights = weighted_ ? fetch_weights(weights + begin * loop.weights, loop.weights, count) : nullptr;
            run_.included = nullptr;
            if (masked_ || skipna_) {
                select(mask == nullptr ? nullptr : mask + begin * loop.mask, loop.mask);
            }
            feed();
        }
    }

private:
    bool aligned(const std::byte* data) const { return reinterpret_cast<std::uintptr_t>(data) % std::min<Index>(item_, 8) == 0; }

    bool needs_gather(const std::byte* const* inputs, const Loop& loop) const {
        bool needed = convert_;
        for (int i = 0; i < needs_.inputs; ++i) {
            needed = needed || (loop.input[i] != item_ && loop.count > 1) || !aligned(inputs[i]);
        }
        return needed;
    }

    const void* fetch(int input, const std::byte* data, Index stride, Index count) {
        const bool direct = !convert_ && (stride == item_ || count == 1) && aligned(data);
        if (direct) {
            return data;
        }
        values_[input].resize(static_cast<std::size_t>(gathered_max * item_ / 8 + 1));
        gather_[input](data, stride, count, values_[input].data());
        return values_[input].data();
    }

    const double* fetch_weights(const std::byte* data, Index stride, Index count) {
        if (stride == sizeof(double) && reinterpret_cast<std::uintptr_t>(data) % alignof(double) == 0) {
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
            if (single ? kernels().has_nan_float(static_cast<const float*>(run_.values[i]), reals)
                       : kernels().has_nan_double(static_cast<const double*>(run_.values[i]), reals)) {
                return true;
            }
        }
        return false;
    }

    /// Applies mask and skipna to the run: marks what does not count, or squeezes it out where cells allow.
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
                case DType::Float32: exclude_nan(run_.as<float>(i), run_.count, included_.data()); break;
                case DType::Float64: exclude_nan(run_.as<double>(i), run_.count, included_.data()); break;
                case DType::Complex64: exclude_nan(run_.as<std::complex<float>>(i), run_.count, included_.data()); break;
                default: exclude_nan(run_.as<std::complex<double>>(i), run_.count, included_.data());
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
        struct Pair { double a, b; };
        Index n = 0;
        for (int i = 0; i < needs_.inputs; ++i) {
            values_[i].resize(static_cast<std::size_t>(gathered_max * item_ / 8 + 1));
            void* out = values_[i].data();
            switch (item_) {
                case 1: n = squeeze_into<std::uint8_t>(run_.values[i], out); break;
                case 2: n = squeeze_into<std::uint16_t>(run_.values[i], out); break;
                case 4: n = squeeze_into<float>(run_.values[i], out); break;
                case 8: n = squeeze_into<double>(run_.values[i], out); break;
                default: n = squeeze_into<Pair>(run_.values[i], out);
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
            kernels().summary[static_cast<int>(run_.dtype)](run_.values[0], run_.count, parts_, summary_);
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
    Index item_ = 0;
    unsigned parts_ = 0;
    Gather gather_[run_inputs_max] = {};
    Run run_;
    Summary summary_;
    std::vector<double> values_[run_inputs_max];
    std::vector<double> weights_;
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
    : name_(std::move(name)), domain_(std::move(domain)), needs_(needs), kept_shape_(domain_.kept_shape()),
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
    const int outer_depth = nest.depth - 1;
    const std::byte* inputs[run_inputs_max] = {};
    for (int i = 0; i < needs.inputs; ++i) {
        inputs[i] = piece.inputs[i].data;
    }
    const std::byte* weights = piece.weights != nullptr ? piece.weights->data : nullptr;
    const std::byte* mask = piece.mask != nullptr ? piece.mask->data : nullptr;
    Index cell = nest.cell, position = nest.position;
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
        feeder.line(inputs, weights, mask, nest.loops[outer_depth], cell, position);
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
