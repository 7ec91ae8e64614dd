# SPDX-License-Identifier: Apache-2.0
# The headers that programs include; docs/reference/cpp describes them. They are installed with what they
# include themselves, by install_headers.cmake, and nothing else is: no header of a test, none that only the
# library needs.
set(fluvial_public_headers
    # One for each verb, which includes what programs of it need.
    compute.hpp
    distribute.hpp
    scan.hpp
    stage.hpp
    stream.hpp
    # Beside them, for programs that include less, or more.
    base/clock.hpp
    base/error.hpp
    c/MPIStream.h
    c/fluvial.h
    compute/apply.hpp
    compute/operator.hpp
    compute/operators/mpi_function.hpp
    compute/operators/structure_factor.hpp
    compute/reduction.hpp
    compute/registry.hpp
    compute/run.hpp
    compute/state.hpp
    compute/sums.hpp
    describe/array_view.hpp
    describe/attribute.hpp
    describe/coordinates.hpp
    describe/dtype.hpp
    describe/region.hpp
    describe/selection.hpp
    distribute/metrics.hpp
    distribute/place.hpp
    distribute/registry.hpp
    distribute/strategy.hpp
    mpi/agree.hpp
    mpi/comm.hpp
    mpi/datatype.hpp
    mpi/environment.hpp
    mpi/request.hpp
    mpi/tree_merge.hpp
    scan/decoding.hpp
    scan/request.hpp
    scan/scan.hpp
    scan/variable.hpp
    stage/options.hpp
    stage/reader.hpp
    stage/reduce.hpp
    stage/share.hpp
    stage/writer.hpp
    store/file.hpp
    store/formats.hpp
    store/input_file.hpp
    store/iterations.hpp
    store/layout.hpp
    store/raw.hpp
    stream/association.hpp
    stream/channel.hpp
    stream/element.hpp
    stream/inquiry.hpp
    stream/operation.hpp
    stream/outcome.hpp
    stream/pending.hpp
    stream/statistics.hpp
    stream/stream.hpp
    stream/threshold.hpp
    stream/threshold_collective.hpp)
