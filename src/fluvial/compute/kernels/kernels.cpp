// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/kernels/kernels.hpp"

#include <cstdlib>

#ifdef FLUVIAL_KERNELS_X86
#include <cpuid.h>
#endif

namespace fluvial::compute {

namespace portable {
extern const Kernels table;
}
#ifdef FLUVIAL_KERNELS_X86
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

#ifdef FLUVIAL_KERNELS_X86
namespace {

/// Conversions of float16, of which not every compiler's __builtin_cpu_supports knows.
bool has_f16c() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace
#endif

std::vector<const Kernels*> runnable_kernels() {
    std::vector<const Kernels*> all = {&portable::table};
#ifdef FLUVIAL_KERNELS_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) {
        all.push_back(&avx2::table);
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
            all.push_back(&avx512::table);
        }
    }
#endif
    return all;
}

const Kernels& kernels() {
    static const Kernels& chosen = []() -> const Kernels& {
        const auto all = runnable_kernels();
        const char* wanted = std::getenv("FLUVIAL_ISA");
        if (wanted == nullptr || *wanted == '\0') {
            return *all.back();
        }
        std::string names;
        for (const Kernels* k : all) {
            if (k->isa == wanted) {
                return *k;
            }
            names += (names.empty() ? "" : ", ") + std::string(k->isa);
        }
        throw InvalidArgument(Problem{"FLUVIAL_ISA names no instruction set of this CPU", wanted,
                                      names, "Unset it to take the best one"});
    }();
    return chosen;
}

}  // namespace fluvial::compute
