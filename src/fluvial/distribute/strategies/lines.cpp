// SPDX-License-Identifier: Apache-2.0
/// lines(axis, strategy): a read constraint (Poeschel et al. 2021, section 3.1): all elements that
/// differ in their coordinate along `axis` alone go to one reader, so that it sees each spectrum,
/// time series or column in one piece. The strategy distributes the shadows of the chunks, one
/// element thick; its promises hold for numbers of lines, not of elements. Where several chunks
/// have the same shadow, the last one says where it lies.
#include <algorithm>

#include "fluvial/distribute/grid.hpp"
#include "fluvial/distribute/overlap.hpp"
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class Lines final : public Strategy {
  public:
    Lines(Index axis, StrategyPtr strategy) : axis_(axis), strategy_(std::move(strategy)) {}
    std::string describe() const override {
        return text("lines(", axis_, ", ", strategy_->describe(), ")");
    }
    Distribution assign(const Request& request) const override {
        if (request.chunks.empty()) {
            return {};
        }
        const Region box = bounding_box(request);
        const int axis = axis_of(box, axis_, "lines");
        const Distribution shadows = strategy_->assign(shadows_of(request, axis));
        // The chunks are disjoint, and so are the columns: pairs are of a chunk and a column.
        std::vector<Region> regions;
        for (const WrittenChunk& chunk : request.chunks) {
            regions.push_back(chunk.region);
        }
        const auto add_column = [&](const Piece& shadow) {
            Region column = shadow.region;
            column.offset[axis] = box.offset[axis];
            column.extent[axis] = box.extent[axis];
            regions.push_back(column);
        };
        for (const Assignment& assignment : shadows.assigned) {
            add_column(assignment.piece);
        }
        for (const std::vector<Piece>* pieces : {&shadows.left, &shadows.discarded}) {
            std::for_each(pieces->begin(), pieces->end(), add_column);
        }
        Distribution out;
        for (const auto& [chunk, column] : overlapping(regions)) {
            const Piece piece{*intersect(regions[chunk], regions[column]), chunk};
            std::size_t number = column - request.chunks.size();
            if (number < shadows.assigned.size()) {
                out.assigned.push_back({shadows.assigned[number].reader, piece});
                continue;
            }
            number -= shadows.assigned.size();
            (number < shadows.left.size() ? out.left : out.discarded).push_back(piece);
        }
        return out;
    }

  private:
    static Request shadows_of(const Request& request, int axis) {
        std::vector<Region> flat;
        for (const WrittenChunk& chunk : request.chunks) {
            flat.push_back(chunk.region);
            flat.back().offset[axis] = 0;
            flat.back().extent[axis] = 1;
        }
        Request shadows{{}, request.readers, request.element_bytes};
        const auto parts = last_written(flat);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            for (const Region& part : parts[i]) {
                shadows.chunks.push_back({part, request.chunks[i].rank, request.chunks[i].place});
            }
        }
        return shadows;
    }

    Index axis_;
    StrategyPtr strategy_;
};

StrategyPtr make_lines(Arguments& arguments) {
    const std::string example = "lines(0, even-binpacking)";
    const auto axis = arguments.integer("axis", -ndim_max);
    if (!axis) {
        throw InvalidArgument(
            Problem{"lines: argument 'axis' is missing", "nothing", "as in " + example, ""});
    }
    return std::make_shared<Lines>(*axis, arguments.strategy("strategy", example));
}

}  // namespace

Registration register_lines() {
    return {"lines",
            "all elements of a line along an axis to one reader, by another strategy",
            make_lines,
            {"lines(0, even-binpacking)", "lines(-1, by-host(binpacking, fallback=hyperslabs))"},
            true,
            1};
}

}  // namespace fluvial::distribute
