# SPDX-License-Identifier: Apache-2.0
# Compiler flags that every target of this build shares.

set(CMAKE_C_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
if(PROJECT_IS_TOP_LEVEL)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>)
    if(FLUVIAL_WERROR)
        add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
    endif()
endif()

# a*b+c is rounded twice on every CPU, so that results are the same to the bit.
add_compile_options(-ffp-contract=off)

set(fluvial_sanitizers -fsanitize=${FLUVIAL_SANITIZE} -fno-omit-frame-pointer)
if(FLUVIAL_SANITIZE)
    add_link_options(-fsanitize=${FLUVIAL_SANITIZE})
    if(NOT FLUVIAL_SANITIZE_FLOORS)
        add_compile_options(${fluvial_sanitizers})
    endif()
endif()

# With FLUVIAL_SANITIZE_FLOORS: the sources of these floors have the sanitizers, and assertions. Those of
# others are compiled as ever, so that ccache has them from a build without.
function(fluvial_sanitize_floors target)
    if(NOT FLUVIAL_SANITIZE OR NOT FLUVIAL_SANITIZE_FLOORS)
        return()
    endif()
    list(JOIN FLUVIAL_SANITIZE_FLOORS "|" floors)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "/src/fluvial/(${floors})/")
    if(NOT sources)
        message(FATAL_ERROR "FLUVIAL_SANITIZE_FLOORS=${FLUVIAL_SANITIZE_FLOORS}: no source is on these floors")
    endif()
    foreach(source IN LISTS sources)
        # Behind what a source has of its own: inner loops at -O3 take minutes to compile with sanitizers.
        set_property(SOURCE ${source} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -O1 -g1
                                                                                ${fluvial_sanitizers})
        set_property(SOURCE ${source} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_DEFINITIONS
                                                                                FLUVIAL_ASSERTIONS=1)
    endforeach()
endfunction()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(FLUVIAL_CCACHE ccache)
    mark_as_advanced(FLUVIAL_CCACHE)
    if(FLUVIAL_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER "${FLUVIAL_CCACHE}")
        set(CMAKE_CXX_COMPILER_LAUNCHER "${FLUVIAL_CCACHE}")
    endif()
endif()
