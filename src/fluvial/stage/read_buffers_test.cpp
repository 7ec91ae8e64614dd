// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/read_buffers.hpp"

#include <doctest/doctest.h>

using fluvial::stage::ReadBuffers;

namespace {

constexpr std::size_t large = 2 * ReadBuffers::kept_bytes_max;

}  // namespace

TEST_CASE("memory that was released serves the next read of about that size, however large") {
    const auto buffers = std::make_shared<ReadBuffers>();
    for (const std::size_t bytes : {std::size_t{4096}, std::size_t{1} << 20, large}) {
        CAPTURE(bytes);
        const std::byte* first = buffers->take(bytes).get();
        CHECK(buffers->take(bytes * 3 / 4).get() == first);
    }
}

TEST_CASE("two large buffers that are held in turns serve both") {
    const auto buffers = std::make_shared<ReadBuffers>();
    auto held = buffers->take(large);
    const std::byte* const first = held.get();
    held = buffers->take(large);
    CHECK(buffers->take(large).get() == first);
}

TEST_CASE("a large buffer that does not serve the next read makes room") {
    const auto buffers = std::make_shared<ReadBuffers>();
    buffers->take(large);
    CHECK(buffers->kept_bytes() == large);
    buffers->take(4096);
    CHECK(buffers->kept_bytes() == 4096);
}

TEST_CASE("no more is kept than one large buffer and the limit of the others") {
    const auto buffers = std::make_shared<ReadBuffers>();
    for (const std::size_t bytes : {ReadBuffers::kept_bytes_max / 2 + 1, large}) {
        const auto a = buffers->take(bytes), b = buffers->take(bytes), c = buffers->take(bytes);
    }
    CHECK(buffers->kept_bytes() <= ReadBuffers::kept_bytes_max + large);
    CHECK(buffers->kept_bytes() > large);
}

TEST_CASE("memory outlives what it was taken from") {
    auto buffers = std::make_shared<ReadBuffers>();
    const auto memory = buffers->take(large);
    buffers.reset();
    memory.get()[large - 1] = std::byte{1};
    CHECK(memory.get()[large - 1] == std::byte{1});
}
