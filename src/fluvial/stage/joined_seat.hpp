// SPDX-License-Identifier: Apache-2.0
/// A reader rank's places with a writer whose ranks are on several hosts: each has a queue of its
/// own, in which the same steps come in the same order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/stage/seat.hpp"

namespace fluvial::stage {

class JoinedSeat final : public Seat {
  public:
    struct Part {
        std::shared_ptr<Seat> seat;
        std::vector<int> ranks;  ///< of the writer, that are on that host
        std::uint64_t from = 0;  ///< the first step that this reader may get there
    };
    explicit JoinedSeat(std::vector<Part> parts);

    void wait_for_others() override;
    void next_follows() override;
    using Seat::next;
    /// A step that all hosts have: what one of them has given up, or what some had before this
    /// reader came to the others, is passed over.
    std::optional<OpenedStep> next(HandleLock::Call& call, const Deadline& deadline,
                                   std::optional<std::uint64_t> given) override;
    void look_for_failure() override;
    bool shares_out() const override { return shares_out_; }
    SeriesDescription series() override;
    SeatStats stats(std::uint64_t next_index) const override;
    StreamStatus status() override { return parts_.front().seat->status(); }
    bool disk_was_full() const override;
    std::string host() const override { return parts_.front().seat->host(); }
    std::string host_of(int rank) const override;
    std::string transport() const override;
    std::map<std::string, std::uint64_t> bytes_by_interface() const override;
    bool is_elsewhere() const override;
    void share(const std::shared_ptr<move::SharedClaims>& claims, std::uint32_t host) override;
    std::uint64_t bytes_from_neighbours() const override;
    void wake() override;
    void leave() override;

  private:
    class JoinedStep;

    std::optional<OpenedStep> next_of_all(HandleLock::Call& call, const Deadline& deadline);
    std::optional<OpenedStep> next_given(HandleLock::Call& call, const Deadline& deadline);
    std::optional<OpenedStep> next_on(std::size_t part, HandleLock::Call& call,
                                      const Deadline& deadline,
                                      std::optional<std::uint64_t> given = std::nullopt);
    void check_time(const Deadline& deadline) const;
    void pass_over(std::size_t part);
    OpenedStep join();

    std::vector<Part> parts_;
    std::vector<std::optional<OpenedStep>> waiting_;  ///< by part: taken, and not handed out
    std::vector<bool> ended_;                         ///< by part
    std::vector<std::uint64_t> passed_over_;          ///< by part: steps that not all hosts have
    std::uint64_t from_ = 0;                          ///< the first step that all hosts may give
    bool shares_out_;                                 ///< the first part says which step is next
    std::uint64_t steps_taken_ = 0;
};

}  // namespace fluvial::stage
