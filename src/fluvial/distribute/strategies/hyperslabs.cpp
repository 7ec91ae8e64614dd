// SPDX-License-Identifier: Apache-2.0
/// hyperslabs(axis): equal slabs of all that was written, along one axis (the longest, unless it is
/// given); reader i has the i-th. Balance, as even as the axis divides; what each reader gets is a
/// box, in the order of the axis. Locality where the ranks of writers and readers follow the space
/// (Poeschel et al. 2021, section 3.2). A chunk that spans the axis is cut once a reader.
#include "fluvial/distribute/cut.hpp"
#include "fluvial/distribute/grid.hpp"
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class Hyperslabs final : public Strategy {
  public:
    explicit Hyperslabs(std::optional<Index> axis) : axis_(axis) {}
    std::string describe() const override {
        return axis_ ? text("hyperslabs(axis=", *axis_, ")") : "hyperslabs";
    }
    Distribution assign(const Request& request) const override {
        return assign_cells(request, cells(request));
    }
    Bounds bounds(const Request& request) const override {
        return bounds_of_cells(request, cells(request));
    }

  private:
    Coordinates cells(const Request& request) const {
        const Region box = bounding_box(request);
        Coordinates cells(box.ndim(), 1);
        if (box.ndim() > 0) {
            const int axis = axis_ ? axis_of(box, *axis_, "hyperslabs") : longest_axis(box);
            cells[axis] = static_cast<Index>(request.readers.size());
        }
        return cells;
    }

    std::optional<Index> axis_;
};

}  // namespace

Registration register_hyperslabs() {
    return {"hyperslabs",
            "equal slabs along an axis",
            [](Arguments& arguments) -> StrategyPtr {
                return std::make_shared<Hyperslabs>(arguments.integer("axis", -ndim_max));
            },
            {"hyperslabs"}};
}

}  // namespace fluvial::distribute
