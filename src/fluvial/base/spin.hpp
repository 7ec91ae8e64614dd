// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fluvial {

/// One turn of a loop that waits for another core.
inline void spin() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace fluvial
