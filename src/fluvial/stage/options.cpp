// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/options.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::stage {
namespace {

void check_name(const std::string& name) {
    const auto legal = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    if (name.empty() || name.size() > 128 || name.front() == '.' ||
        !std::all_of(name.begin(), name.end(), legal)) {
        throw InvalidArgument(
            Problem{"the name of the stream cannot be used", "'" + name + "'",
                    "1 to 128 letters, digits, '.', '_' or '-', not beginning with '.'",
                    "Give the folder of the contact file as the option directory"});
    }
}

void check_seconds(const char* option, double value, double least) {
    if (!std::isfinite(value) || value < least || value > 1e7) {
        throw InvalidArgument(Problem{text(option, " is out of range"), text(value, " s"),
                                      text(least, " to 1e7 s"), ""});
    }
}

template <class Choice>
Choice choose(const char* option, const std::string& name,
              std::initializer_list<std::pair<const char*, Choice>> choices) {
    std::string allowed;
    std::vector<std::string> known;
    for (const auto& [text, value] : choices) {
        if (name == text) {
            return value;
        }
        known.emplace_back(text);
        allowed += (allowed.empty() ? "'" : ", '") + known.back() + "'";
    }
    throw InvalidArgument(Problem{text("unknown value of ", option), "'" + name + "'", allowed,
                                  did_you_mean(name, known)});
}

}  // namespace

void validate(const std::string& name, const WriterOptions& options) {
    check_name(name);
    if (options.queue_steps < 1 || options.queue_steps > queue_steps_max) {
        throw InvalidArgument(Problem{"queue_steps is out of range", text(options.queue_steps),
                                      text("1 to ", queue_steps_max),
                                      "A step being written counts as one"});
    }
    if (options.queue_bytes < 0 || options.queue_bytes > queue_bytes_max) {
        throw InvalidArgument(Problem{
            "queue_bytes is out of range", text(options.queue_bytes),
            text("1 to ", queue_bytes_max, ", or 0 for a quarter of this host's memory"), ""});
    }
    if (options.readers < 0 || options.readers > 32) {
        throw InvalidArgument(
            Problem{"readers is out of range", text(options.readers), "0 to 32 reader jobs", ""});
    }
    check_seconds("rendezvous_timeout", options.rendezvous_timeout_s, 0);
    check_seconds("step_timeout", options.step_timeout_s, 0);
    check_seconds("stall_timeout", options.stall_timeout_s, 0.2);
    if (options.full == FullPolicy::Block && options.on_stalled_reader == StalledPolicy::Wait &&
        options.step_timeout_s <= options.stall_timeout_s) {
        throw InvalidArgument(Problem{
            "these options cannot work together",
            text("full='block', on_stalled_reader='wait', step_timeout=", options.step_timeout_s,
                 " s, stall_timeout=", options.stall_timeout_s, " s"),
            "step_timeout above stall_timeout",
            "A stopped reader would end the writer before it is noticed; raise step_timeout"});
    }
}

void validate(const std::string& name, const ReaderOptions& options) {
    check_name(name);
    check_seconds("rendezvous_timeout", options.rendezvous_timeout_s, 0);
    check_seconds("step_timeout", options.step_timeout_s, 0);
    check_seconds("stall_timeout", options.stall_timeout_s, 0.2);
}

FullPolicy full_policy_from_name(const std::string& name) {
    return choose<FullPolicy>("full", name,
                              {{"block", FullPolicy::Block},
                               {"discard-newest", FullPolicy::DiscardNewest},
                               {"discard-oldest", FullPolicy::DiscardOldest}});
}

StalledPolicy stalled_policy_from_name(const std::string& name) {
    return choose<StalledPolicy>("on_stalled_reader", name,
                                 {{"evict", StalledPolicy::Evict}, {"wait", StalledPolicy::Wait}});
}

Start start_from_name(const std::string& name) {
    return choose<Start>("start", name, {{"oldest", Start::Oldest}, {"next", Start::Next}});
}

std::int64_t effective_queue_bytes(const WriterOptions& options) {
    if (options.queue_bytes > 0) {
        return options.queue_bytes;
    }
    return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 4;
}

}  // namespace fluvial::stage
