// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/prepare.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "fluvial/compute/gather.hpp"
#include "fluvial/describe/index_walk.hpp"

namespace fluvial::scan {
namespace {

ArrayView mask_view(const std::vector<std::uint8_t>& mask, const Coordinates& extent) {
    return {mask.data(), DType::UInt8, extent};
}

/// Shorter stretches of elements are put behind each other before anything looks at them.
constexpr Index dense_min = 64;

/// Calls visit(where it begins) for each index of the axes before `outer`.
template <class Visit>
void for_each_outer(const ArrayView& view, int outer, Visit visit) {
    for_each_offset(
        view.extent.span().first(static_cast<std::size_t>(outer)),
        [&](Index at) { visit(view.data + at); }, view.strides);
}

template <class Real>
std::vector<std::byte> bytes_of_nan(int count) {
    const std::vector<Real> numbers(static_cast<std::size_t>(count),
                                    std::numeric_limits<Real>::quiet_NaN());
    const auto bytes = std::as_bytes(std::span(numbers));
    return {bytes.begin(), bytes.end()};
}

/// An element of this dtype that is NaN; none for integers.
std::vector<std::byte> nan_of(DType dtype) {
    switch (dtype) {
        case DType::Float16: {
            constexpr std::uint16_t bits = 0x7e00;
            const auto bytes = std::as_bytes(std::span(&bits, 1));
            return {bytes.begin(), bytes.end()};
        }
        case DType::Float32:
            return bytes_of_nan<float>(1);
        case DType::Float64:
            return bytes_of_nan<double>(1);
        case DType::Complex64:
            return bytes_of_nan<float>(2);
        case DType::Complex128:
            return bytes_of_nan<double>(2);
        default:
            return {};
    }
}

}  // namespace

Prepare::Prepare(const Request& request, const std::vector<OperatorSet>& sets)
    : request_(request), sets_(sets) {
    for (const Input& input : request.inputs) {
        Stage stage(input.decoding, input.decoding.stored(input.parts.front()->dtype()));
        if (is_complex(stage.stored) && input.decoding.packed) {
            throw InvalidArgument(Problem{"complex data is not packed",
                                          std::string(name_of(stage.stored)), "real dtypes",
                                          "Leave its decoding out"});
        }
        for (const StoredValue& value : input.decoding.missing) {
            stage.missing.add(value.bytes);
        }
        if (input.decoding.valid_min) {
            stage.missing.set_valid_min(input.decoding.valid_min->bytes);
        }
        if (input.decoding.valid_max) {
            stage.missing.set_valid_max(input.decoding.valid_max->bytes);
        }
        if (request.missing_is_nan) {
            stage.nan = nan_of(stage.decoding.packed ? DType::Float64 : stage.stored);
        }
        stages_.push_back(std::move(stage));
    }
    values_.resize(stages_.size());
    selected_values_.resize(stages_.size());
    set_masks_.resize(sets.size());
    masks_.resize(sets.size());
    mask_pointers_.resize(sets.size());
    selected_masks_.resize(sets.size());
    selected_pointers_.resize(sets.size());
}

void Prepare::run(std::span<const ArrayView> stored, const Region& where) {
    const bool native = !request_.where.empty();
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        Stage& stage = stages_[i];
        ArrayView view = stored[i];
        view.dtype = stage.stored;
        view = close_up(view, stage.closed_up);
        stage.masked = !stage.missing.empty() && holds_missing(stage, view);
        const bool overwrites = !stage.nan.empty() && (stage.masked || native);
        const bool changes = stage.decoding.packed || (native && view.swapped) || overwrites;
        values_[i] = stage.masked || changes ? decode(stage, view, changes) : view;
    }
    if (native) {
        ask_predicates(where);
    }
    for (Stage& stage : stages_) {
        if (!stage.nan.empty() && (stage.masked || native)) {
            make_nan(stage);
        }
    }
    combine_masks(stored.front().extent);
}

/// The same elements without gaps, in `buffer`, if they lie in short stretches; one value that
/// stands for all stays alone.
ArrayView Prepare::close_up(const ArrayView& view, std::vector<std::byte>& buffer) {
    const auto [axis, length] = contiguous_axes(view);
    const Index dense = length;  // a lambda of clang 14 captures no structured binding
    const bool alone = axis > 0 && view.strides[axis - 1] == 0;
    if (axis == 0 || dense >= dense_min || alone || view.size() == 0) {
        return view;
    }
    const auto bytes = dense * static_cast<Index>(size_of(view.dtype));
    const int outer = axis - 1;
    const Index rows = view.extent[outer], stride = view.strides[outer];
    const auto gather = compute::gather_function(view.dtype, view.dtype);
    const auto needed = static_cast<std::size_t>(view.size()) * size_of(view.dtype);
    if (buffer.size() < needed) {
        buffer.resize(needed);
    }
    std::byte* to = buffer.data();
    for_each_outer(view, outer, [&](const std::byte* from) {
        if (dense == 1) {
            gather(from, stride, rows, to);
            to += rows * bytes;
            return;
        }
        for (Index row = 0; row < rows; ++row, from += stride, to += bytes) {
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
        }
    });
    ArrayView closed(buffer.data(), view.dtype, view.extent);
    closed.swapped = view.swapped;
    return closed;
}

template <class Visit>
void Prepare::for_runs(const ArrayView& view, Visit visit) {
    if (view.size() == 0) {
        return;
    }
    auto [outer, dense] = contiguous_axes(view);
    Index length = dense;                           // as above
    const bool repeats = length == 1 && outer > 0;  // a value that stands for all
    Index stride = 0;
    if (repeats) {
        --outer;
        length = view.extent[outer];
        stride = view.strides[outer];
        row_.resize(static_cast<std::size_t>(length) * size_of(view.dtype));
    }
    const auto gather = compute::gather_function(view.dtype, view.dtype);
    Index first = 0;
    for_each_outer(view, outer, [&](const std::byte* data) {
        if (repeats) {
            gather(data, stride, length, row_.data());
        }
        ArrayView run(repeats ? row_.data() : data, view.dtype, {length});
        run.swapped = view.swapped;
        visit(run, first);
        first += length;
    });
}

bool Prepare::holds_missing(const Stage& stage, const ArrayView& view) {
    bool found = false;
    for_runs(view, [&](const ArrayView& run, Index) {
        found = found || compute::any_missing(run, stage.missing);
    });
    return found;
}

/// With `changes` the values are other than stored; else only the mask is made.
ArrayView Prepare::decode(Stage& stage, const ArrayView& view, bool changes) {
    const DType dtype = stage.decoding.packed ? DType::Float64 : stage.stored;
    const std::size_t element = size_of(dtype);
    const auto count = static_cast<std::size_t>(view.size());
    if (changes && stage.values.size() < count * element) {
        stage.values.resize(count * element);
    }
    if (stage.masked && stage.included.size() < count) {
        stage.included.resize(count);
    }
    for_runs(view, [&](const ArrayView& run, Index first) {
        std::byte* const to =
            changes ? stage.values.data() + static_cast<std::size_t>(first) * element : nullptr;
        const MutableArrayView values{to, dtype, run.extent,
                                      contiguous_strides(run.extent, element)};
        compute::decode(run, stage.missing, stage.decoding.packed, stage.decoding.scale,
                        stage.decoding.offset, values,
                        stage.masked ? stage.included.data() + first : nullptr);
    });
    return changes ? ArrayView(stage.values.data(), dtype, view.extent) : view;
}

void Prepare::ask_predicates(const Region& where) {
    const Coordinates& extent = values_.front().extent;
    agreed_.assign(static_cast<std::size_t>(volume_of(extent)), 1);
    for (const Predicate& predicate : request_.where) {
        predicate.function(values_, where, agreed_);
        for (const int input : predicate.asked) {
            const Stage& stage = stages_[static_cast<std::size_t>(input)];
            for (std::size_t i = 0; stage.masked && i < agreed_.size(); ++i) {
                agreed_[i] &= stage.included[i];
            }
        }
    }
}

/// Of what has been decoded into its own memory.
void Prepare::make_nan(Stage& stage) {
    const std::size_t element = stage.nan.size();
    const auto count = static_cast<std::size_t>(volume_of(values_.front().extent));
    for (std::size_t i = 0; i < count; ++i) {
        const bool counts = (!stage.masked || stage.included[i] != 0) &&
                            (request_.where.empty() || agreed_[i] != 0);
        if (!counts) {
            std::memcpy(stage.values.data() + i * element, stage.nan.data(), element);
        }
    }
}

void Prepare::combine_masks(const Coordinates& extent) {
    for (std::size_t set = 0; set < sets_.size(); ++set) {
        std::vector<const std::vector<std::uint8_t>*> sources;
        const auto& inputs = sets_[set].inputs;
        const auto is_masked = [&](int input) {
            return stages_[static_cast<std::size_t>(input)].nan.empty();
        };
        if (!request_.where.empty() && std::any_of(inputs.begin(), inputs.end(), is_masked)) {
            sources.push_back(&agreed_);
        }
        for (const int input : inputs) {
            const Stage& stage = stages_[static_cast<std::size_t>(input)];
            if (stage.masked && is_masked(input)) {
                sources.push_back(&stage.included);
            }
        }
        mask_pointers_[set] = sources.empty() ? nullptr : &masks_[set];
        if (sources.size() == 1) {
            masks_[set] = mask_view(*sources.front(), extent);
        } else if (sources.size() > 1) {
            const auto count = static_cast<std::size_t>(volume_of(extent));
            std::vector<std::uint8_t>& all = set_masks_[set];
            all.assign(sources.front()->begin(),
                       sources.front()->begin() + static_cast<std::ptrdiff_t>(count));
            for (std::size_t source = 1; source < sources.size(); ++source) {
                const std::vector<std::uint8_t>& other = *sources[source];
                for (std::size_t i = 0; i < count; ++i) {
                    all[i] &= other[i];
                }
            }
            masks_[set] = mask_view(all, extent);
        }
    }
}

void Prepare::select(const Region& local, const Coordinates& stride) {
    const auto part = [&](const ArrayView& view) { return every(subview(view, local), stride); };
    for (std::size_t i = 0; i < values_.size(); ++i) {
        selected_values_[i] = part(values_[i]);
    }
    for (std::size_t set = 0; set < masks_.size(); ++set) {
        selected_pointers_[set] = nullptr;
        if (mask_pointers_[set] != nullptr) {
            selected_masks_[set] = part(masks_[set]);
            selected_pointers_[set] = &selected_masks_[set];
        }
    }
}

}  // namespace fluvial::scan
