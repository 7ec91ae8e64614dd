# SPDX-License-Identifier: Apache-2.0
# install rules: library and headers (component `cpp`), Python package (component `python`).

include(CMakePackageConfigHelpers)
include(FluvialHeaders)

# Those of the floors that are built.
list(JOIN fluvial_floors "|" fluvial_built)
list(FILTER fluvial_public_headers INCLUDE REGEX "^(${fluvial_built})[./]")

set(fluvial_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Fluvial")

install(TARGETS fluvial EXPORT FluvialTargets COMPONENT cpp)
install(CODE "set(source \"${CMAKE_CURRENT_SOURCE_DIR}/src/fluvial\")
              set(destination \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/fluvial\")
              set(public_headers ${fluvial_public_headers})" COMPONENT cpp)
install(SCRIPT cmake/install_headers.cmake COMPONENT cpp)
if(FLUVIAL_MPI)
    # The name that programs written for the paper's library include.
    install(FILES src/fluvial/c/MPIStream.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp)
endif()
install(EXPORT FluvialTargets NAMESPACE Fluvial:: DESTINATION "${fluvial_cmake_dir}" COMPONENT cpp)

# What a static library links, by the names of pkg-config.
set(fluvial_pc_libraries)
if(FLUVIAL_MPI)
    list(APPEND fluvial_pc_libraries libsodium)
endif()
if(FLUVIAL_WITH_OPENSSL)
    list(APPEND fluvial_pc_libraries libcrypto)
endif()
if(FLUVIAL_DEFLATE)
    list(APPEND fluvial_pc_libraries libdeflate)
endif()
if(FLUVIAL_ZSTD)
    list(APPEND fluvial_pc_libraries libzstd)
endif()
if(FLUVIAL_WITH_BLOSC)
    list(APPEND fluvial_pc_libraries blosc)
endif()
list(JOIN fluvial_pc_libraries " " fluvial_pc_libraries)

configure_package_config_file(cmake/FluvialConfig.cmake.in FluvialConfig.cmake
                              INSTALL_DESTINATION "${fluvial_cmake_dir}")
write_basic_package_version_file(FluvialConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
    FILES "${CMAKE_CURRENT_BINARY_DIR}/FluvialConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/FluvialConfigVersion.cmake"
    DESTINATION "${fluvial_cmake_dir}"
    COMPONENT cpp)

if(FLUVIAL_MPI)
    # fluvial.pc names MPI's own include and link flags: not every MPI ships a .pc file.
    list(TRANSFORM MPI_C_INCLUDE_DIRS PREPEND "-I" OUTPUT_VARIABLE fluvial_pc_mpi_cflags)
    list(JOIN fluvial_pc_mpi_cflags " " fluvial_pc_mpi_cflags)
    string(APPEND fluvial_pc_mpi_cflags " -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX")
    list(JOIN MPI_C_LIBRARIES " " fluvial_pc_mpi_libs)
    set(fluvial_pc_mpi_libs "${MPI_C_LINK_FLAGS} ${fluvial_pc_mpi_libs}")
endif()
if(FLUVIAL_HDF5)
    list(JOIN HDF5_C_LIBRARIES " " fluvial_pc_hdf5_libs)
endif()
configure_file(cmake/fluvial.pc.in fluvial.pc @ONLY)
install(
    FILES "${CMAKE_CURRENT_BINARY_DIR}/fluvial.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT cpp)
