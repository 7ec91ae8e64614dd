// SPDX-License-Identifier: Apache-2.0
/// Boxes of several arrays, which travel between two ranks as one message.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::move {

/// An array that stays unchanged, and that `owner` keeps, until the call that takes it returns.
struct HeldArray {
    ArrayView view;
    std::shared_ptr<const void> owner;
};

/// The same, to be written.
struct WantedArray {
    MutableArrayView view;
    std::shared_ptr<const void> owner;
};

/// The boxes that one rank has for another, in the order in which their elements follow each other
/// in the message. Its memory for packed elements stays for the next step. Local.
class BoxMessage {
  public:
    explicit BoxMessage(int rank) : rank_(rank) {}
    /// `inside` in the coordinates of the array's own first element.
    void add(std::size_t array, const Region& inside, std::size_t element_bytes);

    int rank() const { return rank_; }  ///< the other one
    std::size_t bytes() const { return bytes_; }

    /// The elements: where they lie, if they lie together there, or packed.
    struct Bytes {
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
    };
    Bytes gather(std::span<const HeldArray> arrays);
    /// Memory for the message: its place in an array, or else a buffer, from which scatter() takes
    /// it.
    struct Memory {
        std::span<std::byte> bytes;
        std::shared_ptr<const void> owner;
        bool in_place = false;
    };
    Memory memory(std::span<const WantedArray> arrays);
    /// Without arrays: memory for a message that is of no use.
    Memory buffer();
    void scatter(std::span<const std::byte> message, std::span<const WantedArray> arrays) const;

    /// From one rank's arrays into its own other ones. Both messages have the same boxes of the
    /// global array, in the same order.
    friend void copy_boxes(const BoxMessage& source, std::span<const HeldArray> from,
                           const BoxMessage& target, std::span<const WantedArray> to);

  private:
    struct Box {
        std::size_t array;
        Region inside;
        std::size_t bytes;
    };

    int rank_;
    std::size_t bytes_ = 0;
    std::vector<Box> boxes_;
    std::shared_ptr<std::byte[]> buffer_;
};

}  // namespace fluvial::move
