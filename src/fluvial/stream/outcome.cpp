// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/outcome.hpp"

#include "fluvial/base/bytes.hpp"

namespace fluvial::stream {

std::vector<std::byte> encode_outcome(const Outcome& outcome) {
    ByteWriter out;
    out.put(outcome.elements);
    out.put_vector(outcome.result);
    return out.take();
}

Outcome decode_outcome(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    Outcome outcome;
    outcome.elements = in.get<std::uint64_t>();
    outcome.result = in.get_vector<std::byte>();
    return outcome;
}

}  // namespace fluvial::stream
