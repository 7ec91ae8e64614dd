// SPDX-License-Identifier: Apache-2.0
/// What is said of a step that is a record: its time, and the numbers that its writer gave as
/// attributes of the step, which files of records hold as variables of one number a record.
/// python/fluvial/scan/file_step.py does the same from Python.
#pragma once

#include <string>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/scan/series_step.hpp"

namespace fluvial::scan {

class JoinedFiles;

/// `time`, where the dimension of the records has a coordinate of numbers, with `timeUnits`,
/// `timeCalendar` and `timeUnitSI` as far as its units are known; and the numbers, of the file that
/// has the record. Nothing of variables that cannot be read (File::unreadable). Local, blocking.
/// Throws DamagedFile, SystemError.
Attributes record_attributes(const JoinedFiles& files, const SeriesStep::Record& record);

}  // namespace fluvial::scan
