// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/engine.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/local_socket.hpp"

using namespace fluvial;
using namespace fluvial::progress;

namespace {

constexpr double long_s = 20;

/// What check_interrupt throws, for as long as this exists.
class Interrupting {
  public:
    explicit Interrupting(std::function<void()> check) { set_interrupt_check(std::move(check)); }
    ~Interrupting() { set_interrupt_check({}); }
    Interrupting(const Interrupting&) = delete;
    Interrupting& operator=(const Interrupting&) = delete;
};

void wait_for(const std::function<bool()>& done) {
    wait_until(done, Deadline(long_s), "the test did not go on");
}

}  // namespace

TEST_CASE("a wait serves what its thread has") {
    int turns = 0;
    const Served served([&] { return ++turns < 100; }, false);
    wait_for([&] { return turns >= 10; });
    CHECK(turns >= 10);
}

TEST_CASE("a process that waits for a place with a listener serves what its thread has") {
    const std::string address = text("fluvial-test-full-", ::getpid());
    const host::Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    address.copy(name.sun_path + 1, address.size());
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + address.size());
    REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0);
    REQUIRE(::listen(listener.get(), 0) == 0);
    const auto first = host::LocalSocket::connect(address, Deadline(long_s));
    REQUIRE(first);
    SUBCASE("until there is one") {
        int turns = 0;
        const Served served(
            [&] {
                if (++turns == 3) {
                    ::close(::accept(listener.get(), nullptr, nullptr));
                }
                return false;
            },
            false);
        CHECK(host::LocalSocket::connect(address, Deadline(long_s)));
        CHECK(turns >= 3);
    }
    SUBCASE("and may be interrupted") {
        const Interrupting interrupting([] { throw std::runtime_error("Ctrl-C"); });
        CHECK_THROWS_WITH(host::LocalSocket::connect(address, Deadline(long_s)), "Ctrl-C");
    }
}

TEST_CASE("what is served may wait, and then serves the others") {
    int first = 0;
    int second = 0;
    const Served one([&] { return ++first == 1 && (wait_for([&] { return second >= 3; }), true); },
                     false);
    const Served other([&] { return ++second < 3; }, false);
    wait_for([&] { return first > 1; });
    CHECK(second >= 3);
}

TEST_CASE("a turn of another language's wait serves for its time, and once where it has none") {
    int turns = 0;
    const Served served([&] { return ++turns, false; }, false);
    serve_for(0);
    CHECK(turns == 1);
    const std::int64_t begin_ns = now_ns();
    serve_for(0.05);
    CHECK(now_ns() - begin_ns >= 50'000'000);
    CHECK(turns > 10);
    const Setup setup;
    const int before = turns;
    serve_for(0.01);
    CHECK(turns == before);
}

TEST_CASE("Ctrl-C ends a turn that serves nothing") {
    const Interrupting interrupting([] { throw InvalidArgument("Ctrl-C"); });
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_WITH_AS(serve_for(long_s), "Ctrl-C", InvalidArgument);
    CHECK(now_ns() - begin_ns < std::int64_t{5'000'000'000});
}

TEST_CASE("during set-up nothing is served, and what it looks for ends a wait") {
    int turns = 0;
    const Served served([&] { return ++turns, false; }, false);
    double waited = 0;
    {
        const Setup outer([&](double waited_s) {
            waited = waited_s;
            if (waited_s > 0.15) {
                throw PeerLost("rank 7 is gone");
            }
        });
        const Setup inner;
        CHECK_FALSE(serves_others());
        CHECK_THROWS_WITH_AS(wait_for([] { return false; }), "rank 7 is gone", PeerLost);
    }
    CHECK(turns == 0);
    CHECK(waited > 0.15);
    CHECK(waited < long_s);
    CHECK(serves_others());
}

TEST_CASE("what a lookout looks for ends a wait, which serves meanwhile") {
    int turns = 0;
    const Served served([&] { return ++turns, false; }, false);
    {
        const Lookout lookout(time_limit(0.15, "no rank came"));
        CHECK(serves_others());
        CHECK_THROWS_WITH_AS(wait_for([] { return false; }), doctest::Contains("no rank came"),
                             TimedOut);
    }
    CHECK(turns > 0);
    CHECK_NOTHROW(wait_for([&, begin = now_ns()] { return now_ns() - begin > 200'000'000; }));
}

TEST_CASE("a wait of which nothing comes ends in time") {
    CHECK_THROWS_WITH_AS(
        wait_until([] { return false; }, Deadline(0.05), "the clock did not strike thirteen"),
        doctest::Contains("the clock did not strike thirteen in time"), TimedOut);
    const Setup setup(time_limit(0.05, "no rank came"));
    CHECK_THROWS_WITH_AS(wait_for([] { return false; }), doctest::Contains("no rank came in time"),
                         TimedOut);
}

TEST_CASE("what is served keeps its failure for itself") {
    int turns = 0;
    const Served served(
        [&]() -> bool {
            ++turns;
            throw std::runtime_error("kept by its verb");
        },
        false);
    CHECK_NOTHROW(wait_for([&] { return turns >= 3; }));
}

TEST_CASE("Ctrl-C ends a wait and those around it") {
    bool pressed = false;
    const Interrupting interrupting([&] {
        if (pressed) {
            pressed = false;  // it is told once
            throw std::runtime_error("Ctrl-C");
        }
    });
    bool inside = false;
    const Served served(
        [&] {
            if (!inside) {
                inside = true;
                pressed = true;
                wait_for([] { return false; });
            }
            return false;
        },
        false);
    CHECK_THROWS_WITH(wait_for([] { return false; }), "Ctrl-C");
}

TEST_CASE("Ctrl-C in a function that is served ends the waits around it") {
    struct Pressed : std::runtime_error, Interruption {
        using std::runtime_error::runtime_error;
    };
    int outer = 0;
    int inner = 0;
    bool broken_off = false;
    const Served first(
        [&] {
            if (++outer == 1) {
                try {
                    wait_for([] { return false; });  // serves the second
                } catch (const Pressed&) {
                    broken_off = true;
                    throw;
                }
            }
            return false;
        },
        false);
    const Served second(
        [&]() -> bool {
            if (++inner == 1) {
                throw Pressed("Ctrl-C");
            }
            return false;
        },
        false);
    CHECK_THROWS_WITH_AS(wait_for([] { return false; }), "Ctrl-C", Pressed);
    CHECK(broken_off);
    CHECK_NOTHROW(wait_for([&, before = outer] { return outer > before; }));  // it is told once
}

TEST_CASE("a thread serves what it was inside of last, alone") {
    std::atomic<std::thread::id> by;
    std::atomic<int> turns = 0;
    Served served(
        [&] {
            by = std::this_thread::get_id();
            return ++turns, false;
        },
        false);
    wait_for([&] { return turns > 0; });
    CHECK(by.load() == std::this_thread::get_id());

    std::atomic<bool> over = false;
    std::thread second([&] {
        {
            const Served::Inside inside(served);
        }
        const int before = turns;
        wait_for([&] { return turns > before; });
        over = true;
        wait_for([&] { return !over; });
    });
    wait_for([&] { return over.load(); });
    CHECK(by.load() == second.get_id());
    CHECK_FALSE(serves_others());
    over = false;
    second.join();
    {
        const Served::Inside inside(served);
    }
    CHECK(serves_others());
    CHECK_FALSE(serves_others(&served));
}

TEST_CASE("what has ended is not served, and its end waits for the thread that serves it") {
    std::atomic<bool> inside = false;
    std::atomic<bool> leave = false;
    std::atomic<bool> ended = false;
    std::atomic<int> turns = 0;
    std::atomic<Served*> shared = nullptr;
    std::thread other([&] {
        Served served(
            [&] {
                ++turns;
                inside = true;
                while (!leave) {
                    std::this_thread::yield();
                }
                return true;
            },
            false);
        shared = &served;
        wait_for([&] { return ended.load(); });
    });
    while (!inside) {
        std::this_thread::yield();
    }
    std::thread ender([&] {
        shared.load()->end();
        ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_FALSE(ended);
    leave = true;
    ender.join();
    other.join();
    CHECK(turns == 1);
}

TEST_CASE("a child by fork() serves nothing") {
    int turns = 0;
    Served served([&] { return ++turns, false; }, false);
    wait_for([&] { return turns > 0; });
    const pid_t child = fork();
    if (child == 0) {
        const int before = turns;
        const Deadline some_time(0.05);
        wait_for([&] { return some_time.passed(); });
        {
            const Served::Inside inside(served);
        }
        _exit(turns == before && !serves_others() ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
