// SPDX-License-Identifier: Apache-2.0
/// A dataset whose elements lie in the file one stride apart along each axis, and the check that
/// they do lie in it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "fluvial/store/file.hpp"

namespace fluvial::store {

class AffineDataset final : public Dataset {
  public:
    AffineDataset(DatasetDescription description, Affine layout,
                  std::shared_ptr<const InputFile> bytes)
        : Dataset(std::move(description), std::move(layout)), bytes_(std::move(bytes)) {}
    const InputFile& bytes() const override { return *bytes_; }

  private:
    std::shared_ptr<const InputFile> bytes_;
};

/// Bytes of a contiguous array; none when 63 bits cannot count them. A zero among the extents does
/// not excuse the others: strides are products of them too.
inline std::optional<std::uint64_t> bytes_of(const Coordinates& extent,
                                             std::uint64_t element_bytes) {
    Index bytes = static_cast<Index>(element_bytes);
    bool empty = false;
    for (const Index n : extent) {
        empty = empty || n == 0;
        if (n < 0 || (n > 0 && __builtin_mul_overflow(bytes, n, &bytes))) {
            return std::nullopt;
        }
    }
    return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

}  // namespace fluvial::store
