// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/apply.hpp"

#include "fluvial/compute/gather.hpp"
#include "fluvial/compute/piece_part.hpp"
#include "fluvial/compute/reduction.hpp"
#include "fluvial/describe/index_walk.hpp"

namespace fluvial::compute {
namespace {

class ApplyPartial final : public Partial {
  public:
    ApplyPartial(std::string name, const Domain& domain, Apply::Function function, DType dtype,
                 std::unique_ptr<Partial> inner, Index block_elements)
        : name_(std::move(name)),
          domain_(domain),
          function_(std::move(function)),
          dtype_(dtype),
          inner_(std::move(inner)),
          block_elements_(block_elements) {}

    void absorb(const Piece& piece) override {
        check_piece(piece, domain_, name_);
        if (piece.where.empty()) {
            return;
        }
        std::vector<std::byte> values;
        for_blocks(piece.inputs[0], domain_, block_elements_, [&](const Region& block) {
            std::vector<ArrayView> inputs;
            for (const ArrayView& input : piece.inputs) {
                inputs.push_back(subview(input, block));
            }
            values.resize(static_cast<std::size_t>(block.volume()) * size_of(dtype_));
            const ArrayView derived(values.data(), dtype_, block.extent);
            function_(inputs, {values.data(), dtype_, block.extent, derived.strides});
            for_part(piece, {&derived, 1}, block, [&](const Piece& part) { inner_->absorb(part); });
        });
    }
    void merge(const Partial& other) override {
        inner_->merge(*static_cast<const ApplyPartial&>(other).inner_);
    }
    Result finish() const override { return inner_->finish(); }
    std::vector<std::byte> encode() const override { return inner_->encode(); }
    void decode(std::span<const std::byte> bytes) override { inner_->decode(bytes); }

  private:
    std::string name_;
    Domain domain_;
    Apply::Function function_;
    DType dtype_;
    std::unique_ptr<Partial> inner_;
    Index block_elements_;
};

}  // namespace

void gather_doubles(const ArrayView& view, double* out) {
    const Gather gather = gather_function(view.dtype, DType::Float64);
    if (view.ndim() == 0 || view.is_contiguous()) {
        gather(view.data, static_cast<Index>(size_of(view.dtype)), view.size(), out);
    } else {
        const int inner = view.ndim() - 1;
        const Index count = view.extent[inner];
        const auto gather_row = [&](Index at) {
            gather(view.data + at, view.strides[inner], count, out);
            out += count;
        };
        for_each_offset(view.extent.span().first(static_cast<std::size_t>(inner)), gather_row,
                        view.strides);
    }
}

std::unique_ptr<Partial> Apply::identity(const Domain& domain) const {
    check_inputs(*this, domain);
    const DType dtype = rule_(domain.dtypes);
    auto inner = op_->identity({domain.selection, domain.over, {dtype}, domain.backwards});
    return std::make_unique<ApplyPartial>(name(), domain, function_, dtype, std::move(inner),
                                          block_elements_);
}

}  // namespace fluvial::compute
