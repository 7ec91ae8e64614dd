# SPDX-License-Identifier: Apache-2.0
# fluvial_add_test(<name> SOURCES <x_test.cpp> … [RANKS <n> …] [TIMEOUT <seconds>] [LIBRARIES <target> …]
#                  [OWN_MAIN] [OF_MPI])
#
# Builds one doctest program. Without RANKS it is one CTest test `<name>`, a serial process. With RANKS
# it is one CTest test `<name>@<n>` for each number of ranks, run by tests/harness/run_program.py under this
# build's mpiexec; the program's main initialises MPI and its exit code is a failure on every rank when
# a check failed on any. Three times TIMEOUT (60 s unless given) ends the test with all its processes. Without
# FLUVIAL_TESTS it does nothing. OWN_MAIN: the sources have a main() of their own, in C or C++. OF_MPI:
# the serial process depends on the MPI that it is built with. Other serial tests do not; a second build
# with another MPI leaves them out by FLUVIAL_SERIAL_TESTS=OFF. Tests whose input is random have the
# label `random`.

option(FLUVIAL_SERIAL_TESTS "Build the tests that do not depend on MPI, too" ON)
mark_as_advanced(FLUVIAL_SERIAL_TESTS)

# What a test program itself computes is little: a third of the time to compile it is saved.
function(fluvial_test_options target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    if(FLUVIAL_SANITIZE AND FLUVIAL_SANITIZE_FLOORS)
        target_compile_options(${target} PRIVATE -O0 -g1 ${fluvial_sanitizers})
    endif()
endfunction()

if(FLUVIAL_TESTS)
    find_package(doctest 2.4 REQUIRED)
    set(kinds serial)
    if(FLUVIAL_MPI)
        list(APPEND kinds mpi)
    endif()
    foreach(kind IN LISTS kinds)
        add_library(fluvial_${kind}_test_main STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/${kind}_test_main.cpp")
        target_link_libraries(fluvial_${kind}_test_main PUBLIC fluvial doctest::doctest)
    endforeach()
    # Half of the time to compile a test is that of reading these, so they are read once for all.
    add_library(fluvial_test_headers OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/test_headers.cpp")
    target_link_libraries(fluvial_test_headers PRIVATE fluvial doctest::doctest)
    set_target_properties(fluvial_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(fluvial_test_headers PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})  # as executables are
    target_precompile_headers(
        fluvial_test_headers PRIVATE <doctest/doctest.h> <algorithm> <chrono> <filesystem> <fstream> <functional> <map>
        <memory> <mutex> <optional> <sstream> <string> <thread> <vector>)
    fluvial_test_options(fluvial_test_headers)
endif()

function(fluvial_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_MAIN;OF_MPI" "TIMEOUT" "SOURCES;RANKS;LIBRARIES")
    if(NOT arg_SOURCES)
        message(FATAL_ERROR "fluvial_add_test(${name}): SOURCES is empty; name at least one _test.cpp file")
    endif()
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fluvial_add_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}; "
                            "allowed are SOURCES, RANKS, TIMEOUT, LIBRARIES, OWN_MAIN, OF_MPI")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    # What it takes at most on a machine that has nothing else to do; others may be three times as busy.
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        math(EXPR arg_TIMEOUT "2 * ${arg_TIMEOUT}")
    endif()
    if(NOT FLUVIAL_TESTS OR NOT (FLUVIAL_SERIAL_TESTS OR arg_RANKS OR arg_OF_MPI))
        return()
    endif()
    set(kind serial)
    if(arg_RANKS)
        set(kind mpi)
    endif()

    # tests_of_<folder>: all programs of a folder, and of those inside of it.
    get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/src/fluvial/([^/]+)/")
        set(folder "${CMAKE_MATCH_1}")
    endif()
    if(NOT TARGET tests_of_${folder})
        add_custom_target(tests_of_${folder})
    endif()
    add_dependencies(tests_of_${folder} ${name})

    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE fluvial ${arg_LIBRARIES})
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # tests may use a name twice
    fluvial_test_options(${name})
    # Programs with libraries or a main of their own, and those in C, may have other flags.
    if(NOT arg_OWN_MAIN AND NOT arg_LIBRARIES AND NOT "${arg_SOURCES}" MATCHES "\\.c(;|$)")
        target_precompile_headers(${name} REUSE_FROM fluvial_test_headers)
    endif()
    if(NOT arg_OWN_MAIN)
        target_link_libraries(${name} PRIVATE fluvial_${kind}_test_main)
    endif()

    set(labels)
    foreach(source IN LISTS arg_SOURCES)
        file(STRINGS ${source} random REGEX "test_seed|TestSeed|world\\.seed|link_conformance\\.hpp" LIMIT_COUNT 1)
        if(random)
            set(labels random)
        endif()
    endforeach()

    set(launch "${Python_EXECUTABLE}" -I -S "${PROJECT_SOURCE_DIR}/tests/harness/run_program.py" --timeout ${arg_TIMEOUT})
    # CTest's own limit is only the net under that one, which leaves no process behind and which `./run soak`
    # lengthens by up to ten minutes for further seeds.
    math(EXPR net "${arg_TIMEOUT} + 615")
    if(NOT arg_RANKS)
        add_test(NAME ${name} COMMAND ${launch} -- ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>)
        set_tests_properties(${name} PROPERTIES TIMEOUT ${net} LABELS "${labels}")
        return()
    endif()
    foreach(ranks IN LISTS arg_RANKS)
        add_test(NAME ${name}@${ranks}
                 COMMAND ${launch} --mpiexec "${MPIEXEC_EXECUTABLE}" -n ${ranks} -- $<TARGET_FILE:${name}>)
        # Ranks wait for one another about half of the time, and give their core away meanwhile.
        math(EXPR cores "(${ranks} + 1) / 2")
        set_tests_properties(${name}@${ranks} PROPERTIES TIMEOUT ${net} PROCESSORS ${cores} LABELS "${labels}")
    endforeach()
endfunction()
