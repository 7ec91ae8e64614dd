// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/contact_folder.hpp"

#include <cerrno>
#include <iomanip>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/trusted_user.hpp"

namespace fluvial::stage {
namespace {

constexpr const char* other_folder =
    "choose a folder of your own by the option directory or FLUVIAL_DIRECTORY, the same for both "
    "jobs";
constexpr mode_t permissions = 07777;

std::string mode_text(mode_t mode) {
    std::ostringstream out;
    out << "mode " << std::oct << std::setw(4) << std::setfill('0') << (mode & permissions);
    return out.str();
}

/// Through /proc, because what was opened by O_PATH alone cannot be asked itself.
std::string proc_path(int fd) {
    return text("/proc/self/fd/", fd);
}

/// The group's bits then stand for all users and groups that the list names.
bool has_access_list(int fd) {
    return ::getxattr(proc_path(fd).c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool group_is_harmless(const struct stat& status, int fd) {
    return (status.st_mode & S_IWGRP) == 0 ||
           (!has_access_list(fd) && host::is_private_group(status.st_gid));
}

std::pair<std::string, std::string> split(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) {
        return {".", path};
    }
    return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

const char* kind_of(mode_t mode) {
    if (S_ISLNK(mode)) {
        return "a symbolic link";
    }
    if (S_ISDIR(mode)) {
        return "a folder";
    }
    if (S_ISFIFO(mode)) {
        return "a FIFO";
    }
    if (S_ISSOCK(mode)) {
        return "a socket";
    }
    return "a device";
}

void check_file(const struct stat& status, const std::string& path, OwnedBy owner) {
    if (!S_ISREG(status.st_mode)) {
        throw Refused(Problem{"what has the contact file's name is no contact file",
                              text(kind_of(status.st_mode), ", ", path), "a regular file",
                              text("Remove it, or ", other_folder)});
    }
    const bool mine = status.st_uid == ::geteuid() && host::is_trusted_user(status.st_uid);
    if (!mine && (owner == OwnedBy::ThisUser || !host::is_trusted_user(status.st_uid))) {
        throw Refused(Problem{
            "the contact file belongs to another user",
            text(path, " of ", host::user_name(status.st_uid)),
            owner == OwnedBy::ThisUser ? host::user_name(::geteuid()) : host::trusted_users(),
            text("Run both jobs as the same user, or ", other_folder)});
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && owner == OwnedBy::ThisUserOrRoot) {
        throw Refused(Problem{"others may write to the contact file",
                              text(path, " (", mode_text(status.st_mode), ")"), "mode 0600",
                              "It may not be what the writer wrote: remove it, and start the "
                              "writer again"});
    }
}

[[noreturn]] void throw_unreadable(const std::string& path) {
    throw Refused(Problem{"the contact file may not be read by this user", path, "its owner",
                          text("Run both jobs as the same user, or ", other_folder)});
}

}  // namespace

ContactFolder::ContactFolder(std::string path, std::string folder, std::string name,
                             host::Descriptor descriptor)
    : path_(std::move(path)), name_(std::move(name)), folder_(std::move(descriptor)) {
    check(folder);
}

std::optional<ContactFolder> ContactFolder::of(const std::string& path) {
    auto [folder, name] = split(path);
    host::Descriptor descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.valid()) {
        if (errno == ENOENT) {
            return std::nullopt;
        }
        if (errno == EACCES) {
            throw_unreadable(path);
        }
        throw_errno("cannot open the folder of the contact file " + path, errno,
                    errno == EMFILE || errno == ENFILE ? "Raise the limit on open files (ulimit -n)"
                                                       : text("Mend it, or ", other_folder));
    }
    return ContactFolder(path, std::move(folder), std::move(name), std::move(descriptor));
}

void ContactFolder::check(const std::string& folder) const {
    struct stat status{};
    if (::fstat(folder_.get(), &status) != 0) {
        throw_errno("cannot inspect the folder of the contact file " + path_, errno);
    }
    if ((status.st_mode & S_ISVTX) != 0) {
        return;  // others may add files, and not remove ours
    }
    if (!host::is_trusted_user(status.st_uid)) {
        throw Refused(Problem{"the folder of the contact file belongs to another user",
                              text(folder, " of ", host::user_name(status.st_uid)),
                              text("a folder of ", host::trusted_users(), ", or a sticky one"),
                              text("Run both jobs as that user, or ", other_folder)});
    }
    const bool anybody = (status.st_mode & S_IWOTH) != 0;
    if (anybody || !group_is_harmless(status, folder_.get())) {
        throw Refused(Problem{"others may write to the folder of the contact file",
                              text(folder, " (", mode_text(status.st_mode), ")"),
                              text("a folder that only ", host::trusted_users(),
                                   " may write to, or a sticky one like /tmp"),
                              text("Take the right from them (chmod ", anybody ? "go" : "g", "-w ",
                                   folder, "), or ", other_folder)});
    }
}

std::optional<host::Descriptor> ContactFolder::open_file(OwnedBy owner, int flags) const {
    const host::Descriptor found(
        ::openat(folder_.get(), name_.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!found.valid()) {
        if (errno == ENOENT) {
            return std::nullopt;
        }
        if (errno == EACCES) {
            throw_unreadable(path_);
        }
        throw_errno("cannot open the contact file " + path_, errno,
                    "Raise the limit on open files (ulimit -n)");
    }
    struct stat status{};
    if (::fstat(found.get(), &status) != 0) {
        throw_errno("cannot inspect the contact file " + path_, errno);
    }
    check_file(status, path_, owner);
    // The very same file, whatever has its name by now.
    host::Descriptor file(
        ::open(proc_path(found.get()).c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file.valid()) {
        return file;
    }
    if (errno == EACCES) {
        throw_unreadable(path_);
    }
    throw_errno("cannot open the contact file " + path_, errno,
                errno == ENOENT ? "Mount /proc in this container"
                                : "Raise the limit on open files (ulimit -n)");
}

bool ContactFolder::names(const host::Descriptor& file) const {
    struct stat opened{};
    struct stat named{};
    return ::fstat(file.get(), &opened) == 0 &&
           ::fstatat(folder_.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace fluvial::stage
