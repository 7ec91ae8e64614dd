// SPDX-License-Identifier: Apache-2.0
/// A file open for reading at any place, by any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace fluvial::store {

/// Move-only; closes the file.
class InputFile {
  public:
    /// Throws SystemError with a remedy when the file cannot be opened.
    explicit InputFile(std::string path);
    /// Stands for data in memory: a name for messages. It must not be read.
    static InputFile without_bytes(std::string name) { return {std::move(name), -1}; }
    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&&) = delete;
    ~InputFile();

    const std::string& path() const { return path_; }
    /// Bytes, when it was opened or measured; by now, if it grows().
    std::uint64_t size() const { return grows_ ? size_now() : size_; }
    /// Counts what it has by now.
    void measure() { size_ = size_now(); }
    /// From here on it counts that another program goes on writing it.
    void grows() { grows_ = true; }
    /// Fills `to` from `offset` on. Local, blocking. Throws DamagedFile when the file ends before
    /// that, SystemError.
    void read(std::uint64_t offset, std::span<std::byte> to) const;
    /// Asks the system to have these bytes in memory soon. Local, does not wait.
    void will_need(std::uint64_t offset, std::uint64_t bytes) const;
    /// Whether this byte can be had without the disk, as far as the system says. Local.
    bool in_memory(std::uint64_t offset) const;
    /// Open until this object goes.
    int descriptor() const { return descriptor_; }
    /// Identity, for "the same file under two names".
    std::uint64_t device() const { return device_; }
    std::uint64_t inode() const { return inode_; }

  private:
    InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

    std::uint64_t size_now() const;

    std::string path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0, device_ = 0, inode_ = 0;
    bool grows_ = false;
};

}  // namespace fluvial::store
