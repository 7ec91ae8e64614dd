// SPDX-License-Identifier: Apache-2.0
#define FLUVIAL_ISA avx512
#include "fluvial/compute/kernels/kernels.inc"
