// SPDX-License-Identifier: Apache-2.0
/// The operations of MPI programs on the elements of a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/c/stream_types.hpp"
#include "fluvial/stream/operation.hpp"

namespace fluvial::c {

/// A result as it travels between ranks.
struct TravellingResult {
    std::uint64_t elements = 0;
    bool known = false;  ///< false: of no elements, and no identity is known
    std::span<const std::byte> packed;

    explicit TravellingResult(std::span<const std::byte> bytes);
};

/// The local result, and how results are combined; what happens to elements is up to those derived
/// from it.
class CombinedOperation : public stream::Operation {
  public:
    explicit CombinedOperation(std::shared_ptr<const StreamTypes> types);

    /// The kinds of the functions, the names of predefined ones, and what the program declares.
    std::string describe() const final { return description_; }
    void set_description(std::string words) { description_ = std::move(words); }
    void absorb(const stream::Batch& batch) final;
    void finish_local() override;
    /// Where partial() is once this consumer's last element was processed.
    std::shared_ptr<const std::vector<std::byte>> last() const { return last_; }
    std::vector<std::byte> partial() const override;
    std::vector<std::byte> merge(std::vector<std::byte> a,
                                 std::span<const std::byte> b) const override;

  protected:
    /// `count` elements without gaps, side by side.
    virtual void take(const std::byte* elements, std::size_t count) = 0;
    const StreamTypes& types() const { return *types_; }
    TypedMemory& local() { return local_; }
    void set_known() { known_ = true; }
    bool known() const { return known_; }

  private:
    std::shared_ptr<const StreamTypes> types_;
    TypedMemory local_;
    std::shared_ptr<std::vector<std::byte>> last_ = std::make_shared<std::vector<std::byte>>();
    std::uint64_t elements_ = 0;
    bool known_ = false;
    std::string description_;
};

/// The operation that an MPIStream_Operation and options describe.
std::unique_ptr<CombinedOperation> make_operation(std::shared_ptr<const StreamTypes> types,
                                                  MPI_User_function* intermediate,
                                                  const MPIStream_Options& options,
                                                  const mpi::Comm& comm);

/// Calls `function` for each element.
std::unique_ptr<CombinedOperation> make_element_function(std::shared_ptr<const StreamTypes> types,
                                                         MPI_User_function* function);

/// The operation that MPIStream_Elementwise() has given this function for; MPI_OP_NULL for others.
MPI_Op elementwise_op(MPI_User_function* function);

}  // namespace fluvial::c
