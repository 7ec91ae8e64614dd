// SPDX-License-Identifier: Apache-2.0
/// Shared memory without a name: a memfd lives as long as some process has it open or mapped, and
/// not longer, whatever killed the processes. Nothing appears under /dev/shm.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fluvial/base/fork.hpp"

namespace fluvial::host {

/// Owns a file descriptor.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)), hook_(std::move(other.hook_)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        std::swap(hook_, other.hook_);
        return *this;
    }
    ~Descriptor();
    /// From now on children do not keep it (locks live as long as any copy of their descriptor):
    /// it is closed there, and this object is empty. `pause` has lasted since before the opening,
    /// so that no child comes in between.
    void close_in_children(const ForkPause& pause);
    int get() const { return hook_ && hook_->called() ? -1 : fd_; }
    bool valid() const { return get() >= 0; }

  private:
    int fd_ = -1;
    std::unique_ptr<ForkHook> hook_;
};

enum class Access { ReadOnly, ReadWrite };

/// Takes the pages of mapped, writable memory now: a lack of them becomes `false` here instead of a
/// fault later.
bool populate(std::span<std::byte> memory);

/// A mapping of a whole memory file; unmapped on destruction.
class Mapping {
  public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~Mapping();
    std::byte* data() const { return memory_.data(); }
    std::size_t size() const { return memory_.size(); }
    /// Takes memory for [offset, offset + bytes) of a writable mapping now: a lack of it becomes
    /// `false` here instead of a fault later, and the first copy does not pay for page faults.
    bool populate(std::size_t offset, std::size_t bytes) const;

  private:
    friend class MemoryFile;
    explicit Mapping(std::span<std::byte> memory) : memory_(memory) {}
    std::span<std::byte> memory_;
};

/// A memfd of fixed size, sealed against resizing, so that no peer can make another fault by
/// truncating it. Pages are taken from the system only when they are touched: a large `bytes` costs
/// address space, not memory.
class MemoryFile {
  public:
    MemoryFile() = default;
    /// Throws SystemError when the system refuses.
    static MemoryFile create(const std::string& label, std::size_t bytes);
    /// Takes over a descriptor that came from another process.
    static MemoryFile adopt(Descriptor descriptor);

    Mapping map(Access access) const;
    /// Gives the pages inside [offset, offset + bytes) back; they read as zero afterwards.
    void release(std::size_t offset, std::size_t bytes) const;
    int descriptor() const { return descriptor_.get(); }
    std::size_t size() const { return bytes_; }

  private:
    Descriptor descriptor_;
    std::size_t bytes_ = 0;
};

}  // namespace fluvial::host
