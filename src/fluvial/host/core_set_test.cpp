// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/core_set.hpp"

#include <atomic>

#include <doctest/doctest.h>
#include <pthread.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::host;

TEST_CASE("cores by their numbers") {
    const cpu_set_t some = cores_of("CORES", "0-2,5");
    CHECK(CPU_COUNT(&some) == 4);
    CHECK(CPU_ISSET(5, &some));
    CHECK(!CPU_ISSET(3, &some));
    const cpu_set_t any = cores_of("CORES", "any");
    CHECK(CPU_COUNT(&any) == CPU_SETSIZE);
    for (const char* bad : {"", "x", "-1", "1-", "3-1", "1,,2", "1 2", "1.5", "0-99999", "1024"}) {
        CHECK_THROWS_WITH_AS(cores_of("CORES", bad), doctest::Contains("CORES names no cores"),
                             InvalidArgument);
    }
}

TEST_CASE("a thread runs where the user wants it") {
    cpu_set_t own;
    REQUIRE(::sched_getaffinity(0, sizeof own, &own) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &own)) {
        ++first;
    }
    std::atomic<bool> stop = false;
    std::thread thread([&] { stop.wait(false); });
    run_on(thread, "CORES", text(first));
    cpu_set_t now;
    REQUIRE(::pthread_getaffinity_np(thread.native_handle(), sizeof now, &now) == 0);
    CHECK(CPU_COUNT(&now) == 1);
    CHECK(CPU_ISSET(first, &now));
    CHECK_THROWS_WITH_AS(run_on(thread, "CORES", "1023"),
                         doctest::Contains("that this process may use"), InvalidArgument);
    run_on(thread, "CORES", "any");
    REQUIRE(::pthread_getaffinity_np(thread.native_handle(), sizeof now, &now) == 0);
    CHECK(CPU_COUNT(&now) >= CPU_COUNT(&own));
    cpu_set_t taken = cores_of_this_process();
    CHECK(!run_beside(thread, taken));
    REQUIRE(::pthread_getaffinity_np(thread.native_handle(), sizeof now, &now) == 0);
    CHECK(CPU_COUNT(&now) >= CPU_COUNT(&own));
    if (CPU_COUNT(&own) > 1) {
        CPU_ZERO(&taken);
        CPU_SET(first, &taken);
        CHECK(run_beside(thread, taken));
        REQUIRE(::pthread_getaffinity_np(thread.native_handle(), sizeof now, &now) == 0);
        CHECK(!CPU_ISSET(first, &now));
        CHECK(CPU_COUNT(&now) >= CPU_COUNT(&own) - 1);
    }
    stop = true;
    stop.notify_all();
    thread.join();
}
