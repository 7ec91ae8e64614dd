# SPDX-License-Identifier: Apache-2.0
# Run by `cmake --install`: the headers `public_headers` of the folder `source`, and those that they include,
# into `destination`. A header there that is not among them was left by an earlier version, and goes.
cmake_policy(VERSION 3.25)

set(found)
set(left ${public_headers})
while(left)
    list(POP_FRONT left header)
    if(header IN_LIST found)
        continue()
    endif()
    list(APPEND found "${header}")
    file(STRINGS "${source}/${header}" lines REGEX "^#include [<\"]fluvial/")
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include [<\"]fluvial/([^>\"]*).*$" "\\1" included "${line}")
        list(APPEND left "${included}")
    endforeach()
    get_filename_component(folder "${header}" DIRECTORY)
    file(INSTALL "${source}/${header}" DESTINATION "${destination}/${folder}")
endwhile()

file(GLOB_RECURSE installed RELATIVE "$ENV{DESTDIR}${destination}" "$ENV{DESTDIR}${destination}/*")
list(REMOVE_ITEM installed ${found})
foreach(header IN LISTS installed)
    file(REMOVE "$ENV{DESTDIR}${destination}/${header}")
endforeach()
