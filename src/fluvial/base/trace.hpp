// SPDX-License-Identifier: Apache-2.0
/// What a rank did when, for a picture such as Figure 3 of "A Data Streaming Model in
/// MPI" (doi:10.1145/2831129.2831131).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fluvial {

enum class Activity : std::uint8_t {
    SetUp,        ///< of a channel or a stream
    Stalled,      ///< a producer waits for room
    Idle,         ///< there was nothing to do in a blocking call
    Processing,   ///< a stream's operation, or the program with its batch, is at work
    Terminating,  ///< a blocking call waits for the end of a stream or of the channel
    Threshold,    ///< a threshold collective
};
inline constexpr std::size_t activities = 6;
const char* name_of(Activity activity);

struct TraceEvent {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int32_t stream = -1;  ///< number in the channel; -1: the channel itself
    Activity activity = Activity::Idle;
    std::uint32_t parts = 1;   ///< so many events, drawn as one of their length together
    std::uint64_t parent = 0;  ///< number of the span that it lies in; 0: none
};

/// Events of one rank: any two of them follow each other or are nested. Bounded: when there are too
/// many, short ones that follow each other closely become one of each kind, as long as they were
/// together. One thread at a time.
class Trace {
  public:
    explicit Trace(std::size_t events_max = 20'000) : events_max_(events_max) {}

    /// From now until it is destroyed. `trace` may be null: then it does nothing.
    class Span {
      public:
        Span(Trace* trace, Activity activity, int stream);
        ~Span();
        Span(const Span&) = delete;
        Span& operator=(const Span&) = delete;

      private:
        Trace* trace_;
        TraceEvent event_;
    };

    /// Something that is over, with no span in it or around it.
    void add(Activity activity, int stream, std::int64_t begin_ns, std::int64_t end_ns);

    std::span<const TraceEvent> events() const { return events_; }
    bool in_span() const { return open_ != 0; }
    /// Events within this time may have become one; 0: none have.
    std::int64_t resolution_ns() const { return resolution_ns_; }

  private:
    void append(const TraceEvent& event);
    void thin_out();

    std::size_t events_max_;
    std::vector<TraceEvent> events_;
    std::int64_t resolution_ns_ = 0;
    std::uint64_t spans_ = 0;
    std::uint64_t open_ = 0;  ///< the innermost span that is not over
};

}  // namespace fluvial
