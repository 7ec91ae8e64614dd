// SPDX-License-Identifier: Apache-2.0
/// The protocol of a threshold collective: a verdict on what all producers contribute, as soon as
/// it is certain. Source: "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131), section 5.
///
/// Contributions of a round go to the producer's consumer, which merges what comes together and
/// forwards it to the first consumer; that one judges. Its verdict goes back the same way, to
/// producers that wait for it and at once to producers that come later: the round's number is in
/// every message, so a late contribution never counts for another round.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/progress/control_messages.hpp"

namespace fluvial::stream {

/// What has come of one round.
class RoundJudge {
  public:
    virtual ~RoundJudge() = default;
    /// Takes what was merged of further contributions; returns the verdict as ThresholdRule::judge.
    virtual std::optional<bool> take(std::span<const std::byte> merged) = 0;
};

/// Equal on all consumers.
struct ThresholdRule {
    /// Merges contributions. Associative and commutative: they are merged as they come.
    std::function<std::vector<std::byte>(std::vector<std::byte> a, std::span<const std::byte> b)>
        merge;
    /// The verdict on `count` contributions of `producers` if no further ones can change it;
    /// nothing otherwise, which counts as false when there are none to come.
    std::function<std::optional<bool>(std::span<const std::byte> merged, int count, int producers)>
        judge;
    /// In place of `judge`, one for each round: it sees each contribution once.
    std::function<std::unique_ptr<RoundJudge>()> begin_round = {};
    /// So many rounds a producer may be ahead of the slowest one; then its verdicts wait.
    std::uint64_t rounds_ahead = 1024;
    /// What consumers, which merge and judge, know the functions by: names and versions.
    std::string declared = "functions";
};
/// To a consumer: a value of one round of a threshold collective.
inline constexpr progress::Topic topic_contribution{"threshold: contribution"};
/// To a producer or consumer: the outcome of a round.
inline constexpr progress::Topic topic_verdict{"threshold: verdict"};

/// One rank's part, whatever its role. Nothing here blocks.
class Threshold {
  public:
    struct Parties {
        int consumer = 0;  ///< of this rank, if it produces
        int first_consumer = 0;
        int producers = 0;  ///< how many
    };
    Threshold(progress::ControlMessages& control, int number, const Parties& parties,
              ThresholdRule rule);

    /// Says that `taker` takes the messages of the topics above: their subject is the number of a
    /// threshold collective.
    static void handle(progress::ControlMessages& control,
                       const std::function<bool(const progress::ControlMessage&)>& taker);

    /// This producer's value of its next round; returns that round's number.
    std::uint64_t contribute(std::span<const std::byte> value);
    /// No call waits for the verdict of this round any more: the next contribute() means it again,
    /// and its value does not count.
    void break_off(std::uint64_t round) { broken_off_ = round; }
    /// This producer contributes to no further round. Where others need it for a verdict, the first
    /// consumer throws InvalidArgument.
    void retire();
    /// The verdict of a round to which this producer contributed, once.
    std::optional<bool> verdict(std::uint64_t round);

    /// Messages of the topics above. What the rule throws comes out here and below.
    void take(const progress::ControlMessage& message);
    /// Forwards what has come; true when something moved.
    bool advance();

    /// There will be no further verdicts; what the rule's functions hold is set free.
    void forget_rule() noexcept { rule_ = {}; }

    /// On the first consumer: contributions that came after their round's verdict.
    std::uint64_t late() const { return late_; }
    /// On the first consumer: rounds that some producer has not contributed to.
    std::size_t open_rounds() const { return rounds_.size(); }

  private:
    /// The head of every message.
    struct Heading {
        std::uint64_t round;
        std::uint64_t forward;  ///< number of a consumer's message; 0: to or from a producer
        std::int32_t count;     ///< contributions in it
        std::int32_t verdict;
    };
    /// Came together at a consumer.
    struct Gathered {
        std::vector<std::byte> merged;
        std::vector<int> producers;
    };
    struct Forward {
        int consumer;
        std::uint64_t number;
    };
    /// At the first consumer.
    struct Round {
        std::vector<std::byte> merged;
        std::unique_ptr<RoundJudge> judge;
        int count = 0;
        std::optional<bool> verdict;
        std::vector<Forward> waiting;
    };

    void gather(std::uint64_t round, int producer, std::span<const std::byte> value);
    void judge(const Heading& heading, int consumer, std::span<const std::byte> merged);
    std::optional<bool> verdict_on(Round& round, std::span<const std::byte> merged,
                                   bool first) const;
    bool is_complete(std::uint64_t number, const Round& round) const;
    void check_certain() const;
    void complete();
    void reply(std::uint64_t number, Round& round);
    void post(int to, progress::Topic topic, const Heading& heading,
              std::span<const std::byte> value = {});

    progress::ControlMessages& control_;
    int number_;
    Parties parties_;
    ThresholdRule rule_;

    std::uint64_t contributed_ = 0;  ///< rounds
    std::optional<std::uint64_t> broken_off_;
    bool retired_ = false;
    std::map<std::uint64_t, bool> verdicts_;  ///< that were not asked for yet

    std::map<std::uint64_t, Gathered> gathered_;           ///< by round
    std::map<std::uint64_t, std::vector<int>> forwarded_;  ///< the producers, by number
    std::uint64_t forwards_ = 0;

    std::map<std::uint64_t, Round> rounds_;
    std::vector<std::uint64_t> ends_;  ///< of retired producers: the first round without them
    std::uint64_t completed_ = 0;  ///< rounds that all have contributed to: those before this one
    std::uint64_t late_ = 0;
};

}  // namespace fluvial::stream
