// SPDX-License-Identifier: Apache-2.0
/// What the owner of memory allocates for reads of elements that do not lie together.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include <doctest/doctest.h>

#include "fluvial/move/connection_fixture.hpp"
#include "fluvial/move/tcp_read.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

std::atomic<std::size_t> largest_allowed = std::numeric_limits<std::size_t>::max();

}  // namespace

// Packed elements are aligned. Not inlined: GCC would take these for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto to = static_cast<std::size_t>(alignment);
    void* const memory =
        bytes <= largest_allowed ? std::aligned_alloc(to, (bytes + to - 1) / to * to) : nullptr;
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}

namespace {

constexpr std::size_t region_bytes = 16 << 20;

/// Of which one region takes more memory than there is.
class ScarceMemory final : public Exposed {
  public:
    Memory memory_of(const MemoryOnHost& place) override {
        if (place.key == 1) {
            throw std::bad_alloc();
        }
        return known_.memory_of(place);
    }

  private:
    KnownMemory known_{1, region_bytes};
};

struct Served {
    explicit Served(bool encrypt) {
        Pair pair;
        shake_hands(pair.client, pair.server);
        reader = std::make_unique<TcpRemoteReader>(std::move(pair.client), encrypt);
        serving.emplace(std::make_unique<TcpRemoteServer>(std::move(pair.server), encrypt), memory);
    }
    ~Served() { largest_allowed = std::numeric_limits<std::size_t>::max(); }
    /// Of an array of the extent, all but the first along the last axis.
    std::size_t wrong(const Coordinates& extent) const {
        Region box = whole(extent);
        const int last = extent.size() - 1;
        box.offset[last] = 1;
        box.extent[last] -= 1;
        std::vector<std::byte> got(static_cast<std::size_t>(box.volume()));
        const RemoteBox wanted{{0, 0, region_bytes, 0}, 1, extent, box, got.data()};
        reader->read(std::span(&wanted, 1), ignore_silence);
        std::size_t wrong = 0, at = 0;
        for (std::size_t i = 0; i < region_bytes; ++i) {
            if (i % static_cast<std::size_t>(extent[last]) != 0) {
                wrong += got[at++] == KnownMemory::byte_at(0, i) ? 0 : 1;
            }
        }
        return wrong;
    }

    ScarceMemory memory;
    std::unique_ptr<TcpRemoteReader> reader;
    std::optional<ServingThread> serving;
};

}  // namespace

TEST_CASE("a large read of elements that do not lie together takes little memory of the owner") {
    for (const bool encrypt : {false, true}) {
        CAPTURE(encrypt);
        const Served served(encrypt);
        largest_allowed = 2 << 20;
        CHECK(served.wrong({1 << 14, 1 << 10}) == 0);     // many rows at a time
        CHECK(served.wrong({2, 1 << 13, 1 << 10}) == 0);  // less than one at a time
        CHECK(served.wrong({1, 1, 1 << 20, 2, 8}) == 0);
    }
}

TEST_CASE("what the owner has no memory for is refused, and the next read goes well") {
    const Served served(false);
    std::byte one{};
    RemoteBox box{{1, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    CHECK_THROWS_WITH_AS(served.reader->read(std::span(&box, 1), ignore_silence),
                         doctest::Contains("no memory"), Error);
    box.place.key = 0;
    served.reader->read(std::span(&box, 1), ignore_silence);
    CHECK(one == KnownMemory::byte_at(0, 0));
}

TEST_CASE("a read that the owner cannot go on with ends its connection") {
    Pair pair;
    shake_hands(pair.client, pair.server);
    const Coordinates extent{1 << 14, 1 << 10};
    const RemoteBox every_row{{0, 0, region_bytes, 0}, 1, extent, {{0, 1}, {1 << 14, 1}}, nullptr};
    pair.client.post(encode_request(std::span(&every_row, 1)));
    pair.client.flush();
    ScarceMemory memory;
    TcpRemoteServer server(std::move(pair.server), false);
    largest_allowed = 1000;
    const auto serve = [&] {
        server.advance(memory);
        return false;
    };
    CHECK_THROWS_AS(wait_until(serve, Deadline(10), "it goes on"), PeerLost);
    largest_allowed = std::numeric_limits<std::size_t>::max();
}
