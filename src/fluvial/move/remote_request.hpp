// SPDX-License-Identifier: Apache-2.0
/// What a reader asks the owner of memory for, and what the owner says to it, in the same messages
/// for every transport between hosts.
#pragma once

#include <deque>
#include <memory>
#include <new>
#include <span>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/move/packed.hpp"
#include "fluvial/move/remote_read.hpp"

namespace fluvial::move {

/// All boxes of a read.
Bytes encode_request(std::span<const RemoteBox> boxes);
struct RequestedBox {
    ArrayView view;
    std::shared_ptr<const void> owner;  ///< keeps its memory
};
/// Each box that has elements, in the order of the request. Throws what the owner says of a place
/// that is not there, and Error when the request makes no sense.
std::deque<RequestedBox> requested_boxes(const Bytes& request, Exposed& exposed);
/// The elements of each: of those that do not lie together, copies.
std::deque<PackedBytes> requested_parts(const Bytes& request, Exposed& exposed);

/// A reply begins with whether the owner gives what was asked for; `out` then says what follows.
void put_granted(ByteWriter& out);
Bytes encode_refusal(const Error& error);
Bytes encode_refusal(const std::bad_alloc& no_memory);
/// Throws what the owner refused with.
void check_granted(ByteReader& in);

}  // namespace fluvial::move
