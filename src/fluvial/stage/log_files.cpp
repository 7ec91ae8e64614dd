// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/log_files.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/trusted_user.hpp"

namespace fluvial::stage {
namespace {

constexpr mode_t mine_alone = 0600;

}  // namespace

bool is_full(int error_number) {
    return error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
}

bool write_all(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t wrote = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote < 0 && is_full(errno)) {
            return false;
        }
        if (wrote <= 0) {
            throw_errno("cannot write a step to the disk", errno,
                        "Look after the disk of the options spill and retain");
        }
        offset += static_cast<std::uint64_t>(wrote);
        bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    }
    return true;
}

std::size_t read_all(int fd, std::uint64_t offset, std::span<std::byte> to) {
    std::size_t got = 0;
    while (got < to.size()) {
        const ssize_t more =
            ::pread(fd, to.data() + got, to.size() - got, static_cast<off_t>(offset + got));
        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more < 0) {
            throw_errno("cannot read a step from the disk", errno);
        }
        if (more == 0) {
            break;
        }
        got += static_cast<std::size_t>(more);
    }
    return got;
}

host::Descriptor open_without_name(const std::string& folder) {
    host::Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mine_alone));
    if (file.valid() || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
        if (!file.valid()) {
            throw_errno(text("cannot make a file in ", folder), errno,
                        "Give a folder on a local disk by the option spill");
        }
        return file;
    }
    std::string path = folder + "/.fluvial-spill-XXXXXX";
    host::Descriptor named(::mkostemp(path.data(), O_CLOEXEC));
    if (!named.valid()) {
        throw_errno(text("cannot make a file in ", folder), errno,
                    "Give a folder on a local disk by the option spill");
    }
    ::unlink(path.c_str());
    return named;
}

/// A user that can write to a folder can put other steps there.
void check_owner(int fd, const std::string& path) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) {
        throw_errno(text("cannot inspect ", path), errno);
    }
    if (!host::is_trusted_user(status.st_uid)) {
        throw Refused(Problem{"retained steps belong to another user",
                              text(path, " of ", host::user_name(status.st_uid)),
                              host::trusted_users(),
                              "Choose a folder of your own by the options retain and retained"});
    }
    if ((status.st_mode & S_IWOTH) != 0) {
        throw Refused(Problem{"others may write to retained steps", path,
                              "a folder and files that only this user writes to",
                              "Run: chmod -R go-w on the folder, if no other user wrote there"});
    }
}

void check_folder(const std::string& path) {
    const host::Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) {
        check_owner(folder.get(), path);
    }
}

host::Descriptor open_in(const std::string& folder, const char* name, int flags) {
    host::Descriptor file(
        ::open(text(folder, '/', name).c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mine_alone));
    if (!file.valid() && errno != ENOENT) {
        throw_errno(text("cannot open ", folder, '/', name), errno,
                    errno == EEXIST ? "Steps of an earlier run are there: remove the folder, or "
                                      "give another by the option retain"
                                    : "");
    }
    if (file.valid()) {
        check_owner(file.get(), text(folder, '/', name));
    }
    return file;
}

}  // namespace fluvial::stage
