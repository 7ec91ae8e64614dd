// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/routings/dimension_ordered.hpp"

#include <algorithm>
#include <numeric>

#include "fluvial/base/error.hpp"
#include "fluvial/base/hash.hpp"
#include "fluvial/route/topology_text.hpp"

namespace fluvial::route {

Grid::Grid(std::vector<Node> shape, bool around, double bandwidth, double latency)
    : shape_(std::move(shape)), strides_(shape_.size()), around_(around) {
    for (std::size_t dim = shape_.size(); dim-- > 0;) {
        strides_[dim] = hosts_;
        if (hosts_ > Graph::nodes_max / shape_[dim]) {
            throw InvalidArgument(Problem{"a grid has too many hosts", text_of(shape_),
                                          text("at most ", Graph::nodes_max, " hosts"), ""});
        }
        hosts_ *= shape_[dim];
    }
    link_of_.assign(static_cast<std::size_t>(hosts_) * shape_.size() * 2, -1);
    for (Node host = 0; host < hosts_; ++host) {
        for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
            const Node length = shape_[dim], at = host / strides_[dim] % length;
            LinkId* const ids =
                &link_of_[(static_cast<std::size_t>(host) * shape_.size() + dim) * 2];
            for (const bool up : {true, false}) {
                const Node next = at + (up ? 1 : -1);
                const bool inside = next >= 0 && next < length;
                if (!inside && (!around_ || length <= 2)) {
                    continue;
                }
                ids[up ? 1 : 0] = static_cast<LinkId>(links_.size());
                const Node there = (next + length) % length;
                links_.push_back({host, host + (there - at) * strides_[dim], bandwidth, latency});
            }
        }
    }
}

namespace {

class DimensionOrdered final : public Routing {
  public:
    DimensionOrdered(std::shared_ptr<const Grid> grid, DimensionOrder order)
        : grid_(std::move(grid)), order_(order), dims_(grid_->shape().size()) {
        std::iota(dims_.begin(), dims_.end(), 0);
        const auto length = [&](std::size_t dim) { return grid_->shape()[dim]; };
        if (order_ == DimensionOrder::LongestFirstLastOfEquals) {
            std::reverse(dims_.begin(), dims_.end());
        }
        if (order_ != DimensionOrder::FirstToLast) {
            std::stable_sort(dims_.begin(), dims_.end(),
                             [&](auto a, auto b) { return length(a) > length(b); });
        }
    }
    std::string describe() const override { return "dimension-ordered"; }

    bool append(Node from, Node to, Route& route) const override {
        if (order_ == DimensionOrder::Any || order_ == DimensionOrder::LongestFirstAnyOfEquals) {
            for (const std::size_t dim : drawn(from, to)) {
                go_along(dim, from, to, route);
            }
        } else {
            for (const std::size_t dim : dims_) {
                go_along(dim, from, to, route);
            }
        }
        return true;
    }

  private:
    /// Appends the links along one dimension; `at` moves.
    void go_along(std::size_t dim, Node& at, Node to, Route& route) const {
        const Node length = grid_->shape()[dim], stride = grid_->strides()[dim];
        Node here = at / stride % length;
        const Node there = to / stride % length;
        const Node steps_up = (there - here + length) % length;
        const bool up = grid_->around() && length > 2 ? 2 * steps_up <= length : there > here;
        while (here != there) {
            route.push_back(grid_->link(at, dim, up));
            const Node next = (here + (up ? 1 : length - 1)) % length;
            at += (next - here) * stride;
            here = next;
        }
    }

    std::vector<std::size_t> drawn(Node from, Node to) const {
        std::vector<std::size_t> dims = dims_;
        std::uint64_t key =
            (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
        for (std::size_t i = dims.size(); i > 1; --i) {
            key = hash_of(std::as_bytes(std::span(&key, 1)));
            std::swap(dims[i - 1], dims[key % i]);
        }
        if (order_ == DimensionOrder::LongestFirstAnyOfEquals) {
            std::stable_sort(dims.begin(), dims.end(),
                             [&](auto a, auto b) { return grid_->shape()[a] > grid_->shape()[b]; });
        }
        return dims;
    }

    std::shared_ptr<const Grid> grid_;
    DimensionOrder order_;
    std::vector<std::size_t> dims_;
};

}  // namespace

RoutingPtr dimension_ordered(std::shared_ptr<const Grid> grid, DimensionOrder order) {
    return std::make_shared<DimensionOrdered>(std::move(grid), order);
}

}  // namespace fluvial::route
