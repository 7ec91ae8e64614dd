// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor_partial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/bytes.hpp"

namespace fluvial::compute {
namespace {

/// One input as float64, element by element; floats of any stride.
class Component {
  public:
    explicit Component(const ArrayView& view)
        : data_(view.data), stride_(view.strides[0]), single_(view.dtype == DType::Float32) {}
    double operator[](Index i) const {
        const std::byte* p = data_ + i * stride_;
        if (single_) {
            float value;
            std::memcpy(&value, p, sizeof value);
            return value;
        }
        double value;
        std::memcpy(&value, p, sizeof value);
        return value;
    }

  private:
    const std::byte* data_;
    Index stride_;
    bool single_;
};

Array scalar(DType dtype, const void* value) {
    Array array(dtype, Coordinates{});
    std::memcpy(array.bytes.data(), value, array.bytes.size());
    return array;
}

template <class T>
Array table(DType dtype, const Coordinates& shape, const std::vector<T>& rows) {
    Array array(dtype, shape);
    FLUVIAL_ASSERT(array.bytes.size() == rows.size() * sizeof(T), shape);
    std::memcpy(array.bytes.data(), rows.data(), array.bytes.size());
    return array;
}

}  // namespace

StructureFactorPartial::StructureFactorPartial(std::shared_ptr<const StructureFactor::Setup> setup,
                                               Domain domain)
    : setup_(std::move(setup)),
      domain_(std::move(domain)),
      amplitudes_(2 * setup_->q.size(), 0.0) {}

void StructureFactorPartial::absorb(const Piece& piece) {
    check_piece(piece, domain_, "structure_factor");
    if (setup_->lattice && !work_) {
        work_.emplace(setup_->tiles, setup_->kernel.rows_a_group);
        sums_ = AlignedBuffer<double>(setup_->tiles.sums);
    }
    const Component r[3] = {Component(piece.inputs[0]), Component(piece.inputs[1]),
                            Component(piece.inputs[2])};
    const std::int64_t before = n_atoms_;
    AtomBlock block;
    for (Index i = 0; i < piece.where.extent[0]; ++i) {
        if (piece.mask != nullptr && piece.mask->data[i * piece.mask->strides[0]] == std::byte{0}) {
            continue;
        }
        for (int a = 0; a < 3; ++a) {
            block.r[a][block.count] = r[a][i];
        }
        block.weight[block.count] = piece.weights == nullptr ? 1.0 : Component(*piece.weights)[i];
        if (++block.count == AtomBlock::capacity) {
            add_block(block);
        }
    }
    add_block(block);
    if (setup_->lattice && n_atoms_ != before) {
        setup_->lattice->unfold(setup_->tiles, setup_->lanes, sums_.data(), amplitudes_.data());
        std::fill_n(sums_.data(), sums_.size(), 0.0);
    }
}

void StructureFactorPartial::add_block(AtomBlock& atoms) {
    for (int j = 0; j < atoms.count; ++j) {
        sum_w_ += atoms.weight[j];
        sum_w2_ += atoms.weight[j] * atoms.weight[j];
    }
    for (int j = atoms.count; j < AtomBlock::capacity; ++j) {
        atoms.r[0][j] = atoms.r[1][j] = atoms.r[2][j] = atoms.weight[j] = 0;
    }
    if (atoms.count > 0) {
        const StructureFactorKernel& kernel = setup_->kernel;
        if (!setup_->lattice) {
            static_assert(sizeof(Vector3) == 3 * sizeof(double));
            kernel.direct(atoms, {setup_->q.data()->data(), 3 * setup_->q.size()},
                          amplitudes_.data());
        } else if (setup_->precision == Precision::Float32) {
            kernel.lattice32(setup_->tiles, atoms, *work_, sums_.data());
        } else {
            kernel.lattice64(setup_->tiles, atoms, *work_, sums_.data());
        }
    }
    n_atoms_ += atoms.count;
    atoms.count = 0;
}

void StructureFactorPartial::merge(const Partial& other) {
    const auto& from = dynamic_cast<const StructureFactorPartial&>(other);
    FLUVIAL_ASSERT(from.amplitudes_.size() == amplitudes_.size(), from.amplitudes_.size(),
                   amplitudes_.size());
    for (std::size_t i = 0; i < amplitudes_.size(); ++i) {
        amplitudes_[i] += from.amplitudes_[i];
    }
    n_atoms_ += from.n_atoms_;
    sum_w_ += from.sum_w_;
    sum_w2_ += from.sum_w2_;
}

Result StructureFactorPartial::finish() const {
    const auto count = static_cast<Index>(setup_->q.size());
    Array s(DType::Float64, {count});
    for (Index i = 0; i < count; ++i) {
        const double re = amplitudes_[2 * i], im = amplitudes_[2 * i + 1];
        s.as<double>()[i] = n_atoms_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                                          : (re * re + im * im) / static_cast<double>(n_atoms_);
    }
    Result result;
    result.emplace("value", std::move(s));
    result.emplace("amplitude", table(DType::Complex128, {count}, amplitudes_));
    result.emplace("q", table(DType::Float64, {count, 3}, setup_->q));
    if (setup_->lattice) {
        result.emplace("hkl", table(DType::Int32, {count, 3}, setup_->hkl));
    }
    result.emplace("n_atoms", scalar(DType::Int64, &n_atoms_));
    result.emplace("sum_w", scalar(DType::Float64, &sum_w_));
    result.emplace("sum_w2", scalar(DType::Float64, &sum_w2_));
    return result;
}

std::vector<std::byte> StructureFactorPartial::encode() const {
    ByteWriter out;
    out.put(n_atoms_);
    out.put(sum_w_);
    out.put(sum_w2_);
    out.put_vector(amplitudes_);
    return out.take();
}

void StructureFactorPartial::decode(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    const auto n_atoms = in.get<std::int64_t>();
    const auto sum_w = in.get<double>();
    const auto sum_w2 = in.get<double>();
    auto amplitudes = in.get_vector<double>();
    if (amplitudes.size() != amplitudes_.size() || !in.done() || n_atoms < 0) {
        throw Error(Problem{"structure factor: this state belongs to another operator",
                            text(amplitudes.size() / 2, " amplitudes"),
                            text(amplitudes_.size() / 2),
                            "Give every rank an operator with the same arguments"});
    }
    n_atoms_ = n_atoms;
    sum_w_ = sum_w;
    sum_w2_ = sum_w2;
    amplitudes_ = std::move(amplitudes);
}

}  // namespace fluvial::compute
