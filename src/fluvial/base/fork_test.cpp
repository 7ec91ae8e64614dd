// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/fork.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

namespace {

/// What `work` returns in a child, 0 to 255.
template <class Work>
int in_child(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(work());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

struct Counted {
    explicit Counted(int& ends) : ends_(ends) {}
    ~Counted() { ++ends_; }
    int& ends_;
};

}  // namespace

TEST_CASE("an object knows whether a child inherited it") {
    const MadeHere made;
    CHECK_FALSE(made.inherited());
    made.check("the thing");
    CHECK(in_child([&] { return made.inherited() ? 7 : 0; }) == 7);
    CHECK(in_child([] { return MadeHere().inherited() ? 7 : 0; }) == 0);
    CHECK_FALSE(made.inherited());
}

TEST_CASE("a child's child has inherited, too, what was made in between") {
    const int status = in_child([] {
        const MadeHere made;
        return in_child([&] { return made.inherited() ? 7 : 0; });
    });
    CHECK(status == 7);
}

TEST_CASE("the error names both processes") {
    const MadeHere made;
    CHECK(in_child([&] {
              try {
                  made.check("the thing");
              } catch (const InvalidArgument& error) {
                  const std::string what = error.what();
                  const bool named = what.find("the thing belongs to another process") == 0 &&
                                     what.find(text(::getpid())) != std::string::npos &&
                                     what.find(text(::getppid())) != std::string::npos;
                  return named ? 7 : 1;
              }
              return 0;
          }) == 7);
}

TEST_CASE("what another process made is not ended by a child") {
    int ends = 0;
    auto shared = make_shared_where_made<Counted>(ends);
    UniqueWhereMade<Counted> unique(new Counted(ends));
    CHECK(in_child([&] {
              shared.reset();
              unique.reset();
              UniqueWhereMade<Counted>(new Counted(ends)).reset();
              return ends;
          }) == 1);
    shared.reset();
    unique.reset();
    CHECK(ends == 2);
}

TEST_CASE("hooks are called in children alone, while they exist") {
    int calls = 0;
    std::optional<ForkHook> hook(std::in_place, [&] { ++calls; });
    CHECK(in_child([&] { return calls + (hook->called() ? 10 : 0); }) == 11);
    CHECK(in_child([&] {  // a child's child is not its grandparent's business
              hook.reset();
              return in_child([&] { return calls; });
          }) == 1);
    CHECK(calls == 0);
    CHECK_FALSE(hook->called());
    hook.reset();
    CHECK(in_child([&] { return calls; }) == 0);
}

TEST_CASE("no thread forks during a pause") {
    std::atomic<bool> paused = false;
    std::atomic<bool> over = false;
    std::thread other([&] {
        const ForkPause pause;
        const ForkPause nested;
        paused = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        over = true;
    });
    while (!paused) {
        std::this_thread::yield();
    }
    CHECK(in_child([&] {
              const ForkPause pause;  // the child's own, whichever thread had the parent's
              return over ? 7 : 0;
          }) == 7);
    other.join();
}
