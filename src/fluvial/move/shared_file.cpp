// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

constexpr const char* shared_files =
    "a regular file, or a new one in a folder that may be written to";

}  // namespace

SharedFile::~SharedFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

void SharedFile::open(const std::string& path, Missing missing) {
    path_ = path;
    const int make = missing == Missing::Make ? O_CREAT : 0;
    // A pipe that nobody reads would be waited for.
    descriptor_ = ::open(path.c_str(), O_WRONLY | make | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0 && (errno == ENXIO || errno == EISDIR)) {
        refuse();
    }
    if (descriptor_ < 0) {
        if (missing == Missing::Make) {
            fail("open", shared_files);
        }
        fail("open", "a regular file that is there", "Put it where every host sees it");
    }
    struct stat found = {};
    if (::fstat(descriptor_, &found) != 0) {
        fail("open");
    }
    if (!S_ISREG(found.st_mode)) {
        refuse();
    }
    const int flags = ::fcntl(descriptor_, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor_, F_SETFL, flags & ~O_NONBLOCK) != 0) {
        fail("open");
    }
}

void SharedFile::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t done =
            ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            fail("write to");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

void SharedFile::close() {
    const int descriptor = std::exchange(descriptor_, -1);
    if (descriptor >= 0 && ::close(descriptor) != 0) {
        fail("write to");
    }
}

void SharedFile::fail(const char* what, const char* can_be, const char* remedy) const {
    throw SystemError(Problem{text("cannot ", what, " the shared file '", path_, "'"),
                              std::strerror(errno), can_be, remedy});
}

void SharedFile::refuse() const {
    throw SystemError(
        Problem{"the shared file is no regular file", "'" + path_ + "'", shared_files, ""});
}

}  // namespace fluvial::move
