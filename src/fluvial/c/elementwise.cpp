// SPDX-License-Identifier: Apache-2.0
/// Functions that stand for an MPI_Op. C has no closures: there is a table of functions, each with
/// a place for the operation that it calls.
#include <array>
#include <mutex>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/c/boundary.hpp"
#include "fluvial/c/stream_operation.hpp"
#include "fluvial/mpi/local_operation.hpp"

namespace fluvial::c {
namespace {

constexpr std::size_t places = 64;

std::mutex mutex;
std::array<MPI_Op, places> operations;
std::size_t taken = 0;

/// Called by MPI programs alone: streams know their operation.
template <std::size_t place>
void call(void* in, void* inout, int* length, MPI_Datatype* type) {
    guarded([&] { mpi::reduce_local(in, inout, *length, *type, operations[place]); });
}

template <std::size_t... place>
constexpr std::array<MPI_User_function*, places> functions_of(std::index_sequence<place...>) {
    return {&call<place>...};
}

const std::array<MPI_User_function*, places> functions =
    functions_of(std::make_index_sequence<places>());

}  // namespace

MPI_Op elementwise_op(MPI_User_function* function) {
    const std::lock_guard lock(mutex);
    for (std::size_t place = 0; place < taken; ++place) {
        if (functions[place] == function) {
            return operations[place];
        }
    }
    return MPI_OP_NULL;
}

}  // namespace fluvial::c

MPI_User_function* MPIStream_Elementwise(MPI_Op op) {
    using namespace fluvial;
    MPI_User_function* function = nullptr;
    c::guarded([&] {
        if (op == MPI_OP_NULL) {
            throw InvalidArgument(Problem{"no operation", "MPI_OP_NULL", "MPI_SUM and so on", ""});
        }
        const std::lock_guard lock(c::mutex);
        std::size_t place = 0;
        while (place < c::taken && c::operations[place] != op) {
            ++place;
        }
        if (place == c::places) {
            throw InvalidArgument(Problem{"too many different operations", text(place + 1),
                                          text(c::places), "Write an intermediate function"});
        }
        c::operations[place] = op;
        c::taken = std::max(c::taken, place + 1);
        function = c::functions[place];
    });
    return function;
}
