# SPDX-License-Identifier: Apache-2.0
# fluvial_add_fuzzer(<name> SOURCES <file> … [LIBRARIES <target> …])
#
# Builds one libFuzzer program (clang only) with the address and undefined-behaviour sanitizers, from
# the sources that it needs and not from the library, which is not instrumented:
#
#     CXX=clang++ CC=clang cmake -B .build/fuzz -G Ninja -DFLUVIAL_FUZZ=ON -DFLUVIAL_TESTS=OFF
#     ninja -C .build/fuzz fuzz_netcdf_classic
#     mkdir -p .build/fuzz/found
#     .build/fuzz/src/fluvial/store/fuzz_netcdf_classic -max_total_time=120 -max_len=4096 \
#         .build/fuzz/found tests/corpus/netcdf_classic
#
# Inputs that it finds go into the first folder. Add those worth keeping to the second, whose files
# the tests replay. Without FLUVIAL_FUZZ it does nothing.

option(FLUVIAL_FUZZ "Build the fuzzers (needs clang)" OFF)
if(FLUVIAL_FUZZ AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FLUVIAL_FUZZ: got ${CMAKE_CXX_COMPILER_ID}; libFuzzer needs clang: set CXX=clang++")
endif()
if(FLUVIAL_FUZZ AND NOT (FLUVIAL_HDF5 AND FLUVIAL_DEFLATE AND FLUVIAL_ZSTD))
    message(FATAL_ERROR "FLUVIAL_FUZZ=ON tries all readers: set FLUVIAL_HDF5, FLUVIAL_DEFLATE and FLUVIAL_ZSTD to ON")
endif()

function(fluvial_add_fuzzer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    if(NOT FLUVIAL_FUZZ)
        return()
    endif()
    add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_definitions(${name} PRIVATE FLUVIAL_ASSERTIONS=1 FLUVIAL_WITH_DEFLATE=1 FLUVIAL_WITH_ZSTD=1)
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
    foreach(step compile link)
        cmake_language(CALL target_${step}_options ${name} PRIVATE -fsanitize=fuzzer,address,undefined
                       -fno-sanitize-recover=undefined -g)
    endforeach()
endfunction()
