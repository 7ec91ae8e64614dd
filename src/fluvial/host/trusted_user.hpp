// SPDX-License-Identifier: Apache-2.0
/// Which users this process trusts, on the kernel's word: its own, and root.
#pragma once

#include <string>

#include <sys/types.h>

namespace fluvial::host {

/// True for the user as which this process runs, and for root. False for the number that stands for
/// all users without an id in this user namespace (the overflow uid): it identifies no user.
bool is_trusted_user(uid_t uid);

/// "alice (uid 1000)"; "uid 1000" where the user has no name.
std::string user_name(uid_t uid);

/// What a message allows: "alice (uid 1000) or root".
std::string trusted_users();

/// True for a group of which this process's user is the only member: that of the user's own name,
/// which Debian and others give each user (so that folders made under umask 002 have mode 0775).
bool is_private_group(gid_t group);

}  // namespace fluvial::host
