// SPDX-License-Identifier: Apache-2.0
// What is called after MPI_Finalize is an error, and does not end the process. A program of its
// own, because MPI ends once.
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "fluvial/mpi/after_finalize_fixture.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;
using mpi::refused;

namespace {

/// What is begun before `finalize`, and called afterwards.
void check(Channel& channel, const std::function<void()>& finalize) {
    StreamOptions options = whole_numbers();
    options.result_on_producers = true;
    options.buffer_bytes = 1 << 16;
    std::vector<std::int64_t> many(1 << 20);
    Stream stream(channel, options, make_callback([](const Batch&) {}));
    Stream taken(channel, options);
    Stream ending(channel, options);
    auto over = ThresholdCollective::sum_over(channel, 1);
    Pending pending;
    if (produces(channel.role())) {
        stream.put(std::int64_t{1});
        taken.put(std::int64_t{1});
        pending = taken.isend(many.data(), 1 << 20);
        ending.isend(many.data(), 1 << 20);
        ending.iterminate();
    }
    finalize();
    refused("Channel::progress", [&] { channel.progress(); });
    refused("Stream", [&] { Stream(channel, options); });
    refused("sum_over", [&] { ThresholdCollective::sum_over(channel, 1); });
    refused("result", [&] { stream.result(); });
    if (produces(channel.role())) {
        refused("put", [&] {
            for (int i = 0; i < 1 << 20; ++i) {  // into shared memory, as long as there is room
                stream.put(std::int64_t{1});
            }
        });
        refused("send", [&] { stream.send(many.data(), 1 << 20); });
        refused("isend", [&] { taken.isend(many.data(), 1 << 20); });
        refused("reserve", [&] { taken.reserve(); });
        refused("flush", [&] { taken.flush(); });
        refused("terminate", [&] { stream.terminate(); });
        refused("iterminate", [&] { ending.iterminate(); });
        refused("Pending::test", [&] { pending.test(); });
        refused("Pending::wait", [&] { pending.wait(); });
        refused("query", [&] { stream.query(); });
        refused("contribute", [&] { over.contribute(1.0); });
    }
    if (consumes(channel.role())) {
        refused("operate", [&] { stream.operate(); });
        refused("operate_some", [&] { stream.operate_some(); });
        refused("next", [&] { taken.next(); });
        refused("try_next", [&] { taken.try_next(); });
    }
    stream.statistics();
    refused("close", [&] { channel.close(); });
}

}  // namespace

int main(int argc, char** argv) {
    int level = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    const Role role = halves();
    Channel channel = world_channel(role);
    Channel alone(mpi::Comm(), Role::Both);
    Channel by_messages = world_channel(role, {.shared_memory = false});
    world().abandon();
    check(channel, [&] { check(by_messages, [] { MPI_Finalize(); }); });
    // A channel without MPI goes on.
    std::int64_t sum = 0;
    Stream stream(alone, whole_numbers(),
                  make_elements<std::int64_t>([&](std::int64_t n) { sum += n; }));
    stream.put(std::int64_t{7});
    alone.close();
    return mpi::not_refused == 0 && sum == 7 ? EXIT_SUCCESS : EXIT_FAILURE;
}
