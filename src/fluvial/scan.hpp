// SPDX-License-Identifier: Apache-2.0
/// All that a program needs that computes while it reads files: files and their datasets, requests,
/// scans, and the operators (compute.hpp).
#pragma once

#include "fluvial/compute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/scan/decoding.hpp"
#include "fluvial/scan/request.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/scan/variable.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/formats.hpp"
#include "fluvial/store/input_file.hpp"
#include "fluvial/store/layout.hpp"
#include "fluvial/store/raw.hpp"
