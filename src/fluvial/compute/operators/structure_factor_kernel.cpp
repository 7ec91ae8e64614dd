// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor_kernel.hpp"

#include <algorithm>
#include <cstdint>

#include "fluvial/compute/kernels/kernels.hpp"

namespace fluvial::compute {

LatticeWork::LatticeWork(const LatticeTiles& tiles, int rows_a_group) {
    const auto entries = [](int count) {
        return static_cast<std::size_t>(count + 1) * 2 * AtomBlock::capacity;
    };
    const int highest = std::max({tiles.count[0], tiles.count[1], tiles.count[2], 1});
    powers = AlignedBuffer<double>(entries(highest));
    const auto bytes = [](std::size_t doubles) {
        return AlignedBuffer<std::byte>(doubles * sizeof(double));
    };
    factors[0] = bytes(entries(tiles.count[0]));
    factors[1] = bytes(entries(tiles.count[1]));
    columns = bytes(entries(tiles.count[2]) + 16 * AtomBlock::capacity);
    rows = bytes(static_cast<std::size_t>(rows_a_group) * AtomBlock::capacity);
}

namespace {

#define KERNEL_TARGET
#define VECTOR_BYTES 16
#define GROUP_ROWS 4
#define KERNEL_NAME "portable"
namespace portable {
#include "fluvial/compute/operators/structure_factor_kernel.inc"
}
#undef KERNEL_TARGET
#undef VECTOR_BYTES
#undef GROUP_ROWS
#undef KERNEL_NAME

#if defined(__x86_64__)
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define VECTOR_BYTES 32
#define GROUP_ROWS 4
#define KERNEL_NAME "avx2"
namespace avx2 {
#include "fluvial/compute/operators/structure_factor_kernel.inc"
}
#undef KERNEL_TARGET
#undef VECTOR_BYTES
#undef GROUP_ROWS
#undef KERNEL_NAME

#define KERNEL_TARGET __attribute__((target("avx512f,avx512dq,avx2,fma")))
#define VECTOR_BYTES 64
#define GROUP_ROWS 8
#define KERNEL_NAME "avx512"
namespace avx512 {
#include "fluvial/compute/operators/structure_factor_kernel.inc"
}
#undef KERNEL_TARGET
#undef VECTOR_BYTES
#undef GROUP_ROWS
#undef KERNEL_NAME
#endif

constexpr StructureFactorKernel compiled[] = {
#if defined(__x86_64__)
    avx512::kernel,
    avx2::kernel,
#endif
    portable::kernel,
};

}  // namespace

std::vector<StructureFactorKernel> structure_factor_kernels() {
    std::vector<StructureFactorKernel> runnable;
    for (const StructureFactorKernel& kernel : compiled) {
        for (const Kernels* here : runnable_kernels()) {
            if (here->isa == kernel.name) {
                runnable.push_back(kernel);
            }
        }
    }
    return runnable;
}

}  // namespace fluvial::compute
