# SPDX-License-Identifier: Apache-2.0
# fluvial_add_test(<name> SOURCES <x_test.cpp> … [RANKS <n> …] [TIMEOUT <seconds>] [LIBRARIES <target> …]
#                  [OWN_MAIN])
#
# Builds one doctest program. Without RANKS it is one CTest test `<name>`, a serial process. With RANKS
# it is one CTest test `<name>@<n>` for each number of ranks, run by the project's launcher under this
# build's mpiexec; the program's main initialises MPI and its exit code is a failure on every rank when
# a check failed on any. TIMEOUT (60 s unless given) ends the test with all its processes. Without
# FLUVIAL_TESTS it does nothing. OWN_MAIN: the sources have a main() of their own, in C or C++.

if(FLUVIAL_TESTS)
    find_package(doctest 2.4 REQUIRED)
    foreach(kind serial mpi)
        add_library(fluvial_${kind}_test_main STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_LIST_DIR}/${kind}_test_main.cpp")
        target_link_libraries(fluvial_${kind}_test_main PUBLIC fluvial doctest::doctest)
    endforeach()
endif()

function(fluvial_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_MAIN" "TIMEOUT" "SOURCES;RANKS;LIBRARIES")
    if(NOT arg_SOURCES)
        message(FATAL_ERROR "fluvial_add_test(${name}): SOURCES is empty; name at least one _test.cpp file")
    endif()
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "fluvial_add_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}; "
                            "allowed are SOURCES, RANKS, TIMEOUT, LIBRARIES, OWN_MAIN")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(NOT FLUVIAL_TESTS)
        return()
    endif()
    set(kind serial)
    if(arg_RANKS)
        set(kind mpi)
    endif()

    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE fluvial ${arg_LIBRARIES})
    if(NOT arg_OWN_MAIN)
        target_link_libraries(${name} PRIVATE fluvial_${kind}_test_main)
    endif()

    set(launch "${Python_EXECUTABLE}" -I -S "${PROJECT_SOURCE_DIR}/python/fluvial/launcher.py" --timeout ${arg_TIMEOUT})
    # CTest's own limit is only the net under the launcher's, which leaves no process behind.
    math(EXPR net "${arg_TIMEOUT} + 15")
    if(NOT arg_RANKS)
        add_test(NAME ${name} COMMAND ${launch} --singly -n 1 -- $<TARGET_FILE:${name}>)
        set_tests_properties(${name} PROPERTIES TIMEOUT ${net})
        return()
    endif()
    foreach(ranks IN LISTS arg_RANKS)
        add_test(NAME ${name}@${ranks}
                 COMMAND ${launch} --mpiexec "${MPIEXEC_EXECUTABLE}" -n ${ranks} -- $<TARGET_FILE:${name}>)
        set_tests_properties(${name}@${ranks} PROPERTIES TIMEOUT ${net} PROCESSORS ${ranks})
    endforeach()
endfunction()
