// SPDX-License-Identifier: Apache-2.0
/// What is the result so far? Asked by producers while the stream runs.
///
/// The first consumer takes the requests one after the other (those that wait when it begins are
/// served together), asks all consumers for their partial results, merges them in the order of
/// ranks and returns the result. So concurrent requests cannot meet each other halfway, and no rank
/// blocks but the one that asked. A consumer returns its partial before it processes further
/// elements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "fluvial/progress/control_messages.hpp"
#include "fluvial/stream/operation.hpp"
#include "fluvial/stream/outcome.hpp"

namespace fluvial::stream {
/// To the first consumer: what is the result so far?
inline constexpr progress::Topic topic_query("query");
/// Between consumers: a partial result is wanted.
inline constexpr progress::Topic topic_partial_wanted("query: a partial is wanted");
/// A partial or global result, with the number of elements that it covers.
inline constexpr progress::Topic topic_query_result("query: result");

/// One rank's part, whatever its role. Messages: one to the first consumer, one to and one from
/// each of the others, one back.
class Query {
  public:
    /// `consumers` are ranks of the channel; `rank` is this one.
    Query(progress::ControlMessages& control, int stream, std::vector<int> consumers, int rank);

    /// Returns the number of the request.
    std::uint64_t ask();
    /// Null until the result is here.
    const Outcome* result(std::uint64_t number) const;
    /// This result is not waited for (any more).
    void forget(std::uint64_t number);
    /// Requests that this consumer has served, or had its part in serving.
    std::uint64_t answered() const { return answered_; }
    /// Every request of this rank has its result.
    bool quiet() const;

    static bool knows(progress::Topic topic) {
        return topic == topic_query || topic == topic_partial_wanted || topic == topic_query_result;
    }
    /// Messages of the topics above.
    void take(const progress::ControlMessage& message);
    /// What this consumer has processed so far.
    struct State {
        const Operation* operation = nullptr;
        std::uint64_t elements = 0;
        const Outcome* outcome = nullptr;  ///< once the stream has ended
    };
    /// Serves requests and merges results that have come; true when something moved. On consumers,
    /// while the operation is not under way.
    bool advance(const State& state);

  private:
    struct Request {
        int from;
        std::uint64_t number;
    };
    struct Asked {
        std::optional<Outcome> result = {};
        bool forgotten = false;
    };

    void send(std::vector<std::uint64_t> together);
    bool is_first() const { return rank_ == consumers_.front(); }
    void collect(const State& state);
    void return_to_all(const Outcome& outcome);

    progress::ControlMessages& control_;
    int stream_;
    std::vector<int> consumers_;
    int rank_;
    std::uint64_t asked_count_ = 0;
    std::uint64_t answered_ = 0;
    std::map<std::uint64_t, Asked> asked_;
    /// Under way, by the number that they go under; a bounded number, so that no rank that asks and
    /// asks fills the first consumer's memory.
    std::map<std::uint64_t, std::vector<std::uint64_t>> together_;
    std::vector<std::uint64_t> held_;  ///< will go together when a result has come

    std::vector<std::uint64_t> partials_wanted_;  ///< rounds of the first consumer
    std::vector<Request> waiting_;
    std::vector<Request> serving_;  ///< not empty: a round is under way
    std::uint64_t round_ = 0;
    std::map<int, Outcome> partials_;  ///< of this round, by rank
};

}  // namespace fluvial::stream
