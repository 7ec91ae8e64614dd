// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/prepare.hpp"

#include <algorithm>

#include "fluvial/compute/gather.hpp"

namespace fluvial::scan {
namespace {

ArrayView mask_view(const std::vector<std::uint8_t>& mask, const Coordinates& extent) {
    return {mask.data(), DType::UInt8, extent};
}

/// Elements of complex dtypes in native order; others go through compute::decode.
void swap_parts(const ArrayView& run, std::byte* to) {
    const std::size_t part = size_of(run.dtype) / 2;
    for (Index i = 0; i < 2 * run.size(); ++i) {
        const std::byte* const from = run.data + static_cast<std::size_t>(i) * part;
        std::reverse_copy(from, from + part, to + static_cast<std::size_t>(i) * part);
    }
}

}  // namespace

Prepare::Prepare(const Request& request, const std::vector<OperatorSet>& sets)
    : request_(request), sets_(sets) {
    for (const Input& input : request.inputs) {
        Stage stage;
        stage.decoding = input.decoding;
        stage.stored = input.decoding.stored(input.parts.front()->dtype());
        if (is_complex(stage.stored) && (input.decoding.packed || input.decoding.drops_values())) {
            throw InvalidArgument(Problem{"complex data is not packed and has no missing values",
                                          std::string(name_of(stage.stored)), "real dtypes",
                                          "Leave its decoding out"});
        }
        if (!is_complex(stage.stored)) {
            stage.missing.emplace(stage.stored);
            for (const StoredValue& value : input.decoding.missing) {
                stage.missing->add(value.bytes);
            }
            if (input.decoding.valid_min) {
                stage.missing->set_valid_min(input.decoding.valid_min->bytes);
            }
            if (input.decoding.valid_max) {
                stage.missing->set_valid_max(input.decoding.valid_max->bytes);
            }
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
        const bool may_miss = stage.missing && !stage.missing->empty();
        stage.masked = may_miss && holds_missing(stage, view);
        const bool changes = stage.decoding.packed || (native && view.swapped);
        values_[i] = stage.masked || changes ? decode(stage, view, changes) : view;
    }
    if (native) {
        ask_predicates(where);
    }
    combine_masks(stored.front().extent);
}

template <class Visit>
void Prepare::for_runs(const ArrayView& view, Visit visit) {
    if (view.size() == 0) {
        return;
    }
    const auto element = static_cast<Index>(size_of(view.dtype));
    int outer = view.ndim();  // axes before this one are iterated
    Index length = 1;
    while (outer > 0 &&
           (view.extent[outer - 1] == 1 || view.strides[outer - 1] == length * element)) {
        --outer;
        length *= view.extent[outer];
    }
    const bool gathers = length == 1 && outer > 0;
    Index stride = 0;
    if (gathers) {  // nothing is contiguous: take the innermost axis together
        --outer;
        length = view.extent[outer];
        stride = view.strides[outer];
        row_.resize(static_cast<std::size_t>(length * element));
    }
    Coordinates at(outer, 0);
    const std::byte* data = view.data;
    for (Index first = 0;; first += length) {
        if (gathers) {
            compute::gather_function(view.dtype, view.dtype)(data, stride, length, row_.data());
        }
        ArrayView run(gathers ? row_.data() : data, view.dtype, {length});
        run.swapped = view.swapped;
        visit(run, first);
        int axis = outer - 1;
        for (; axis >= 0; --axis) {
            data += view.strides[axis];
            if (++at[axis] < view.extent[axis]) {
                break;
            }
            data -= at[axis] * view.strides[axis];
            at[axis] = 0;
        }
        if (axis < 0) {
            return;
        }
    }
}

bool Prepare::holds_missing(const Stage& stage, const ArrayView& view) {
    bool found = false;
    for_runs(view, [&](const ArrayView& run, Index) {
        found = found || compute::any_missing(run, *stage.missing);
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
        if (!stage.missing) {
            swap_parts(run, to);
            return;
        }
        const MutableArrayView values{to, dtype, run.extent,
                                      contiguous_strides(run.extent, element)};
        compute::decode(run, *stage.missing, stage.decoding.packed, stage.decoding.scale,
                        stage.decoding.offset, values,
                        stage.masked ? stage.included.data() + first : nullptr);
    });
    return changes ? ArrayView(stage.values.data(), dtype, view.extent) : view;
}

void Prepare::ask_predicates(const Region& where) {
    const Coordinates& extent = values_.front().extent;
    agreed_.assign(static_cast<std::size_t>(volume_of(extent)), 1);
    for (const Predicate& predicate : request_.where) {
        predicate(values_, where, agreed_);
    }
}

void Prepare::combine_masks(const Coordinates& extent) {
    for (std::size_t set = 0; set < sets_.size(); ++set) {
        std::vector<const std::vector<std::uint8_t>*> sources;
        if (!request_.where.empty()) {
            sources.push_back(&agreed_);
        }
        for (const int input : sets_[set].inputs) {
            const Stage& stage = stages_[static_cast<std::size_t>(input)];
            if (stage.masked) {
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
