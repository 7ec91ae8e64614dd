// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/mpi_function.hpp"

#include <cstring>

#include "fluvial/compute/state.hpp"

namespace fluvial::compute {
namespace {

class MPIPartial final : public StatePartial<MPIPartial> {
  public:
    MPIPartial(const Domain& domain, const RunNeeds& needs, Fold fold)
        : StatePartial("mpi_function", domain, needs),
          fold_(std::move(fold)),
          item_(size_of(needs.dtype)),
          value_(at(cells()) * item_),
          seen_(at(cells())) {}

    void absorb_run(const Run& run) override {
        if (run.weights != nullptr) {
            throw InvalidArgument(Problem{"an MPI_User_function knows no weights", "weights",
                                          "none", "Multiply by the weights with Apply"});
        }
        const auto* x = run.as<std::byte>();
        if (run.cell_step == 0 && run.included == nullptr) {
            absorb_line(x, run.cell, run.count);
            return;
        }
        for (Index i = 0; i < run.count; ++i) {
            if (run.included == nullptr || run.included[i] != 0) {
                absorb_one(x + at(i) * item_, at(run.cell + i * run.cell_step));
            }
        }
    }

    void merge(const Partial& other) override {
        const auto& o = same(other);
        for (std::size_t cell = 0; cell < seen_.size(); ++cell) {
            if (o.seen_[cell]) {
                absorb_one(o.value_.data() + cell * item_, cell);
            }
        }
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(value_);
        visit(seen_);
    }
    Result finish() const override {
        for (std::size_t cell = 0; cell < seen_.size(); ++cell) {
            if (!seen_[cell]) {
                throw InvalidArgument(Problem{"an MPI_User_function of no elements has no value",
                                              text("no element for kept position ", cell),
                                              "at least one element a kept position",
                                              "Widen the selection or the mask"});
            }
        }
        Array out = result(needs().dtype);
        out.bytes = value_;
        return {{"value", std::move(out)}};
    }

  private:
    void call(const std::byte* in, std::byte* inout, Index count) {
        fold_(in, inout, static_cast<int>(count));  // at most run_count_max
    }

    void absorb_one(const std::byte* x, std::size_t cell) {
        if (seen_[cell]) {
            call(x, value_.data() + cell * item_, 1);
        } else {
            std::memcpy(value_.data() + cell * item_, x, item_);
            seen_[cell] = 1;
        }
    }

    /// Folds the upper half of a copy onto its lower half until one element is left.
    void absorb_line(const std::byte* x, Index cell, Index count) {
        line_.assign(x, x + at(count) * item_);
        while (count > 1) {
            const Index half = count / 2;
            call(line_.data() + at(count - half) * item_, line_.data(), half);
            count -= half;
        }
        absorb_one(line_.data(), at(cell));
    }

    Fold fold_;
    std::size_t item_;
    std::vector<std::byte> value_;
    std::vector<std::uint8_t> seen_;
    std::vector<std::byte> line_;
};

class MPIOperator final : public Operator {
  public:
    MPIOperator(Fold fold, DType dtype, std::string declared)
        : fold_(std::move(fold)), dtype_(dtype), declared_(std::move(declared)) {}
    std::string name() const override { return "mpi_function"; }
    std::string describe() const override {
        return text("mpi_function(", declared_, ", ", name_of(dtype_), ")");
    }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        if (domain.dtypes[0] != dtype_) {
            throw InvalidArgument(
                Problem{"this MPI_User_function is for another dtype",
                        std::string(name_of(domain.dtypes[0])), std::string(name_of(dtype_)),
                        "Convert the data, or pass the dtype that the function is written for"});
        }
        return std::make_unique<MPIPartial>(domain, RunNeeds{dtype_, 1, false, false}, fold_);
    }

  private:
    Fold fold_;
    DType dtype_;
    std::string declared_;
};

}  // namespace

OperatorPtr make_mpi_operator(MPIUserFunction function, DType dtype, std::uintptr_t datatype,
                              std::string declared) {
    if (function == nullptr) {
        throw InvalidArgument(Problem{"no function", "a null pointer",
                                      "the address of an MPI_User_function",
                                      "With numba: function.address of a @cfunc"});
    }
    return make_fold_operator(
        [function, datatype](const void* in, void* inout, int length) {
            std::uintptr_t handle = datatype;
            function(const_cast<void*>(in), inout, &length, &handle);
        },
        dtype, std::move(declared));
}

OperatorPtr make_fold_operator(Fold fold, DType dtype, std::string declared) {
    return std::make_shared<MPIOperator>(std::move(fold), dtype, std::move(declared));
}

}  // namespace fluvial::compute
