// SPDX-License-Identifier: Apache-2.0
#define FLUVIAL_ISA avx2
#include "fluvial/compute/kernels/kernels.inc"
