// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/trusted_user.hpp"

#include <functional>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

namespace {

int in_child(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("this process's own user is trusted, and root, and no other user") {
    const uid_t self = ::geteuid();
    CHECK(host::is_trusted_user(self));
    CHECK(host::is_trusted_user(0));
    CHECK_FALSE(host::is_trusted_user(self + 1));
    CHECK_FALSE(host::is_trusted_user(static_cast<uid_t>(-1)));
}

TEST_CASE("root trusts root alone; others trust themselves and root") {
    if (::geteuid() != 0) {
        MESSAGE("not run: only root can become another user");
        return;
    }
    CHECK_FALSE(host::is_trusted_user(2));
    CHECK(host::trusted_users() == "root");
    const auto as = [](uid_t user) {
        return in_child([user] {
            const bool good = ::setuid(user) == 0 && host::is_trusted_user(user) &&
                              host::is_trusted_user(0) && !host::is_trusted_user(user + 1);
            return good && host::trusted_users() == host::user_name(user) + " or root" ? 0 : 1;
        });
    };
    CHECK(as(2) == 0);
    CHECK(as(12'321) == 0);
    CHECK(as(65'534) == 0);  // a user like others, where it is one
}

TEST_CASE("the number that stands for all users without one in a user namespace is not trusted") {
    const int status = in_child([] {
        if (::unshare(CLONE_NEWUSER) != 0) {
            return 77;
        }
        return host::is_trusted_user(::geteuid()) ? 1 : 0;
    });
    if (status == 77) {
        MESSAGE("not run: user namespaces cannot be made here");
        return;
    }
    CHECK(status == 0);
}

TEST_CASE("a user without a name has a number") {
    CHECK(host::user_name(3'999'999) == "uid 3999999");
    CHECK(host::user_name(0) == "root (uid 0)");
}
