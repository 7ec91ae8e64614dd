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

/// A step whose data lies on the writer's host, but for what came with it.
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

    /// What came with its message, which the chunks of the description belong to.
    void has(const AnnouncedStep& announced);
    /// All of its data did.
    bool is_complete() const { return complete_; }

    std::shared_ptr<const std::byte> load(const Chunk& chunk, DType dtype,
                                          const std::string& what) override;
    bool came_along(const Chunk&) const override { return whole_; }
    std::uint64_t bytes_along(const Chunk& chunk, const Region& box, DType dtype) const override;
    bool reads_parts() const override { return true; }
    void read(const std::vector<ChunkBox>& boxes, DType dtype, const std::string& what) override;
    void was_read() override {
        const std::lock_guard lock(mutex_);
        was_read_ = true;
    }
    /// The place is given back once no read is under way any more.
    void finish() override {
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
        }
        give_back_if_over();
    }
    void abandon() override {
        const std::lock_guard lock(mutex_);
        given_back_ = true;  // never: the writer's host hears that the seat is left
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
        const bool asks = seat_->asks_anyway(step_, bytes_read_);
        seat_->give_back(
            {step_, was_read_},
            whole_ ? std::nullopt : std::optional(asks ? std::vector<PartAlong>() : read_.parts()),
            complete_);
    }

    std::shared_ptr<RemoteSeat> seat_;
    std::uint64_t step_;
    std::mutex mutex_;
    int reads_ = 0;  ///< under way
    bool finished_ = false;
    bool was_read_ = false;  ///< by a job that resumes later
    bool given_back_ = false;
    bool complete_ = false;                       ///< all of its data came along ...
    bool whole_ = false;                          ///< ... because it is small
    std::shared_ptr<const StepMessage> message_;  ///< of a step that came with all of its data

    /// Of a chunk: the rank of the writer, and where in its memory.
    using Place = std::pair<int, std::uint64_t>;
    static Place place_of(const Chunk& chunk) {
        return {chunk.rank, chunk.in_rank() != nullptr ? chunk.in_rank()->offset : 0};
    }
    struct Part {
        Region box;
        std::shared_ptr<const std::byte> bytes;
    };
    /// What came with the step, if it holds the box.
    const Part* find(const Chunk& chunk, const Region& box) const;
    void note(const Chunk& chunk, const Region& box, DType dtype);
    move::RemoteBox remote(const ChunkBox& box, DType dtype) const;

    std::map<Place, Part> here_;
    std::vector<std::pair<Place, std::uint32_t>> chunks_;  ///< and which chunk of the step
    bool sorted_ = false;                                  ///< these are
    PartsRead read_;
    std::uint64_t bytes_read_ = 0;
};

}  // namespace fluvial::stage
