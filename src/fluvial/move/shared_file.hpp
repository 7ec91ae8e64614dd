// SPDX-License-Identifier: Apache-2.0
/// A file that several ranks write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fluvial::move {

/// This rank's descriptor of it. All throws SystemError, which names the file.
class SharedFile {
  public:
    enum class Missing { Make, Refuse };

    SharedFile() = default;
    ~SharedFile();
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;

    /// Refuses what is no regular file, such as a pipe, without waiting for a process that reads
    /// it.
    void open(const std::string& path, Missing missing);
    void write(std::uint64_t offset, std::span<const std::byte> bytes) const;
    /// What is written behind the end of a full disk is said here by some file systems.
    void close();

  private:
    [[noreturn]] void fail(const char* what, const char* can_be = "",
                           const char* remedy = "") const;
    [[noreturn]] void refuse() const;

    int descriptor_ = -1;
    std::string path_;
};

}  // namespace fluvial::move
