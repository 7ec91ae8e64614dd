// SPDX-License-Identifier: Apache-2.0
/// The messages of an object header of HDF5, in both of its versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// Kinds of messages that Fluvial looks at.
enum class Hdf5MessageKind : unsigned {
    Dataspace = 0x01,
    LinkInfo = 0x02,
    Datatype = 0x03,
    OldFill = 0x04,
    Fill = 0x05,
    Link = 0x06,
    Layout = 0x08,
    Filters = 0x0b,
    Attribute = 0x0c,
    Continuation = 0x10,
    AttributeInfo = 0x15
};

struct Hdf5Message {
    Hdf5MessageKind kind;
    bool shared;  ///< `body` says where the message is
    std::span<const std::byte> body;
};

/// Calls `use` with each message of the header at `address` (in the file) until it gives a reason.
/// Returns that reason, or null. What does not lie in the file ends the walk. The continuations of
/// the header are noted in `parts`, where there is one: address and bytes. Local; a read a part.
const char* for_each_message(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                             const std::function<const char*(const Hdf5Message&)>& use,
                             std::map<std::uint64_t, std::uint64_t>* parts = nullptr);

}  // namespace fluvial::store
