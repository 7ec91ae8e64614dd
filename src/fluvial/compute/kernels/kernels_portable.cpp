// SPDX-License-Identifier: Apache-2.0
#define FLUVIAL_ISA portable
#include "fluvial/compute/kernels/kernels.inc"
