// SPDX-License-Identifier: Apache-2.0
/// What a stream does with its elements on the consumers: the intermediate and terminal function of
/// the paper "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131), section 3.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/compute/reduction.hpp"
#include "fluvial/move/record.hpp"
#include "fluvial/stream/element.hpp"

namespace fluvial::stream {

/// Elements side by side of one producer, in the order in which it sent them.
struct Batch {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    int producer = 0;         ///< rank in the channel
    std::uint64_t first = 0;  ///< bytes of this producer's to this consumer before data[0]; with
                              ///< parts (Operation::takes_parts) it may lie inside an element
};

/// Calls visit(bytes of an element) for each element of variable size in `batch`, where they lie.
template <class Visit>
void for_each_record(const Batch& batch, Visit&& visit) {
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= batch.bytes;) {
        std::uint64_t length = 0;
        std::memcpy(&length, batch.data + at, sizeof length);
        if (length == move::skip_record) {
            return;
        }
        visit(std::span(batch.data + at + sizeof length, static_cast<std::size_t>(length)));
        at += move::record_bytes(static_cast<std::size_t>(length));
    }
}

/// One thread at a time. Every rank of a channel makes its own; those of producers are asked for
/// takes_parts() alone.
class Operation {
  public:
    virtual ~Operation() = default;
    /// What it does, in words that are equal exactly where operations are: all operations of a
    /// stream must say the same. One of a user's says its name and version here.
    virtual std::string describe() const { return "an operation"; }
    /// The intermediate function. What it throws ends the stream on all ranks.
    virtual void absorb(const Batch& batch) = 0;
    /// Whether a batch may begin and end inside elements (at multiples of the element's items):
    /// large elements then flow through in parts, while they are still being sent.
    virtual bool takes_parts() const { return false; }
    /// Once on every consumer, after its last element and before partials are merged.
    virtual void finish_local() {}
    /// The result of this consumer so far, as bytes that merge() takes. May be called while the
    /// stream runs (queries).
    virtual std::vector<std::byte> partial() const { return {}; }
    /// Merges `b` into `a`, `a` from lower ranks. Associative.
    virtual std::vector<std::byte> merge(std::vector<std::byte> a,
                                         std::span<const std::byte> /*b*/) const {
        return a;
    }
    /// The global result from all consumers' partials merged.
    virtual std::vector<std::byte> finish(std::vector<std::byte> merged) const { return merged; }
};

/// Operators of compute/ over the elements. The reduction's axes are: producer (its rank in the
/// channel), element (its number among those that this producer sent to this consumer), then the
/// axes of one element; `over` counts them so, e.g. {0, 1} keeps the element's axes and {} reduces
/// over everything. Coordinates of results (argmax) are global in this sense. The result is
/// encode_results() of the reduction's results. Throws InvalidArgument on what the operators
/// refuse.
struct NamedOperator {
    std::string name;
    compute::OperatorPtr op;
    std::vector<int> over;
};
std::unique_ptr<Operation> make_reduction(std::vector<NamedOperator> operators,
                                          const Element& element, int ranks);
std::vector<std::byte> encode_results(const std::map<std::string, compute::Result>& results);
/// No results for no bytes. Throws what the operators threw when they were finished, such as
/// InvalidArgument for the maximum of nothing.
std::map<std::string, compute::Result> decode_results(std::span<const std::byte> bytes);

/// Throws InvalidArgument unless `batch` consists of whole values of `value_bytes`.
void check_whole(const Batch& batch, std::size_t value_bytes);
/// Calls `work` with every batch; the result is empty. Consumers may have different functions:
/// what they say of them in `declared` (base/terms.hpp), a name and a version, must be the same.
std::unique_ptr<Operation> make_callback(std::function<void(const Batch&)> work,
                                         bool takes_parts = false,
                                         std::string declared = "a function");

}  // namespace fluvial::stream
