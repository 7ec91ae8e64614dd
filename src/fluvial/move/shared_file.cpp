// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::move {

SharedFile::~SharedFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

void SharedFile::open(const std::string& path, Missing missing) {
    path_ = path;
    const int make = missing == Missing::Make ? O_CREAT : 0;
    descriptor_ = ::open(path.c_str(), O_WRONLY | make | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
        fail("open", missing == Missing::Make ? "" : "Put it where every host sees it");
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

void SharedFile::fail(const char* what, const char* remedy) const {
    throw SystemError(Problem{text("cannot ", what, " the shared file '", path_, "'"),
                              std::strerror(errno), "", remedy});
}

}  // namespace fluvial::move
