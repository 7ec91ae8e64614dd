// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/trusted_user.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <vector>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::host {
namespace {

constexpr std::size_t entry_bytes = 1 << 16;

struct Account {
    std::string name;  ///< empty: the system knows none of this id
    gid_t group = 0;
};

Account account_of(uid_t uid) {
    std::vector<char> buffer(entry_bytes);
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
        return {};
    }
    return {found->pw_name, found->pw_gid};
}

uid_t overflow_uid() {
    std::ifstream in("/proc/sys/kernel/overflowuid");
    uid_t uid = 65534;  // the kernel's default
    in >> uid;
    return uid;
}

/// True when a user has `uid` in this user namespace. False where the map cannot be read.
bool has_id_here(uid_t uid) {
    std::ifstream map("/proc/self/uid_map");
    std::int64_t first = 0;
    std::int64_t outside = 0;
    std::int64_t count = 0;
    while (map >> first >> outside >> count) {
        if (uid >= first && uid - first < count) {
            return true;
        }
    }
    return false;
}

bool has_one_member(gid_t group, const Account& user) {
    if (user.name.empty() || user.group != group) {
        return false;
    }
    std::vector<char> buffer(entry_bytes);
    struct group entry{};
    struct group* found = nullptr;
    if (::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found) != 0 ||
        found == nullptr || user.name != found->gr_name) {
        return false;
    }
    char** end = found->gr_mem;
    while (*end != nullptr) {
        ++end;
    }
    return std::all_of(found->gr_mem, end, [&](const char* member) { return user.name == member; });
}

}  // namespace

bool is_trusted_user(uid_t uid) {
    if (uid != ::geteuid() && uid != 0) {
        return false;
    }
    return uid != overflow_uid() || has_id_here(uid);
}

std::string user_name(uid_t uid) {
    const Account account = account_of(uid);
    return account.name.empty() ? text("uid ", uid) : text(account.name, " (uid ", uid, ")");
}

std::string trusted_users() {
    const uid_t self = ::geteuid();
    if (self == 0) {
        return "root";
    }
    return is_trusted_user(self) ? user_name(self) + " or root"
                                 : "root; this process's user has no id in its user namespace";
}

bool is_private_group(gid_t group) {
    struct Finding {
        uid_t user;
        gid_t group;
        bool yes;
    };
    // A reader that waits for its writer asks again and again; the reply may come over a network.
    thread_local std::optional<Finding> last;
    const uid_t self = ::geteuid();
    if (!last || last->user != self || last->group != group) {
        last = {self, group, has_one_member(group, account_of(self))};
    }
    return last->yes;
}

}  // namespace fluvial::host
