// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/per_cell.hpp"

#include <algorithm>
#include <cstring>

#include "fluvial/base/bytes.hpp"
#include "fluvial/describe/index_walk.hpp"

namespace fluvial::compute {
namespace {

/// The reduced axes of a vector of coordinates.
Coordinates reduced(const Coordinates& all, const Domain& domain) {
    Coordinates out;
    for (const int axis : domain.over) {
        out.push_back(all[axis]);
    }
    return out;
}

Coordinates kept(const Coordinates& all, const Domain& domain) {
    Coordinates out;
    for (int axis = 0; axis < all.size(); ++axis) {
        if (!std::binary_search(domain.over.begin(), domain.over.end(), axis)) {
            out.push_back(all[axis]);
        }
    }
    return out;
}

class PerCell final : public Partial {
  public:
    PerCell(const Operator& op, const Domain& domain)
        : name_(op.name()), domain_(domain), shape_(domain.kept_shape()) {
        const Region region{reduced(domain.selection.offset, domain),
                            reduced(domain.selection.extent, domain)};
        const Domain inner = make_domain(region, {}, domain.dtypes);
        const Index cells = volume_of(shape_);
        for (Index cell = 0; cell < cells; ++cell) {
            cells_.push_back(op.identity(inner));
        }
    }

    void absorb(const Piece& piece) override {
        check_piece(piece, domain_, name_);
        const Coordinates extent = kept(piece.where.extent, domain_);
        const Coordinates offset = kept(piece.where.offset, domain_);
        const Coordinates origin = kept(domain_.selection.offset, domain_);
        const Region where{reduced(piece.where.offset, domain_),
                           reduced(piece.where.extent, domain_)};
        for_each_index(extent, [&](const Coordinates& inside) {  // the piece
            Coordinates global = inside;                         // within the selection
            for (int axis = 0; axis < inside.size(); ++axis) {
                global[axis] += offset[axis] - origin[axis];
            }
            std::vector<ArrayView> inputs;
            for (const ArrayView& input : piece.inputs) {
                inputs.push_back(slice(input, inside));
            }
            Piece part{inputs, where, nullptr, nullptr};
            ArrayView weights, mask;
            if (piece.weights != nullptr) {
                weights = slice(*piece.weights, inside);
                part.weights = &weights;
            }
            if (piece.mask != nullptr) {
                mask = slice(*piece.mask, inside);
                part.mask = &mask;
            }
            cells_[static_cast<std::size_t>(linear_index(global, shape_))]->absorb(part);
        });
    }

    void merge(const Partial& other) override {
        const auto& o = static_cast<const PerCell&>(other);
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            cells_[i]->merge(*o.cells_[i]);
        }
    }

    std::vector<std::byte> encode() const override {
        ByteWriter out;
        out.put<std::uint64_t>(cells_.size());
        for (const auto& cell : cells_) {
            const auto bytes = cell->encode();
            out.put_block(bytes.data(), bytes.size());
        }
        return out.take();
    }

    void decode(std::span<const std::byte> bytes) override {
        ByteReader in(bytes);
        const auto count = in.get<std::uint64_t>();
        if (count != cells_.size()) {
            throw InvalidArgument(Problem{name_ + ": this state belongs to another reduction",
                                          text(count, " cells"), text(cells_.size()), ""});
        }
        for (const auto& cell : cells_) {
            cell->decode(in.get_block());
        }
    }

    Result finish() const override {
        Result stacked;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            for (const auto& [key, one] : cells_[i]->finish()) {
                auto found = stacked.find(key);
                if (found == stacked.end()) {
                    Coordinates shape = shape_;
                    for (const Index n : one.shape) {
                        shape.push_back(n);
                    }
                    found = stacked.emplace(key, Array(one.dtype, shape)).first;
                }
                Array& all = found->second;
                if (all.dtype != one.dtype ||
                    all.bytes.size() != one.bytes.size() * cells_.size()) {
                    throw InvalidArgument(
                        Problem{text(name_, ": '", key, "' differs between kept positions"),
                                text(name_of(one.dtype), one.shape), "one dtype and shape for all",
                                "Reduce over all axes, or pad the result"});
                }
                std::memcpy(all.bytes.data() + i * one.bytes.size(), one.bytes.data(),
                            one.bytes.size());
            }
        }
        return stacked;
    }

  private:
    /// The reduced axes of `view` at one kept position.
    ArrayView slice(const ArrayView& view, const Coordinates& position) const {
        ArrayView out{view.data, view.dtype, reduced(view.extent, domain_),
                      reduced(view.strides, domain_)};
        const Coordinates strides = kept(view.strides, domain_);
        out.data += offset_of(position, strides);
        return out;
    }

    std::string name_;
    Domain domain_;
    Coordinates shape_;
    std::vector<std::unique_ptr<Partial>> cells_;
};

}  // namespace

std::unique_ptr<Partial> per_cell_identity(const Operator& whole_only, const Domain& domain) {
    if (static_cast<int>(domain.over.size()) == domain.selection.ndim()) {
        return whole_only.identity(domain);
    }
    return std::make_unique<PerCell>(whole_only, domain);
}

}  // namespace fluvial::compute
