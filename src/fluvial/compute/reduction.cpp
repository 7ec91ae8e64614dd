// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "fluvial/base/bytes.hpp"
#include "fluvial/compute/gather.hpp"
#include "fluvial/compute/piece_part.hpp"
#include "fluvial/describe/index_walk.hpp"

namespace fluvial::compute {
namespace {

constexpr Index swapped_bytes_max = 4 << 20;  ///< of all inputs, put into native order in one go
constexpr Index stripe_max = 1024;  ///< elements of a kept axis whose cells are updated together

Domain domain_of(const Domain& all, const Reduction::Entry& entry) {
    Domain domain{all.selection, all.over, {}, all.backwards};
    for (const int input : entry.inputs) {
        if (input < 0 || input >= static_cast<int>(all.dtypes.size())) {
            throw InvalidArgument(
                Problem{text("'", entry.name, "' reads a dataset that is not there"), text(input),
                        text("0 to ", static_cast<int>(all.dtypes.size()) - 1), ""});
        }
        domain.dtypes.push_back(all.dtypes[static_cast<std::size_t>(input)]);
    }
    return domain;
}

Index element_bytes(std::span<const ArrayView> inputs) {
    Index bytes = 0;
    for (const ArrayView& input : inputs) {
        bytes += static_cast<Index>(size_of(input.dtype));
    }
    return bytes;
}

/// Calls f with the part of `piece` inside `block`, given in the piece's own coordinates.
template <class F>
void for_part(const Piece& piece, const Region& block, F&& f) {
    std::vector<ArrayView> views;
    views.reserve(piece.inputs.size());
    for (const ArrayView& input : piece.inputs) {
        views.push_back(subview(input, block));
    }
    for_part(piece, views, block, f);
}

/// A swapped view in native order, in `buffer`. Axes stay in the order that they have in memory, so
/// that operators meet the elements in the same order.
ArrayView native(const ArrayView& view, std::vector<std::byte>& buffer) {
    const Index item = static_cast<Index>(size_of(view.dtype));
    std::vector<int> order(static_cast<std::size_t>(view.ndim()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return std::abs(view.strides[a]) < std::abs(view.strides[b]);
    });
    ArrayView out = view;
    out.swapped = false;
    Index stride = item;
    for (const int axis : order) {  // closest in memory first
        out.strides[axis] = stride;
        stride *= view.extent[axis];
    }
    buffer.resize(static_cast<std::size_t>(stride));
    out.data = buffer.data();
    const Gather put_right = gather_function(view.dtype, view.dtype, true);
    const Index line = order.empty() ? 1 : view.extent[order[0]];
    const Index step = order.empty() ? item : view.strides[order[0]];
    Coordinates outer, strides;
    for (std::size_t level = order.size(); level-- > 1;) {
        outer.push_back(view.extent[order[level]]);
        strides.push_back(view.strides[order[level]]);
    }
    std::byte* to = buffer.data();
    const auto put_line = [&](Index from) {
        put_right(view.data + from, step, line, to);
        to += line * item;
    };
    for_each_offset(outer.span(), put_line, strides);
    return out;
}

}  // namespace

Reduction::Reduction(std::vector<Entry> entries, Domain domain)
    : entries_(std::move(entries)), domain_(std::move(domain)) {
    std::set<std::string> names;
    for (Entry& entry : entries_) {
        if (entry.op == nullptr) {
            throw InvalidArgument(Problem{"'" + entry.name + "' has no operator", "a null pointer",
                                          "one of make_operator or of your own", ""});
        }
        if (!names.insert(entry.name).second) {
            throw InvalidArgument(Problem{"two results of the same name", "'" + entry.name + "'",
                                          "unique names", ""});
        }
        if (entry.inputs.empty()) {
            entry.inputs.resize(static_cast<std::size_t>(entry.op->inputs()));
            std::iota(entry.inputs.begin(), entry.inputs.end(), 0);
        }
        partials_.push_back(entry.op->identity(domain_of(domain_, entry)));
    }
    group();
}

void Reduction::group() {
    for (std::size_t i = 0; i < partials_.size(); ++i) {
        Partial* const partial = partials_[i].get();
        auto* const by_run = dynamic_cast<RunPartial*>(partial);
        const auto fits = [&](const Group& group) {
            return by_run != nullptr && !group.by_run.empty() &&
                   group.inputs == entries_[i].inputs &&
                   group.by_run.front()->needs() == by_run->needs();
        };
        auto found = std::find_if(groups_.begin(), groups_.end(), fits);
        if (found == groups_.end()) {
            groups_.push_back({entries_[i].inputs, {}, {}, partial->takes_blocks()});
            found = groups_.end() - 1;
        }
        found->partials.push_back(partial);
        if (by_run != nullptr) {
            found->by_run.push_back(by_run);
        }
    }
}

void Reduction::feed(const Group& group, const Piece& piece) const {
    if (group.inputs.size() == 1 && group.inputs[0] == 0) {  // no need to copy the view
        feed_inputs(group, {piece.inputs.first(1), piece.where, piece.weights, piece.mask});
        return;
    }
    std::vector<ArrayView> inputs;
    inputs.reserve(group.inputs.size());
    for (const int input : group.inputs) {
        inputs.push_back(piece.inputs[static_cast<std::size_t>(input)]);
    }
    feed_inputs(group, {inputs, piece.where, piece.weights, piece.mask});
}

void Reduction::feed_inputs(const Group& group, const Piece& piece) const {
    if (!group.by_run.empty()) {
        walk(piece, group.by_run);
    } else if (std::any_of(piece.inputs.begin(), piece.inputs.end(),
                           [](const ArrayView& input) { return input.swapped; })) {
        feed_native(group, piece);
    } else {
        for (Partial* partial : group.partials) {
            partial->absorb(piece);
        }
    }
}

void Reduction::feed_native(const Group& group, const Piece& piece) const {
    const Index elements_max = std::max<Index>(swapped_bytes_max / element_bytes(piece.inputs), 1);
    std::vector<std::vector<std::byte>> buffers(piece.inputs.size());
    for_blocks(piece.inputs[0], domain_, elements_max, [&](const Region& block) {
        for_part(piece, block, [&](const Piece& part) {
            std::vector<ArrayView> inputs(part.inputs.begin(), part.inputs.end());
            for (std::size_t i = 0; i < inputs.size(); ++i) {
                if (inputs[i].swapped) {
                    inputs[i] = native(inputs[i], buffers[i]);
                }
            }
            const Piece native_part{inputs, part.where, part.weights, part.mask};
            for (Partial* partial : group.partials) {
                partial->absorb(native_part);
            }
        });
    });
}

void Reduction::absorb(const Piece& piece) {
    check_stored_piece(piece, domain_, "reduction");
    if (piece.where.empty()) {
        return;
    }
    const auto blocked = std::count_if(groups_.begin(), groups_.end(),
                                       [](const Group& g) { return g.takes_blocks; });
    const bool keeps_axes = static_cast<int>(domain_.over.size()) < domain_.selection.ndim();
    const bool cut = blocked > 1 || (blocked == 1 && keeps_axes);
    for (const Group& group : groups_) {
        if (!cut || !group.takes_blocks) {
            feed(group, piece);
        }
    }
    if (!cut) {
        return;
    }
    const Index elements_max = std::max<Index>(block_bytes_max / element_bytes(piece.inputs), 1);
    for_blocks(piece.inputs[0], domain_, elements_max, [&](const Region& block) {
        for_part(piece, block, [&](const Piece& part) {
            for (const Group& group : groups_) {
                if (group.takes_blocks) {
                    feed(group, part);
                }
            }
        });
    });
}

void Reduction::merge(const Reduction& other) {
    for (std::size_t i = 0; i < partials_.size(); ++i) {
        partials_[i]->merge(*other.partials_[i]);
    }
}

std::vector<std::byte> Reduction::encode() const {
    ByteWriter out;
    out.put<std::uint64_t>(partials_.size());
    for (const auto& partial : partials_) {
        const auto bytes = partial->encode();
        out.put_block(bytes.data(), bytes.size());
    }
    return out.take();
}

void Reduction::merge_encoded(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    const auto count = in.get<std::uint64_t>();
    if (count != partials_.size()) {
        throw InvalidArgument(Problem{"this state belongs to another reduction",
                                      text(count, " operators"), text(partials_.size()),
                                      "Use equal reductions on all ranks"});
    }
    for (std::size_t i = 0; i < partials_.size(); ++i) {
        const auto other = entries_[i].op->identity(domain_of(domain_, entries_[i]));
        other->decode(in.get_block());
        partials_[i]->merge(*other);
    }
}

std::map<std::string, Result> Reduction::finish() const {
    std::map<std::string, Result> results;
    for (std::size_t i = 0; i < partials_.size(); ++i) {
        results.emplace(entries_[i].name, partials_[i]->finish());
    }
    return results;
}

void add_terms(const std::vector<Reduction::Entry>& entries, Terms& terms) {
    std::string names;
    for (const auto& entry : entries) {
        names += (names.empty() ? "" : ", ") + entry.name;
    }
    terms.add("the names of the results", exact(names));
    for (const auto& entry : entries) {
        std::vector<int> inputs = entry.inputs;
        if (inputs.empty()) {
            inputs.resize(static_cast<std::size_t>(entry.op->inputs()));
            std::iota(inputs.begin(), inputs.end(), 0);
        }
        terms.add(text("the operator of '", entry.name, "'"), entry.op->describe(),
                  "Give every rank the same operator with the same options");
        terms.add(text("the numbers of the inputs of '", entry.name, "'"),
                  exact(std::span<const int>(inputs)));
    }
}

void for_blocks(const ArrayView& view, const Domain& domain, Index elements_max,
                const std::function<void(const Region&)>& visit) {
    const int ndim = view.ndim();
    std::vector<int> order(static_cast<std::size_t>(ndim));  // slowest in memory first
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return std::abs(view.strides[a]) > std::abs(view.strides[b]);
    });
    Coordinates step = view.extent;
    Index volume = view.size();
    if (volume == 0) {
        return;
    }
    const int fastest = ndim > 0 ? order.back() : -1;
    const bool stripes = ndim > 0 &&
                         !std::binary_search(domain.over.begin(), domain.over.end(), fastest) &&
                         !domain.over.empty() && view.extent[fastest] > stripe_max;
    if (stripes) {
        volume = volume / step[fastest] * stripe_max;
        step[fastest] = stripe_max;
    }
    for (const int axis : order) {  // shorten the slowest axes until a block is small enough
        if (volume <= elements_max) {
            break;
        }
        const Index rest = volume / step[axis];
        step[axis] = std::clamp<Index>(elements_max / std::max<Index>(rest, 1), 1, step[axis]);
        volume = rest * step[axis];
    }
    if (stripes) {  // all rows of one stripe before the next stripe
        std::rotate(order.begin(), order.end() - 1, order.end());
    }
    for_each_block(view.extent, step, visit, order);
}

}  // namespace fluvial::compute
