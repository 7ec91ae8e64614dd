// SPDX-License-Identifier: Apache-2.0
/// libFuzzer's entry: any bytes as an HDF5 file (cmake/FluvialFuzz.cmake says how to run it; with
/// -malloc_limit_mb=100000). What crashes in libhdf5 itself ends the run, unless with -fork=1
/// -ignore_crashes=1.
#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/hdf5/file.hpp"

/// libhdf5 asks for memory that no machine has and can live without; and it leaks when it fails.
extern "C" const char* __asan_default_options() {
    return "allocator_may_return_null=1:detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t bytes) {
    fluvial::store::opens(fluvial::store::open_hdf5, std::as_bytes(std::span(data, bytes)));
    return 0;
}
