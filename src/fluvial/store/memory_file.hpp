// SPDX-License-Identifier: Apache-2.0
/// For tests and fuzzers: a file with given bytes that is on no disk (Linux).
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::store {

/// Lives as long as this object; opened by path like any other file.
class MemoryFile {
  public:
    explicit MemoryFile(std::span<const std::byte> bytes)
        : descriptor_(::memfd_create("fluvial", MFD_CLOEXEC)) {
        std::size_t done = 0;
        while (descriptor_ >= 0 && done < bytes.size()) {
            const ssize_t put = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
            if (put < 0) {
                break;
            }
            done += static_cast<std::size_t>(put);
        }
        if (descriptor_ < 0 || done < bytes.size()) {
            throw_errno("cannot make a file in memory", errno);
        }
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { ::close(descriptor_); }

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

}  // namespace fluvial::store
