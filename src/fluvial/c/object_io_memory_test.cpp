// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <malloc.h>

#include "fluvial/c/object_io_fixture.hpp"

using namespace fluvial::c;

namespace {

constexpr MPI_Offset length = 1 << 20;

SharedFile large_file() {
    using fluvial::store::ClassicFixture;
    ClassicFixture made{5};
    made.dimensions = {{"x", length}};
    made.variables = {{"v", {0}, fluvial::store::ClassicType::Float}};
    return SharedFile(made.build());
}

struct Seen {
    std::mutex mutex;
    std::set<std::thread::id> threads;
};

/// Slow, so that every thread gets something to do.
void note_thread(const double* const* in, double* out, size_t n, void* context) {
    std::memcpy(out, in[0], n * sizeof *out);
    auto& seen = *static_cast<Seen*>(context);
    {
        const std::lock_guard lock(seen.mutex);
        seen.threads.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

std::size_t threads_that_work(const SharedFile& shared, MPI_Info info) {
    fluvial_file* file = nullptr;
    REQUIRE(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), info, &file) == FLUVIAL_OK);
    fluvial_object_io io;
    REQUIRE(fluvial_object_io_init(&io, file, "v") == FLUVIAL_OK);
    Seen seen;
    io.map = note_thread;
    io.map_context = &seen;
    io.mode = FLUVIAL_INDEPENDENT;
    double sum = 0, expected = 0;
    REQUIRE(fluvial_object_get_vara_double(&io, MPI_SUM, &sum) == FLUVIAL_OK);
    for (MPI_Offset i = 0; i < length; ++i) {
        expected += fluvial::store::ClassicFixture::value(0, static_cast<std::uint64_t>(i));
    }
    CHECK(sum == expected);
    REQUIRE(fluvial_close(file) == FLUVIAL_OK);
    return seen.threads.size();
}

/// Of all elements, for all ranks; the file is open.
fluvial_object_io object_io_of(const SharedFile& shared) {
    fluvial_file* file = nullptr;
    REQUIRE(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), MPI_INFO_NULL, &file) ==
            FLUVIAL_OK);
    fluvial_object_io io;
    REQUIRE(fluvial_object_io_init(&io, file, "v") == FLUVIAL_OK);
    io.shuffle = FLUVIAL_COMMON;
    return io;
}

}  // namespace

TEST_CASE("the hint fluvial_memory bounds how many threads work") {
    const SharedFile shared = large_file();
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "fluvial_threads", "4");
    MPI_Info_set(info, "cb_buffer_size", "65536");
    CHECK(threads_that_work(shared, info) > 1);
    MPI_Info_set(info, "fluvial_memory", "65536");
    CHECK(threads_that_work(shared, info) == 1);
    for (const char* wrong : {"64MiB", "0", "-1"}) {
        CAPTURE(std::string(wrong));
        MPI_Info_set(info, "fluvial_memory", wrong);
        fluvial_file* other = nullptr;
        CHECK(fluvial_open(MPI_COMM_WORLD, shared.path().c_str(), info, &other) == FLUVIAL_EINVAL);
        CHECK(other == nullptr);
        CHECK(std::strstr(fluvial_last_message(), "fluvial_memory") != nullptr);
    }
    MPI_Info_free(&info);
}

TEST_CASE("object I/Os that are refused on all ranks leave nothing behind") {
    const SharedFile shared = large_file();
    fluvial_object_io io = object_io_of(shared);
    double result = 0;
    const auto refuse = [&](int times) {
        for (; times > 0; --times) {
            REQUIRE(fluvial_object_get(&io, "no such operator", 1, &result) == FLUVIAL_EINVAL);
        }
        return ::mallinfo2().uordblks;
    };
    const std::size_t before = refuse(100);
    constexpr int times = 1000;
    CHECK(refuse(times) < before + std::size_t{1000} * times);
    CHECK(fluvial_close(io.file) == FLUVIAL_OK);
}

TEST_CASE("a function that an object I/O calls cannot close the file") {
    const SharedFile shared = large_file();
    fluvial_object_io io = object_io_of(shared);
    struct Tried {
        fluvial_file* file;
        std::atomic<int> calls = 0, refused = 0;
    } tried{io.file};
    io.map_context = &tried;
    io.map = [](const double* const* in, double* out, size_t n, void* context) {
        std::memcpy(out, in[0], n * sizeof *out);
        auto& tries = *static_cast<Tried*>(context);
        ++tries.calls;
        tries.refused += fluvial_close(tries.file) == FLUVIAL_EINVAL ? 1 : 0;
    };
    double sum = 0;
    REQUIRE(fluvial_object_get_vara_double(&io, MPI_SUM, &sum) == FLUVIAL_OK);
    CHECK(tried.refused == tried.calls);
    int calls = tried.calls;
    MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(calls > 0);
    CHECK(fluvial_close(io.file) == FLUVIAL_OK);
}

TEST_CASE("no rank has a result where the place of one has another size") {
    const SharedFile shared = large_file();
    fluvial_object_io io = object_io_of(shared);
    double results[2] = {-1, -1};
    const std::size_t size = shared.rank() == 0 ? 2 : 1;
    CHECK(fluvial_object_get(&io, "mean", size, results) == FLUVIAL_EINVAL);
    CHECK(results[0] == -1);
    CHECK(fluvial_object_get(&io, "mean", 1, results) == FLUVIAL_OK);
    CHECK(results[0] != -1);
    CHECK(fluvial_close(io.file) == FLUVIAL_OK);
}
