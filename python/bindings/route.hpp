// SPDX-License-Identifier: Apache-2.0
/// What the bindings of planned exchanges, of redistributions and of sparse writing have in common.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace fluvial::python {

namespace nb = nanobind;

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void bind_exchange(nb::module_& m);
void bind_sparse_write(nb::module_& m);
void bind_redistribution(nb::module_& m);

}  // namespace fluvial::python
