// SPDX-License-Identifier: Apache-2.0
/// Memory for what is read from a disk. Memory that is released serves the next read, and its pages
/// need not be taken from the system again: that costs as much as to copy them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace fluvial::stage {

class ReadBuffers : public std::enable_shared_from_this<ReadBuffers> {
  public:
    /// `bytes` of memory; it may outlive this object.
    std::shared_ptr<std::byte> take(std::size_t bytes) {
        Buffer buffer = reuse(bytes);
        if (buffer.memory == nullptr) {
            buffer.bytes = std::max<std::size_t>(bytes, 1);
            buffer.memory = static_cast<std::byte*>(::operator new(buffer.bytes, alignment));
        }
        return {buffer.memory, [buffer, home = weak_from_this()](std::byte*) {
                    const auto buffers = home.lock();
                    if (!buffers || !buffers->keep(buffer)) {
                        ::operator delete(buffer.memory, alignment);
                    }
                }};
    }
    ReadBuffers() = default;
    ReadBuffers(const ReadBuffers&) = delete;
    ReadBuffers& operator=(const ReadBuffers&) = delete;
    ~ReadBuffers() {
        for (const Buffer& buffer : kept_) {
            ::operator delete(buffer.memory, alignment);
        }
    }

  private:
    static constexpr std::align_val_t alignment{64};
    static constexpr std::size_t kept_bytes_max = std::size_t{64} << 20;
    struct Buffer {
        std::byte* memory = nullptr;
        std::size_t bytes = 0;
    };

    /// A buffer that is large enough, and not more than twice as large.
    Buffer reuse(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = std::find_if(kept_.begin(), kept_.end(), [bytes](const Buffer& buffer) {
            return buffer.bytes >= bytes && buffer.bytes / 2 <= bytes;
        });
        if (found == kept_.end()) {
            return {};
        }
        const Buffer buffer = *found;
        kept_.erase(found);
        kept_bytes_ -= buffer.bytes;
        return buffer;
    }
    bool keep(const Buffer& buffer) {
        const std::lock_guard lock(mutex_);
        if (kept_bytes_ + buffer.bytes > kept_bytes_max) {
            return false;
        }
        kept_.push_back(buffer);
        kept_bytes_ += buffer.bytes;
        return true;
    }

    std::mutex mutex_;
    std::vector<Buffer> kept_;
    std::size_t kept_bytes_ = 0;
};

}  // namespace fluvial::stage
