// SPDX-License-Identifier: Apache-2.0
/// libFuzzer's entry: any bytes as a netCDF classic file (cmake/FluvialFuzz.cmake says how to run
/// it).
#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/netcdf_classic.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t bytes) {
    fluvial::store::opens(fluvial::store::open_netcdf_classic,
                          std::as_bytes(std::span(data, bytes)));
    return 0;
}
