// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor_partial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

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

/// One element of an input of integers.
std::int64_t integer_at(const ArrayView& view, Index i) {
    return dispatch(view.dtype, [&]<class T>() -> std::int64_t {
        if constexpr (std::is_integral_v<T>) {
            T value;
            std::memcpy(&value, view.data + i * view.strides[0], sizeof value);
            return static_cast<std::int64_t>(value);
        }
        FLUVIAL_ASSERT(false, name_of(view.dtype));
        return 0;
    });
}

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
      amplitudes_(2 * setup_->q.size() * setup_->kinds(), 0.0),
      n_atoms_(setup_->kinds(), 0) {}

void StructureFactorPartial::absorb(const Piece& piece) {
    check_piece(piece, domain_, "structure_factor");
    if (blocks_.empty()) {
        blocks_.resize(setup_->kinds());
        added_.resize(setup_->kinds());
    }
    if (setup_->lattice && !work_) {
        work_.emplace(setup_->tiles, setup_->kernel.rows_a_group);
        for (std::size_t kind = 0; kind < setup_->kinds(); ++kind) {
            sums_.emplace_back(setup_->tiles.sums);
        }
    }
    const Component r[3] = {Component(piece.inputs[0]), Component(piece.inputs[1]),
                            Component(piece.inputs[2])};
    const bool several = !setup_->form_factors.empty();
    for (Index i = 0; i < piece.where.extent[0]; ++i) {
        if (piece.mask != nullptr && piece.mask->data[i * piece.mask->strides[0]] == std::byte{0}) {
            continue;
        }
        const std::size_t kind = several ? kind_of(integer_at(piece.inputs[3], i)) : 0;
        AtomBlock& block = blocks_[kind];
        for (int a = 0; a < 3; ++a) {
            block.r[a][block.count] = r[a][i];
        }
        block.weight[block.count] = piece.weights == nullptr ? 1.0 : Component(*piece.weights)[i];
        if (++block.count == AtomBlock::capacity) {
            add_block(block, kind);
        }
    }
    for (std::size_t kind = 0; kind < blocks_.size(); ++kind) {
        add_block(blocks_[kind], kind);
    }
    unfold_sums();
}

void StructureFactorPartial::unfold_sums() {
    for (std::size_t kind = 0; kind < sums_.size(); ++kind) {
        if (added_[kind] != 0) {
            setup_->lattice->unfold(setup_->tiles, setup_->lanes, sums_[kind].data(),
                                    amplitudes_of(kind));
            std::fill_n(sums_[kind].data(), sums_[kind].size(), 0.0);
            added_[kind] = 0;
        }
    }
}

std::size_t StructureFactorPartial::kind_of(std::int64_t species) const {
    const auto& factors = setup_->form_factors;
    for (std::size_t kind = 0; kind < factors.size(); ++kind) {
        if (factors[kind].species == species) {
            return kind;
        }
    }
    std::string known;
    for (const auto& factor : factors) {
        known += (known.empty() ? "" : ", ") + std::to_string(factor.species);
    }
    throw InvalidArgument(Problem{"structure factor: an atom's species has no form factor",
                                  text(species), known, "Name its form factor, too"});
}

void StructureFactorPartial::add_block(AtomBlock& atoms, std::size_t kind) {
    if (atoms.count == 0) {
        return;
    }
    for (int j = 0; j < atoms.count; ++j) {
        sum_w_ += atoms.weight[j];
        sum_w2_ += atoms.weight[j] * atoms.weight[j];
    }
    for (int j = atoms.count; j < AtomBlock::capacity; ++j) {
        atoms.r[0][j] = atoms.r[1][j] = atoms.r[2][j] = atoms.weight[j] = 0;
    }
    const StructureFactorKernel& kernel = setup_->kernel;
    if (!setup_->lattice) {
        static_assert(sizeof(Vector3) == 3 * sizeof(double));
        kernel.direct(atoms, {setup_->q.data()->data(), 3 * setup_->q.size()}, amplitudes_of(kind));
    } else if (setup_->precision == Precision::Float32) {
        kernel.lattice32(setup_->tiles, atoms, *work_, sums_[kind].data());
    } else {
        kernel.lattice64(setup_->tiles, atoms, *work_, sums_[kind].data());
    }
    added_[kind] = 1;
    n_atoms_[kind] += atoms.count;
    atoms.count = 0;
}

void StructureFactorPartial::merge(const Partial& other) {
    const auto& from = dynamic_cast<const StructureFactorPartial&>(other);
    FLUVIAL_ASSERT(from.amplitudes_.size() == amplitudes_.size(), from.amplitudes_.size(),
                   amplitudes_.size());
    for (std::size_t i = 0; i < amplitudes_.size(); ++i) {
        amplitudes_[i] += from.amplitudes_[i];
    }
    for (std::size_t kind = 0; kind < n_atoms_.size(); ++kind) {
        n_atoms_[kind] += from.n_atoms_[kind];
    }
    sum_w_ += from.sum_w_;
    sum_w2_ += from.sum_w2_;
}

std::vector<double> StructureFactorPartial::total() const {
    if (setup_->form_factors.empty()) {
        return amplitudes_;
    }
    const std::size_t count = setup_->q.size();
    std::vector<double> sum(2 * count, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
        const Vector3& q = setup_->q[i];
        const double length = std::hypot(q[0], q[1], q[2]);
        for (std::size_t kind = 0; kind < setup_->kinds(); ++kind) {
            const double f = setup_->form_factors[kind].factor.at(length);
            sum[2 * i] += f * amplitudes_[2 * (kind * count + i)];
            sum[2 * i + 1] += f * amplitudes_[2 * (kind * count + i) + 1];
        }
    }
    return sum;
}

Result StructureFactorPartial::finish() const {
    const auto count = static_cast<Index>(setup_->q.size());
    const std::int64_t atoms = std::accumulate(n_atoms_.begin(), n_atoms_.end(), std::int64_t{0});
    const std::vector<double> amplitudes = total();
    Array s(DType::Float64, {count});
    for (Index i = 0; i < count; ++i) {
        const double re = amplitudes[2 * i], im = amplitudes[2 * i + 1];
        s.as<double>()[i] = atoms == 0 ? std::numeric_limits<double>::quiet_NaN()
                                       : (re * re + im * im) / static_cast<double>(atoms);
    }
    Result result;
    result.emplace("value", std::move(s));
    result.emplace("amplitude", table(DType::Complex128, {count}, amplitudes));
    result.emplace("q", table(DType::Float64, {count, 3}, setup_->q));
    if (setup_->lattice) {
        result.emplace("hkl", table(DType::Int32, {count, 3}, setup_->hkl));
    }
    if (!setup_->form_factors.empty()) {
        finish_species(result);
    }
    result.emplace("n_atoms", scalar(DType::Int64, &atoms));
    result.emplace("sum_w", scalar(DType::Float64, &sum_w_));
    result.emplace("sum_w2", scalar(DType::Float64, &sum_w2_));
    return result;
}

void StructureFactorPartial::finish_species(Result& result) const {
    const auto kinds = static_cast<Index>(setup_->kinds());
    std::vector<std::int64_t> species;
    for (const auto& factor : setup_->form_factors) {
        species.push_back(factor.species);
    }
    result.emplace("species", table(DType::Int64, {kinds}, species));
    result.emplace("counts", table(DType::Int64, {kinds}, n_atoms_));
    const Coordinates shape{kinds, static_cast<Index>(setup_->q.size())};
    result.emplace("species_amplitude", table(DType::Complex128, shape, amplitudes_));
}

std::vector<std::byte> StructureFactorPartial::encode() const {
    ByteWriter out;
    out.put_vector(n_atoms_);
    out.put(sum_w_);
    out.put(sum_w2_);
    out.put_vector(amplitudes_);
    return out.take();
}

void StructureFactorPartial::decode(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    auto n_atoms = in.get_vector<std::int64_t>();
    const auto sum_w = in.get<double>();
    const auto sum_w2 = in.get<double>();
    auto amplitudes = in.get_vector<double>();
    if (amplitudes.size() != amplitudes_.size() || n_atoms.size() != n_atoms_.size() ||
        !in.done()) {
        throw Error(Problem{"structure factor: this state belongs to another operator",
                            text(amplitudes.size() / 2, " amplitudes"),
                            text(amplitudes_.size() / 2),
                            "Give every rank an operator with the same arguments"});
    }
    n_atoms_ = std::move(n_atoms);
    sum_w_ = sum_w;
    sum_w2_ = sum_w2;
    amplitudes_ = std::move(amplitudes);
}

}  // namespace fluvial::compute
