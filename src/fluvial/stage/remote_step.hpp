// SPDX-License-Identifier: Apache-2.0
/// A step as a reader elsewhere has it; of concern to remote_seat.cpp only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/stage/remote_seat.hpp"

namespace fluvial::stage {

/// A step whose data lies on the writer's host, but for that of small ones.
class RemoteStep final : public StepAccess {
  public:
    RemoteStep(std::shared_ptr<RemoteSeat> seat, std::uint64_t step)
        : seat_(std::move(seat)), step_(step) {}
    RemoteStep(const RemoteStep&) = delete;
    RemoteStep& operator=(const RemoteStep&) = delete;
    ~RemoteStep() override {
        if (!inherited()) {
            finish();
        }
    }

    void came_along(const Chunk& chunk, std::span<const std::byte> bytes) {
        small_.emplace(std::pair(chunk.rank, chunk.offset), bytes);
    }
    void keep(std::shared_ptr<const Bytes> message) { message_ = std::move(message); }

    std::shared_ptr<const std::byte> load(const Chunk& chunk, DType dtype,
                                          const std::string& what) override;
    bool reads_parts() const override { return true; }
    void read(const std::vector<ChunkBox>& boxes, DType dtype, const std::string& what) override;
    /// The place is given back once no read is under way any more.
    void finish() override {
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
        }
        give_back_if_over();
    }
    bool inherited() const override { return seat_->made_.inherited(); }

  private:
    class Read {
      public:
        explicit Read(RemoteStep& step) : step_(step) {
            const std::lock_guard lock(step_.mutex_);
            ++step_.reads_;
        }
        ~Read() {
            {
                const std::lock_guard lock(step_.mutex_);
                --step_.reads_;
            }
            step_.give_back_if_over();
        }
        Read(const Read&) = delete;
        Read& operator=(const Read&) = delete;

      private:
        RemoteStep& step_;
    };
    void give_back_if_over() {
        {
            const std::lock_guard lock(mutex_);
            if (reads_ > 0 || !finished_ || given_back_) {
                return;
            }
            given_back_ = true;
        }
        seat_->give_back(step_);
    }

    std::shared_ptr<RemoteSeat> seat_;
    std::uint64_t step_;
    std::mutex mutex_;
    int reads_ = 0;  ///< under way
    bool finished_ = false;
    bool given_back_ = false;
    std::shared_ptr<const Bytes> message_;
    /// By writer rank and place in its memory.
    using Small = std::map<std::pair<int, std::uint64_t>, std::span<const std::byte>>;
    Small::const_iterator find(const Chunk& chunk) const {
        return small_.find({chunk.rank, chunk.offset});
    }
    Small small_;
};

}  // namespace fluvial::stage
