// SPDX-License-Identifier: Apache-2.0
/// Memory for what is read from a disk or from another host. Memory that is released serves the
/// next read, and its pages need not be taken from the system again: that costs as much as to copy
/// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace fluvial::stage {

class ReadBuffers : public std::enable_shared_from_this<ReadBuffers> {
  public:
    /// What is kept of smaller buffers, all together. Of larger ones the last to be released is
    /// kept until the next take, which it serves or makes room for.
    static constexpr std::size_t kept_bytes_max = std::size_t{64} << 20;

    /// `bytes` of memory; it may outlive this object.
    std::shared_ptr<std::byte> take(std::size_t bytes) {
        Buffer buffer = reuse(bytes);
        if (buffer.memory == nullptr) {
            buffer.bytes = std::max<std::size_t>(bytes, 1);
            buffer.memory = static_cast<std::byte*>(::operator new(buffer.bytes, alignment));
        }
        return {buffer.memory, [buffer, home = weak_from_this()](std::byte*) {
                    if (const auto buffers = home.lock()) {
                        buffers->keep(buffer);
                    } else {
                        free(buffer);
                    }
                }};
    }
    ReadBuffers() = default;
    ReadBuffers(const ReadBuffers&) = delete;
    ReadBuffers& operator=(const ReadBuffers&) = delete;
    ~ReadBuffers() {
        std::for_each(kept_.begin(), kept_.end(), free);
        free(large_);
    }
    /// What is kept now.
    std::size_t kept_bytes() const {
        const std::lock_guard lock(mutex_);
        return kept_bytes_ + large_.bytes;
    }

  private:
    static constexpr std::align_val_t alignment{64};
    struct Buffer {
        std::byte* memory = nullptr;
        std::size_t bytes = 0;
        /// It is large enough, and not more than twice as large.
        bool serves(std::size_t wanted) const { return bytes >= wanted && bytes / 2 <= wanted; }
    };
    static void free(const Buffer& buffer) { ::operator delete(buffer.memory, alignment); }

    Buffer reuse(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const Buffer large = std::exchange(large_, {});
        if (large.memory != nullptr && large.serves(bytes)) {
            return large;
        }
        free(large);
        const auto found = std::find_if(kept_.begin(), kept_.end(), [bytes](const Buffer& buffer) {
            return buffer.serves(bytes);
        });
        if (found == kept_.end()) {
            return {};
        }
        const Buffer buffer = *found;
        kept_.erase(found);
        kept_bytes_ -= buffer.bytes;
        return buffer;
    }
    void keep(const Buffer& buffer) {
        const std::lock_guard lock(mutex_);
        if (buffer.bytes > kept_bytes_max) {
            free(std::exchange(large_, buffer));
        } else if (kept_bytes_ + buffer.bytes > kept_bytes_max) {
            free(buffer);
        } else {
            kept_.push_back(buffer);
            kept_bytes_ += buffer.bytes;
        }
    }

    mutable std::mutex mutex_;
    std::vector<Buffer> kept_;
    std::size_t kept_bytes_ = 0;
    Buffer large_;
};

}  // namespace fluvial::stage
