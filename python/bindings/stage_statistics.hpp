// SPDX-License-Identifier: Apache-2.0
/// What is known of a stream, as dicts.
#pragma once

#include <nanobind/nanobind.h>

#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/writer.hpp"

namespace fluvial::python {

nanobind::dict stats_of(const stage::WriterStats& s);
nanobind::dict stats_of(const stage::ReaderStats& s);
nanobind::dict status_of(const stage::StreamStatus& s);

}  // namespace fluvial::python
