// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/trace.hpp"

#include <algorithm>
#include <tuple>

#include "fluvial/base/clock.hpp"

namespace fluvial {

namespace {

constexpr std::int64_t resolution_first_ns = 1000;

/// An event that encloses others comes first.
void sort_events(std::vector<TraceEvent>& events) {
    std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
        return std::tuple(a.begin_ns, -a.end_ns) < std::tuple(b.begin_ns, -b.end_ns);
    });
}

/// Takes away what lies inside events that are shorter than `resolution_ns`.
void flatten(std::vector<TraceEvent>& events, std::int64_t resolution_ns) {
    std::int64_t covered_to = events.front().begin_ns;
    std::erase_if(events, [&](const TraceEvent& event) {
        if (event.end_ns <= covered_to) {
            return true;
        }
        const bool is_short = event.end_ns - event.begin_ns <= resolution_ns;
        covered_to = is_short ? event.end_ns : covered_to;
        return false;
    });
}

/// How many of the first of `rest` lie in the same span, inside `resolution_ns`.
std::size_t group_size(std::span<const TraceEvent> rest, std::int64_t resolution_ns) {
    const TraceEvent& first = rest.front();
    std::size_t n = 0;
    std::int64_t end = first.begin_ns;
    while (n < rest.size() && rest[n].parent == first.parent && rest[n].begin_ns >= end &&
           rest[n].end_ns - first.begin_ns <= resolution_ns) {
        end = rest[n].end_ns;
        ++n;
    }
    return std::max<std::size_t>(n, 1);
}

void put_together(std::span<const TraceEvent> group, std::vector<TraceEvent>& to) {
    const std::size_t first = to.size();
    for (const TraceEvent& event : group) {
        const auto same = std::find_if(
            to.begin() + static_cast<std::ptrdiff_t>(first), to.end(), [&](const TraceEvent& seen) {
                return seen.activity == event.activity && seen.stream == event.stream;
            });
        if (same == to.end()) {
            to.push_back(event);
        } else {
            same->end_ns += event.end_ns - event.begin_ns;
            same->parts += event.parts;
        }
    }
    std::int64_t at = group.front().begin_ns;
    for (std::size_t i = first; i < to.size(); ++i) {
        const std::int64_t length = to[i].end_ns - to[i].begin_ns;
        to[i].begin_ns = at;
        to[i].end_ns = at += length;
    }
}

}  // namespace

const char* name_of(Activity activity) {
    static constexpr const char* names[activities] = {"set-up",     "stalled",     "idle",
                                                      "processing", "terminating", "threshold"};
    return names[static_cast<int>(activity)];
}

Trace::Span::Span(Trace* trace, Activity activity, int stream) : trace_(trace) {
    if (trace_ == nullptr) {
        return;
    }
    event_.activity = activity;
    event_.stream = stream;
    event_.parent = trace_->open_;
    trace_->open_ = ++trace_->spans_;
    event_.begin_ns = now_ns();
}

Trace::Span::~Span() {
    if (trace_ == nullptr) {
        return;
    }
    event_.end_ns = now_ns();
    trace_->open_ = event_.parent;
    trace_->append(event_);
}

void Trace::add(Activity activity, int stream, std::int64_t begin_ns, std::int64_t end_ns) {
    TraceEvent event;
    event.begin_ns = begin_ns;
    event.end_ns = end_ns;
    event.stream = stream;
    event.activity = activity;
    append(event);
}

void Trace::append(const TraceEvent& event) {
    if (events_.size() >= events_max_) {
        thin_out();
    }
    events_.push_back(event);
}

void Trace::thin_out() {
    sort_events(events_);
    while (events_.size() > events_max_ / 2) {
        resolution_ns_ = std::max(2 * resolution_ns_, resolution_first_ns);
        flatten(events_, resolution_ns_);
        std::vector<TraceEvent> kept;
        std::span<const TraceEvent> rest = events_;
        while (!rest.empty()) {
            const std::size_t n = group_size(rest, resolution_ns_);
            put_together(rest.first(n), kept);
            rest = rest.subspan(n);
        }
        events_ = std::move(kept);
    }
}

}  // namespace fluvial
