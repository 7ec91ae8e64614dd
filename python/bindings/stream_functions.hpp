// SPDX-License-Identifier: Apache-2.0
/// The functions that Python gives to a stream, and batches as Python sees them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compute.hpp"
#include "fluvial/stream/stream.hpp"
#include "fluvial/stream/threshold_collective.hpp"

namespace fluvial::python {

/// The bytes of a batch or of room as they lie, for as long as the stream says.
nb::object bytes_array(std::span<const std::byte> bytes, bool writable);
/// The bytes of a batch, or a list of those of its records.
nb::object elements_of(const stream::Batch& batch, bool varies);

/// From (name, operator, axes) of each, or a function `callback(producer, elements)` that ranks
/// know as `declared`; none for neither.
std::unique_ptr<stream::Operation> make_operation(nb::handle entries, nb::handle callback,
                                                  const std::string& declared,
                                                  const stream::Element& element, int ranks);
/// From a name, (offset, length) of a key, or a function of an element's bytes.
stream::Association to_association(nb::handle given);

std::vector<std::byte> to_bytes(nb::handle object);
/// `merge(a, b)` of bytes, `judge(merged, count, producers)` that returns None for not certain.
stream::ThresholdRule to_rule(nb::object merge, nb::object judge, std::uint64_t rounds_ahead,
                              std::string declared);

}  // namespace fluvial::python
