// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/retained_steps.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// Where a writer of the stream "run" retains its steps.
struct Folder {
    Folder()
        : path(std::filesystem::temp_directory_path() / text("fluvial_retained_", ::getpid())) {
        std::filesystem::remove_all(path);
        std::filesystem::create_directory(path);
        options.directory = path.string();
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string steps() const { return folder_of_steps("run", options); }
    std::filesystem::path path;
    ReaderOptions options;
};

/// No file of this process gets any bytes, as on a full disk.
class FullDisk {
  public:
    FullDisk() : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit nothing{0, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &nothing);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, signal_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

  private:
    void (*signal_)(int);
    rlimit before_{};
};

/// Threads that do nothing but look, and what of it is wrong.
class Looking {
  public:
    Looking(const std::function<int()>& look, std::atomic<int>& wrong) {
        for (int i = 0; i < 3; ++i) {
            threads_.emplace_back([this, look, &wrong] {
                while (!over_) {
                    try {
                        wrong += look();
                    } catch (const Error&) {
                        ++wrong;
                    }
                }
            });
        }
    }
    ~Looking() {
        over_ = true;
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;

  private:
    std::atomic<bool> over_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("steps are those of a writer that has ended") {
    const Folder folder;
    CHECK_FALSE(open_retained("run", folder.options).has_value());
    std::optional<host::Descriptor> lock = lock_retained(folder.steps());
    StepLog::create(folder.steps(), {"run", {0}});
    CHECK_FALSE(open_retained("run", folder.options).has_value());
    CHECK(is_retained("run", folder.options));
    lock.reset();
    CHECK(open_retained("run", folder.options).has_value());
    CHECK(is_retained("run", folder.options));
}

TEST_CASE("what is not whole yet of a living writer's steps is no damage") {
    const Folder folder;
    std::optional<host::Descriptor> lock = lock_retained(folder.steps());
    std::ofstream(folder.steps() + "/steps").close();
    std::ofstream(folder.steps() + "/data").close();
    CHECK_FALSE(open_retained("run", folder.options).has_value());
    lock.reset();
    CHECK_THROWS_AS(open_retained("run", folder.options), DamagedFile);
}

TEST_CASE("where the head finds no room, no steps are left behind") {
    const Folder folder;
    const host::Descriptor lock = lock_retained(folder.steps());
    {
        const FullDisk full;
        CHECK_THROWS_WITH_AS(StepLog::create(folder.steps(), {"run", {0}}),
                             doctest::Contains("it is full"), SystemError);
    }
    CHECK_FALSE(StepLog::open(folder.steps()).has_value());
    CHECK_NOTHROW(StepLog::create(folder.steps(), {"run", {0}}));
    CHECK(StepLog::open(folder.steps())->head().name == "run");
}

TEST_CASE("readers that look while writers come and go take none for dead") {
    const Folder folder;
    std::atomic<int> wrong = 0;
    {
        const Looking readers([&] { return open_retained("run", folder.options) ? 1 : 0; }, wrong);
        for (int run = 0; run < 500; ++run) {
            const host::Descriptor lock = lock_retained(folder.steps());
            const StepLog log = StepLog::create(folder.steps(), {"run", {0}});
            log.remove();
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("readers that look keep no writer out, and do not disturb each other") {
    const Folder folder;
    std::atomic<int> wrong = 0;
    SUBCASE("for a living writer") {
        const Looking readers(
            [&] {
                is_being_retained(folder.steps());
                return 0;
            },
            wrong);
        for (int run = 0; run < 10'000; ++run) {
            CHECK_NOTHROW(lock_retained(folder.steps()));
        }
    }
    SUBCASE("for steps of one that has ended") {
        lock_retained(folder.steps());
        StepLog::create(folder.steps(), {"run", {0}});
        const Looking readers([&] { return open_retained("run", folder.options) ? 0 : 1; }, wrong);
        for (int look = 0; look < 2000; ++look) {
            CHECK(open_retained("run", folder.options).has_value());
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("steps are being retained as long as a rank of the writer lives") {
    const Folder folder;
    std::optional<host::Descriptor> first = lock_retained(folder.steps());
    std::optional<host::Descriptor> second = share_retained(folder.steps());
    CHECK_THROWS_AS(lock_retained(folder.steps()), InvalidArgument);
    first.reset();
    CHECK(is_being_retained(folder.steps()));
    CHECK_THROWS_AS(lock_retained(folder.steps()), InvalidArgument);
    second.reset();
    CHECK_FALSE(is_being_retained(folder.steps()));
    CHECK_NOTHROW(lock_retained(folder.steps()));
}
