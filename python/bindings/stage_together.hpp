// SPDX-License-Identifier: Apache-2.0
/// All datasets of a step by one call: a step of thousands of small ones would spend most of its
/// time between Python and C++ otherwise.
#pragma once

#include <nanobind/nanobind.h>

#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/writer.hpp"

namespace fluvial::python {

namespace nb = nanobind;

/// Puts `arrays`, a dict of NumPy arrays by name, at one `offset` of datasets of one `shape`; None
/// as for a single array. `attributes` is a dict of dicts by name, in which names may be missing.
/// All are put, or an error is thrown and none is.
void put_together(stage::WriteStep& step, nb::dict arrays, nb::handle offset, nb::handle shape,
                  nb::dict attributes);

/// {name: array} of the datasets `names`, a list, with what StagedDataset::read returns; in the
/// place of datasets that have one of the attributes `telling` stands None. `cut` returns for a
/// shape a hyperslab (start, count, stride) and by what the result is indexed; None: everything.
nb::dict read_together(const stage::ReadStep& step, nb::list names, nb::handle cut,
                       const std::vector<std::string>& telling);

void bind_lent_memory(nb::module_& m);

}  // namespace fluvial::python
