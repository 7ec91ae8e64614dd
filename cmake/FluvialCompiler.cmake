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

if(FLUVIAL_SANITIZE)
    add_compile_options(-fsanitize=${FLUVIAL_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${FLUVIAL_SANITIZE})
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(FLUVIAL_CCACHE ccache)
    mark_as_advanced(FLUVIAL_CCACHE)
    if(FLUVIAL_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER "${FLUVIAL_CCACHE}")
        set(CMAKE_CXX_COMPILER_LAUNCHER "${FLUVIAL_CCACHE}")
    endif()
endif()
