// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/retained_steps.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

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

TEST_CASE("a reader that looks while writers come and go never takes one for dead") {
    const Folder folder;
    std::atomic<bool> over = false;
    int found = 0;
    std::string error;
    std::thread reader([&] {
        try {
            while (!over) {
                found += open_retained("run", folder.options).has_value() ? 1 : 0;
            }
        } catch (const Error& thrown) {
            error = thrown.what();
        }
    });
    for (int run = 0; run < 2000; ++run) {
        try {
            const host::Descriptor lock = lock_retained(folder.steps());
            const StepLog log = StepLog::create(folder.steps(), {"run", {0}});
            log.remove();
        } catch (const InvalidArgument&) {  // the reader looks at the lock
        }
    }
    over = true;
    reader.join();
    CHECK(found == 0);
    CHECK(error == "");
}
