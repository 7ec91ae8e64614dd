// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/trusted_user.hpp"
#include "fluvial/stage/contact.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr uid_t stranger = 2;

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/fluvial-published-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string file() const { return path_ / "melt.fluvial"; }
    std::string path() const { return path_; }
    void mode(mode_t mode) const { REQUIRE(::chmod(path_.c_str(), mode) == 0); }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), {}));
    }

  private:
    std::filesystem::path path_;
};

bool is_root() {
    if (::geteuid() == 0) {
        return true;
    }
    MESSAGE("not run: only root can act as another user");
    return false;
}

/// What `work` does in a process of its own: its exit code.
int in_child(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        int status = 99;
        try {
            status = work();
        } catch (const std::exception&) {
        }
        ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void plant(const std::string& path, uid_t owner, mode_t mode = 0666) {
    std::ofstream(path) << "planted";
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    REQUIRE(::chown(path.c_str(), owner, owner) == 0);
}

std::string content_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Writer and reader both refuse, with `why`.
void check_both_refuse(const Folder& folder, const std::string& why) {
    CAPTURE(why);
    CHECK_THROWS_WITH_AS(PublishedContact(folder.file(), new_contact()),
                         doctest::Contains(why.c_str()), Refused);
    CHECK_THROWS_WITH_AS(read_contact(folder.file()), doctest::Contains(why.c_str()), Refused);
}

}  // namespace

TEST_CASE("of many writers at one time one gets the name, whether a stale file is there or not") {
    constexpr int writers = 12;
    for (int round = 0; round < 4; ++round) {
        CAPTURE(round);
        const Folder folder;
        if (round % 2 == 1) {
            std::ofstream(folder.file()) << format_contact(new_contact());
        }
        int start[2];
        int results[2];
        int leave[2];
        REQUIRE((::pipe(start) == 0 && ::pipe(results) == 0 && ::pipe(leave) == 0));
        std::vector<pid_t> children;
        for (int i = 0; i < writers; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::close(start[1]);
                ::close(leave[1]);
                char byte = 0;
                (void)!::read(start[0], &byte, 1);  // until the parent closes it
                char result = 'E';
                try {
                    const PublishedContact published(folder.file(), new_contact());
                    result = 'W';
                    (void)!::write(results[1], &result, 1);
                    (void)!::read(leave[0], &byte, 1);
                    ::_exit(0);
                } catch (const InvalidArgument&) {
                    result = 'L';
                } catch (const Error&) {
                }
                (void)!::write(results[1], &result, 1);
                ::_exit(0);
            }
            children.push_back(child);
        }
        ::close(start[1]);
        int won = 0;
        int lost = 0;
        for (int i = 0; i < writers; ++i) {
            char result = 0;
            REQUIRE(::read(results[0], &result, 1) == 1);
            won += result == 'W' ? 1 : 0;
            lost += result == 'L' ? 1 : 0;
        }
        CHECK(won == 1);
        CHECK(lost == writers - 1);
        CHECK(read_contact(folder.file()).has_value());
        CHECK(folder.files() == 1);
        ::close(leave[1]);
        for (const pid_t child : children) {
            ::waitpid(child, nullptr, 0);
        }
        for (const int fd : {start[0], results[0], results[1], leave[0]}) {
            ::close(fd);
        }
    }
}

TEST_CASE("a file that another user planted is neither written nor read") {
    if (!is_root()) {
        return;
    }
    const Folder folder;
    folder.mode(01777);
    plant(folder.file(), stranger);
    check_both_refuse(folder, "the contact file belongs to another user");
    CHECK(content_of(folder.file()) == "planted");
    CHECK(folder.files() == 1);
}

TEST_CASE("a reader takes root's file, another's not, and none that others may write to") {
    if (!is_root()) {
        return;
    }
    const Folder folder;
    folder.mode(0711);
    const std::string content = format_contact(new_contact());
    const auto read_as_stranger = [&](uid_t owner, mode_t mode) {
        std::ofstream(folder.file(), std::ios::trunc) << content;
        REQUIRE(::chmod(folder.file().c_str(), mode) == 0);
        REQUIRE(::chown(folder.file().c_str(), owner, owner) == 0);
        return in_child([&] {
            if (::setgid(stranger) != 0 || ::setuid(stranger) != 0) {
                return 98;
            }
            try {
                return read_contact(folder.file()) ? 1 : 3;
            } catch (const Refused&) {
                return 2;
            }
        });
    };
    CHECK(read_as_stranger(0, 0644) == 1);
    CHECK(read_as_stranger(stranger, 0600) == 1);
    CHECK(read_as_stranger(3, 0644) == 2);
    CHECK(read_as_stranger(0, 0600) == 2);
    CHECK(read_as_stranger(0, 0666) == 2);
    CHECK(read_as_stranger(stranger, 0664) == 2);
}

TEST_CASE("what is no regular file is not opened: links, FIFOs, folders, sockets") {
    const Folder folder;
    REQUIRE(::mkfifo(folder.file().c_str(), 0600) == 0);
    check_both_refuse(folder, "a FIFO");
    std::filesystem::remove(folder.file());
    std::filesystem::create_directory(folder.file());
    check_both_refuse(folder, "a folder");
    std::filesystem::remove(folder.file());
    const std::string target = folder.path() + "/target";
    std::ofstream(target) << format_contact(new_contact());
    std::filesystem::create_symlink(target, folder.file());
    check_both_refuse(folder, "a symbolic link");
    CHECK(folder.files() == 2);
}

TEST_CASE("a folder that others may write to is refused, with what to do about it") {
    const Folder folder;
    folder.mode(0777);
    check_both_refuse(folder, "chmod go-w " + folder.path());
    folder.mode(01777);
    CHECK_NOTHROW(PublishedContact(folder.file(), new_contact()));
    if (!is_root()) {
        return;
    }
    REQUIRE(::chown(folder.path().c_str(), 0, 12345) == 0);
    folder.mode(0775);
    check_both_refuse(folder, "chmod g-w " + folder.path());
    check_both_refuse(folder, "(mode 0775)");
    check_both_refuse(folder, "FLUVIAL_DIRECTORY");
    folder.mode(0755);
    CHECK_NOTHROW(PublishedContact(folder.file(), new_contact()));
    REQUIRE(::chown(folder.path().c_str(), stranger, stranger) == 0);
    check_both_refuse(folder, "the folder of the contact file belongs to another user");
}

TEST_CASE("a folder of the user's private group is the user's, unless a list names others") {
    const Folder folder;
    if (!host::is_private_group(::getegid())) {
        MESSAGE("not run: this user has no group alone");
        return;
    }
    REQUIRE(::chown(folder.path().c_str(), static_cast<uid_t>(-1), ::getegid()) == 0);
    folder.mode(0775);
    CHECK_NOTHROW(PublishedContact(folder.file(), new_contact()));
    struct Entry {
        std::uint16_t tag, permissions;
        std::uint32_t id;
    };
    constexpr std::uint32_t none = 0xffffffff;
    struct {
        std::uint32_t version = 2;
        // The user, the user named `stranger`, the group, what all but the owner have at most,
        // others.
        Entry entries[5] = {
            {1, 7, none}, {2, 7, stranger}, {4, 5, none}, {16, 7, none}, {32, 5, none}};
    } const list;
    if (::setxattr(folder.path().c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0) {
        MESSAGE("not run: access lists cannot be set here");
        return;
    }
    check_both_refuse(folder, "others may write to the folder");
}

TEST_CASE("a full disk is an error that leaves nothing behind") {
    if (!is_root()) {
        return;
    }
    const Folder folder;
    const int status = in_child([&] {
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=4k,mode=700") != 0) {
            return 77;
        }
        std::ofstream(folder.path() + "/filler") << std::string(4096, 'x') << std::flush;
        try {
            const PublishedContact published(folder.file(), new_contact());
        } catch (const SystemError& error) {
            const bool said = std::string(error.what()).find("No space left") != std::string::npos;
            return said && folder.files() == 1 ? 0 : 2;
        }
        return 1;
    });
    if (status == 77) {
        MESSAGE("not run: no file system can be mounted here");
        return;
    }
    CHECK(status == 0);
}

TEST_CASE("without a free descriptor a living writer's file is not called stale") {
    const Folder folder;
    const PublishedContact published(folder.file(), new_contact());
    const int status = in_child([&] {
        const int next = ::open("/dev/null", O_RDONLY);
        int read = 0;
        int refused = 0;
        for (int more = 0; more < 8; ++more) {
            const rlimit limit{static_cast<rlim_t>(next + more), static_cast<rlim_t>(next + 8)};
            if (more == 0) {
                ::close(next);
            }
            if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
                return 98;
            }
            try {
                read += read_contact(folder.file()).has_value() ? 1 : 0;
            } catch (const StaleContact&) {
                return 1;
            } catch (const SystemError& error) {
                if (std::string(error.what()).find("ulimit -n") == std::string::npos) {
                    return 2;
                }
                ++refused;
            }
        }
        return read > 0 && refused > 1 && read + refused == 8 ? 0 : 3;
    });
    CHECK(status == 0);
}

TEST_CASE("the file goes with its writer only where it is still the writer's") {
    const Folder folder;
    {
        const PublishedContact published(folder.file(), new_contact());
        std::filesystem::remove(folder.file());
        std::ofstream(folder.file()) << "somebody else's";
    }
    CHECK(content_of(folder.file()) == "somebody else's");
}
