// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/run.hpp"

#include "fluvial/compute/feeder.hpp"
#include "fluvial/describe/index_walk.hpp"

namespace fluvial::compute {
namespace {

void add(Loop& to, const Loop& loop, Index steps, int inputs) {
    for (int i = 0; i < inputs; ++i) {
        to.input[i] += steps * loop.input[i];
    }
    to.weights += steps * loop.weights;
    to.mask += steps * loop.mask;
    to.cell += steps * loop.cell;
    to.position += steps * loop.position;
}

/// Turns each of the outer loops into what moves when a walk along them, of the counts that are
/// returned, steps along it: one on, and the loops inside it back to their beginning.
Coordinates make_jumps(Nest& nest, int outer_depth, int inputs) {
    Coordinates counts(outer_depth, 0);
    Loop back;
    for (int level = outer_depth - 1; level >= 0; --level) {
        const Loop loop = nest.loops[level];
        counts[level] = loop.count;
        add(nest.loops[level], back, -1, inputs);
        add(back, loop, loop.count - 1, inputs);
    }
    return counts;
}

}  // namespace

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
    for (RunPartial* partial : partials) {
        partial->begin_runs(piece.weights != nullptr);
    }
    const RunNeeds& needs = partials.front()->needs();
    Nest nest = make_nest(piece, partials.front()->domain(), needs);
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
    const Coordinates counts = make_jumps(nest, outer_depth, needs.inputs);
    IndexWalk lines(counts.span());
    for (;;) {
        if (tiles) {
            feeder.tiles(line, nest.loops[outer_depth], innermost);
        } else {
            feeder.line(line, innermost);
        }
        const int level = lines.next();
        if (level < 0) {
            break;
        }
        const Loop& jump = nest.loops[level];
        for (int i = 0; i < needs.inputs; ++i) {
            line.inputs[i] += jump.input[i];
        }
        line.weights += jump.weights;
        line.mask += jump.mask;
        line.cell += jump.cell;
        line.position += jump.position;
    }
    feeder.finish();
    for (RunPartial* const partial : partials) {
        partial->end_of_runs();
    }
}

}  // namespace fluvial::compute
