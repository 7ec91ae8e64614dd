# SPDX-License-Identifier: Apache-2.0
# What the library links: threads, and by its options MPI 3.1 or later with libsodium and OpenSSL, HDF5, libdeflate,
# zstd; Python and nanobind when asked for.

if(FLUVIAL_PYTHON)
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
elseif(FLUVIAL_TESTS)
    # The tests run under the project's own launcher, python/fluvial/launch.
    find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
endif()

if(FLUVIAL_MPI)
    include(FluvialMPI)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
if(FLUVIAL_MPI OR FLUVIAL_DEFLATE OR FLUVIAL_ZSTD)
    find_package(PkgConfig REQUIRED)
endif()
if(FLUVIAL_MPI)
    pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium>=1.0.12)
endif()
set(FLUVIAL_WITH_OPENSSL OFF)
if(FLUVIAL_MPI AND NOT FLUVIAL_OPENSSL STREQUAL "OFF")
    pkg_check_modules(crypto QUIET IMPORTED_TARGET libcrypto>=1.1.1)
    if(crypto_FOUND)
        set(FLUVIAL_WITH_OPENSSL ON)
    elseif(NOT FLUVIAL_OPENSSL STREQUAL "AUTO")
        message(FATAL_ERROR "FLUVIAL_OPENSSL=${FLUVIAL_OPENSSL}: OpenSSL's libcrypto is not here; install it (Debian: "
                            "libssl-dev), or set FLUVIAL_OPENSSL=AUTO or OFF")
    endif()
endif()
if(FLUVIAL_DEFLATE)
    pkg_check_modules(deflate REQUIRED IMPORTED_TARGET libdeflate)
endif()
if(FLUVIAL_ZSTD)
    pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
endif()
set(FLUVIAL_WITH_BLOSC OFF)
if(NOT FLUVIAL_BLOSC STREQUAL "OFF")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(blosc QUIET IMPORTED_TARGET blosc>=1.16)
    endif()
    if(blosc_FOUND)
        set(FLUVIAL_WITH_BLOSC ON)
    elseif(NOT FLUVIAL_BLOSC STREQUAL "AUTO")
        message(FATAL_ERROR "FLUVIAL_BLOSC=${FLUVIAL_BLOSC}: c-blosc is not here; install it (Debian: libblosc-dev), or "
                            "set FLUVIAL_BLOSC=AUTO or OFF")
    endif()
endif()
if(FLUVIAL_HDF5)
    # The serial library is enough: it reads metadata, and every rank reads its own bytes.
    set(HDF5_PREFER_PARALLEL OFF)
    find_package(HDF5 1.10.5 REQUIRED COMPONENTS C)
endif()

# libfabric itself is loaded at run time, so that a site's own is used.
set(FLUVIAL_WITH_LIBFABRIC OFF)
if(FLUVIAL_MPI AND NOT FLUVIAL_LIBFABRIC STREQUAL "OFF")
    find_path(FLUVIAL_LIBFABRIC_INCLUDE rdma/fi_rma.h)
    if(FLUVIAL_LIBFABRIC_INCLUDE)
        set(FLUVIAL_WITH_LIBFABRIC ON)
    elseif(NOT FLUVIAL_LIBFABRIC STREQUAL "AUTO")
        message(FATAL_ERROR "FLUVIAL_LIBFABRIC=${FLUVIAL_LIBFABRIC}: libfabric's headers are not here; install them "
                            "(Debian: libfabric-dev), or set FLUVIAL_LIBFABRIC=AUTO or OFF")
    endif()
endif()

# Headers alone, of which only options of job scripts have need.
set(FLUVIAL_WITH_TOML OFF)
if(FLUVIAL_MPI AND NOT FLUVIAL_TOML STREQUAL "OFF")
    find_path(FLUVIAL_TOML_INCLUDE toml++/toml.h)
    if(FLUVIAL_TOML_INCLUDE)
        set(FLUVIAL_WITH_TOML ON)
    elseif(NOT FLUVIAL_TOML STREQUAL "AUTO")
        message(FATAL_ERROR "FLUVIAL_TOML=${FLUVIAL_TOML}: toml++ is not here; install it (Debian: libtomlplusplus-dev), "
                            "or set FLUVIAL_TOML=AUTO or OFF")
    endif()
endif()
