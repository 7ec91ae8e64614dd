// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/alive_lock.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>

#include "fluvial/base/error.hpp"

namespace fluvial::host {
namespace {

struct flock one_byte(std::int64_t byte) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

}  // namespace

AliveLock::AliveLock(const MemoryFile& file, std::int64_t byte) {
    // A descriptor that was sent to us shares its open file description, and thereby its locks,
    // with the sender.
    const std::string path = text("/proc/self/fd/", file.descriptor());
    const ForkPause pause;
    description_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!description_.valid()) {
        throw_errno("cannot reopen shared memory through " + path, errno,
                    errno == EMFILE || errno == ENFILE ? "Raise the limit on open files (ulimit -n)"
                                                       : "Mount /proc in this container");
    }
    description_.close_in_children(pause);
    struct flock lock = one_byte(byte);
    if (::fcntl(description_.get(), F_OFD_SETLK, &lock) != 0) {
        throw_errno(text("cannot mark participant ", byte, " as alive"), errno);
    }
}

bool AliveLock::held(const MemoryFile& file, std::int64_t byte) {
    struct flock lock = one_byte(byte);
    if (::fcntl(file.descriptor(), F_OFD_GETLK, &lock) != 0) {
        throw_errno("cannot ask whether a peer is alive", errno);
    }
    return lock.l_type != F_UNLCK;
}

}  // namespace fluvial::host
