# SPDX-License-Identifier: Apache-2.0
# The MPI that the library is built with, and its mpiexec.

# FindMPI looks for mpicc on PATH; where there is none, the mpicc that PyPI's mpich wheel puts beside
# the interpreter is taken, so that `pip install mpich fluvial` needs no MPI on the system.
if(NOT MPI_C_COMPILER)
    find_program(FLUVIAL_MPICC NAMES mpicc)
    if(NOT FLUVIAL_MPICC AND Python_EXECUTABLE)
        execute_process(
            COMMAND "${Python_EXECUTABLE}" -c "import sysconfig; print(sysconfig.get_path('scripts'))"
            OUTPUT_VARIABLE FLUVIAL_SCRIPTS
            OUTPUT_STRIP_TRAILING_WHITESPACE)
        find_program(FLUVIAL_MPICC NAMES mpicc PATHS "${FLUVIAL_SCRIPTS}" NO_DEFAULT_PATH)
    endif()
    if(FLUVIAL_MPICC)
        set(MPI_C_COMPILER "${FLUVIAL_MPICC}" CACHE FILEPATH "MPI compiler wrapper for C")
    endif()
    unset(FLUVIAL_MPICC CACHE)
endif()
# mpiexec must belong to the same MPI as mpicc, which stands beside it under the same suffix.
if(MPI_C_COMPILER AND NOT MPIEXEC_EXECUTABLE)
    get_filename_component(FLUVIAL_MPI_BIN "${MPI_C_COMPILER}" DIRECTORY)
    get_filename_component(FLUVIAL_MPI_NAME "${MPI_C_COMPILER}" NAME)
    string(REGEX REPLACE "^mpicc" "mpiexec" FLUVIAL_MPI_NAME "${FLUVIAL_MPI_NAME}")
    find_program(MPIEXEC_EXECUTABLE NAMES ${FLUVIAL_MPI_NAME} PATHS "${FLUVIAL_MPI_BIN}" NO_DEFAULT_PATH)
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI 3.1 REQUIRED COMPONENTS C)
