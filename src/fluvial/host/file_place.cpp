// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/file_place.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::host {

FilePlace place_of(const MemoryFile& file) {
    struct stat status{};
    if (::fstat(file.descriptor(), &status) != 0) {
        throw_errno("cannot inspect a memfd", errno);
    }
    return {::getpid(), file.descriptor(), status.st_dev, status.st_ino};
}

MemoryFile open_at(const FilePlace& place) {
    const std::string path = text("/proc/", place.process, "/fd/", place.descriptor);
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) {
        throw_errno(text("cannot inspect ", path), errno);
    }
    if (status.st_dev != place.device || status.st_ino != place.inode) {
        throw Error(path + " is another file here");  // to open it might do something
    }
    Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!descriptor.valid()) {
        throw_errno(text("cannot open ", path), errno);
    }
    return MemoryFile::adopt(std::move(descriptor));
}

}  // namespace fluvial::host
