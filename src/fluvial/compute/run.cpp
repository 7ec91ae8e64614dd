// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/run.hpp"

#include "fluvial/compute/feeder.hpp"

namespace fluvial::compute {

DType kernel_dtype(DType dtype) {
    return dtype == DType::Float16 ? DType::Float32 : dtype;
}

Coordinates global_coordinates(Index position, const Domain& domain) {
    const Region& selection = domain.selection;
    Coordinates point = coordinates_of(position, selection.extent);
    for (int axis = 0; axis < point.size(); ++axis) {
        if (domain.is_backwards(axis)) {
            point[axis] = selection.extent[axis] - 1 - point[axis];
        }
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
    Line line;
    for (int i = 0; i < needs.inputs; ++i) {
        line.inputs[i] = piece.inputs[i].data;
    }
    line.weights = piece.weights != nullptr ? piece.weights->data : nullptr;
    line.mask = piece.mask != nullptr ? piece.mask->data : nullptr;
    line.cell = nest.cell;
    line.position = nest.position;
    const Loop& innermost = nest.loops[outer_depth];
    const bool tiles =
        outer_depth > 0 && feeder.takes_tiles(line, nest.loops[outer_depth - 1], innermost);
    outer_depth -= tiles;
    Index at[ndim_max + 1] = {};
    const auto move = [&](const Loop& loop, Index steps) {
        for (int i = 0; i < needs.inputs; ++i) {
            line.inputs[i] += steps * loop.input[i];
        }
        line.weights += steps * loop.weights;
        line.mask += steps * loop.mask;
        line.cell += steps * loop.cell;
        line.position += steps * loop.position;
    };
    for (;;) {
        if (tiles) {
            feeder.tiles(line, nest.loops[outer_depth], innermost);
        } else {
            feeder.line(line, innermost);
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
            break;
        }
    }
    feeder.finish();
    for (RunPartial* const partial : partials) {
        partial->end_of_runs();
    }
}

}  // namespace fluvial::compute
