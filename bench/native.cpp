// SPDX-License-Identifier: Apache-2.0
// The loops that benchmarks hold contestants against: read memory, sum it, copy it.
// Compiled by native.py for the machine at hand and called through ctypes.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// Eight independent 64-byte accumulators hide the latency of the addition, so that the loop waits
// for memory only; the compiler maps a vector to what the CPU has.
constexpr std::size_t kLanes = 8;

template <typename Element>
using Vector [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = Element;

template <typename Element>
Element add_all(const Element* data, std::size_t count) {
    constexpr std::size_t per_vector = 64 / sizeof(Element);
    constexpr std::size_t block = kLanes * per_vector;
    Vector<Element> lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + block <= count; i += block) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += *reinterpret_cast<const Vector<Element>*>(data + i + lane * per_vector);
        }
    }
    Element total{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        for (std::size_t k = 0; k < per_vector; ++k) {
            total += lanes[lane][k];
        }
    }
    for (; i < count; ++i) {
        total += data[i];
    }
    return total;
}

}  // namespace

extern "C" {

// Reads `bytes` bytes as 64-bit words and returns their sum, so that no load can be left out.
std::uint64_t bench_read(const void* data, std::size_t bytes) {
    return add_all(static_cast<const std::uint64_t*>(data), bytes / sizeof(std::uint64_t));
}

// The sum of float64 values; exact for integers whose sum stays below 2^53.
double bench_sum(const double* data, std::size_t count) {
    return add_all(data, count);
}

// Copies `bytes` bytes with the C library's memcpy.
void bench_copy(void* target, const void* source, std::size_t bytes) {
    std::memcpy(target, source, bytes);
}
}
