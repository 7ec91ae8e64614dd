// SPDX-License-Identifier: Apache-2.0
/// Producers do not wait for consumers that are busy, as long as the buffer has room.
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

TEST_CASE("what fits into the buffer is sent while the consumer does something else") {
    constexpr std::size_t burst_bytes = std::size_t{1} << 20;
    for (const bool shared : {true, false}) {
        for (const Index doubles : {1024, 8192, 32'000}) {
            CAPTURE(shared);
            CAPTURE(doubles);
            Channel channel = world_channel(world_rank() == 0 ? Role::Consumer : Role::Producer,
                                            {.shared_memory = shared, .timeout_s = 20});
            Stream stream(channel, {.element = Element::of(DType::Float64, {doubles})});
            const std::vector<double> element(static_cast<std::size_t>(doubles), 1.0);
            const std::size_t burst = burst_bytes / (element.size() * sizeof(double));
            std::size_t taken = 0;
            for (std::size_t round = 1; round <= 24; ++round) {
                for (std::size_t i = 0; world_rank() > 0 && i < burst; ++i) {
                    stream.send(element.data());
                }
                world().barrier();  // of the application, before which the consumer takes nothing
                if (world_rank() > 0) {
                    stream.flush();
                    continue;
                }
                const auto producers = static_cast<std::size_t>(world_size() - 1);
                while (taken < round * burst * producers) {
                    taken += stream.next()->bytes / (element.size() * sizeof(double));
                }
            }
            if (world_rank() > 0) {
                stream.terminate();
            }
            channel.close();
        }
    }
}
