// SPDX-License-Identifier: Apache-2.0
/// What a consumer has of a stream: its links, its operation, and the way to the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fluvial/base/trace.hpp"
#include "fluvial/move/inlet.hpp"
#include "fluvial/move/link.hpp"
#include "fluvial/stream/ending.hpp"
#include "fluvial/stream/operation.hpp"
#include "fluvial/stream/statistics.hpp"

namespace fluvial::stream {

/// Nothing here blocks.
class ConsumerEnd {
  public:
    /// `messages` is one of the inlets, or null.
    ConsumerEnd(const move::LinkPlan& plan, const Element& element,
                std::vector<std::unique_ptr<move::Inlet>> inlets, move::MessageInlet* messages,
                std::unique_ptr<Operation> operation, Ending ending, Trace* trace);

    /// Processes at most `bytes_max` of what has arrived (one unit at least), every link in turn;
    /// returns the number of bytes. 0 while the operation is under way further up the stack.
    /// Throws what the operation throws.
    std::size_t work(std::size_t bytes_max);
    /// The next units as they lie, until the next call; empty when there is nothing now.
    Batch lend();
    /// Takes what MPI has.
    void receive() {
        if (messages_ != nullptr) {
            messages_->progress();
        }
    }
    /// Takes what MPI has; goes on to the end when the time has come. True when something moved.
    bool progress();
    void take(const progress::ControlMessage& message);

    bool working() const { return working_; }
    const Operation* operation() const { return operation_.get(); }
    Operation* operation() { return operation_.get(); }
    /// Nothing will be processed any more; what the operation holds is set free, unless it is what
    /// is under way.
    void forget_operation() noexcept {
        if (!working_) {
            operation_.reset();
        }
    }
    /// Nothing that the links sent back is under way any more. Once there is an outcome.
    bool drained();
    /// Their memory goes back; what was counted stays. Once there is an outcome on all ranks.
    void release_links();
    /// Elements processed here so far, and their bytes.
    std::uint64_t elements() const;
    std::uint64_t bytes() const { return bytes_; }
    /// What was processed, and what waits. Asks the links.
    void add_to(Statistics& statistics) const;
    /// Bytes that wait in the links.
    std::uint64_t depth() const;
    std::uint64_t memory() const;
    /// Set when the stream has ended everywhere.
    const std::optional<Outcome>& outcome() const { return ending_.outcome(); }

  private:
    void give_back();
    void count(const Batch& batch, std::int64_t begin_ns);
    bool all_ended();

    move::LinkPlan plan_;
    Element element_;
    std::vector<std::unique_ptr<move::Inlet>> inlets_;
    move::MessageInlet* messages_;
    std::unique_ptr<Operation> operation_;
    Ending ending_;
    std::size_t turn_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t batches_ = 0;
    std::int64_t processing_ns_ = 0;
    std::uint64_t depth_max_ = 0;
    std::int64_t depth_seen_ns_ = 0;
    bool working_ = false;
    bool idle_ = true;  ///< the last look found nothing
    move::Inlet* lender_ = nullptr;
    Batch lent_;
    std::int64_t lent_ns_ = 0;
    Trace* trace_;
    std::optional<Trace::Span> lending_;
};

}  // namespace fluvial::stream
