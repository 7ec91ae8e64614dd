// SPDX-License-Identifier: Apache-2.0
/// Elements past 2 GiB for real, on two ranks. What is sent is zero pages but for a few marks,
/// which the consumer finds again. Needs about 2.5 GiB.
#include <doctest/doctest.h>

#include "fluvial/mpi/large_payload_fixture.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

constexpr std::size_t length = (std::size_t{1} << 31) + 12'344;
constexpr std::size_t marks[] = {
    0, 1, (std::size_t{1} << 30) + 3, (std::size_t{1} << 31) - 1, std::size_t{1} << 31, length - 1};

std::byte mark_of(std::size_t place) {
    return static_cast<std::byte>(place % 251 + 1);
}

void set_marks(std::span<std::byte> element) {
    for (const std::size_t place : marks) {
        element[place] = mark_of(place);
    }
}

/// Of the places of marks that are in it, how many are right; anything else must be zero.
int count_marks(const Batch& batch) {
    int found = 0;
    for (const std::size_t place : marks) {
        if (place < batch.first || place >= batch.first + batch.bytes) {
            continue;
        }
        found += batch.data[place - batch.first] == mark_of(place) ? 1 : 0;
    }
    return found;
}

}  // namespace

TEST_CASE("an element of more than 2 GiB arrives whole, or in parts") {
    if (!mpi::enough_memory(world(), 4)) {
        return;
    }
    for (const bool shared : {true, false}) {
        for (const bool in_parts : {true, false}) {
            for (const bool in_place : {false, true}) {
                if (in_parts && (in_place || !shared)) {
                    continue;
                }
                CAPTURE(shared);
                CAPTURE(in_parts);
                CAPTURE(in_place);
                Channel channel = world_channel(halves(), {.shared_memory = shared});
                int found = 0;
                std::uint64_t bytes = 0;
                std::uint64_t batches = 0;
                Stream stream(channel, {.element = Element::of(DType::UInt8, {length})},
                              make_callback(
                                  [&](const Batch& batch) {
                                      found += count_marks(batch);
                                      bytes += batch.bytes;
                                      ++batches;
                                  },
                                  in_parts));
                if (produces(channel.role())) {
                    if (in_place) {
                        set_marks(stream.reserve());
                        stream.commit();
                    } else {
                        const mpi::SparseZeros element(length);
                        set_marks(element.bytes());
                        stream.send(element.bytes().data());
                    }
                    stream.terminate();
                } else {
                    stream.operate();
                    CHECK(bytes == length);
                    CHECK(found == static_cast<int>(std::size(marks)));
                    CHECK((batches == 1) == !in_parts);
                    CHECK(stream.statistics().elements == 1);
                }
                channel.close();
            }
        }
    }
}
