// SPDX-License-Identifier: Apache-2.0
// A program that ends MPI while a stream is open. The flusher must be gone by then: no thread may
// call MPI afterwards. A program of its own, because MPI ends once.
#include <cstdio>
#include <cstdlib>

#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    const bool produces = world_rank() == 0;
    auto* const channel = new Channel(
        world_channel(produces ? Role::Producer : Role::Consumer, {.shared_memory = false}));
    // Never destroyed: as by a program that forgets it, or keeps it in a global.
    auto* const stream = new Stream(*channel, {.element = Element::of(DType::Int64)},
                                    make_callback([](const Batch&) {}));
    if (produces) {
        stream->put(std::int64_t{1});
    }
    const int before = flushers();
    world().abandon();
    MPI_Finalize();
    const int after = flushers();
    const bool threads = level == MPI_THREAD_MULTIPLE;
    if (before == (produces && threads ? 1 : 0) && after == 0) {
        return EXIT_SUCCESS;
    }
    std::fprintf(stderr, "flushers: %d before MPI_Finalize, %d after it\n", before, after);
    return EXIT_FAILURE;
}
