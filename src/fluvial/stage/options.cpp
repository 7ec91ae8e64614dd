// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/move/network.hpp"
#include "fluvial/move/rails.hpp"
#include "fluvial/stage/service_cores.hpp"
#include "fluvial/store/engines.hpp"

namespace fluvial::stage {
namespace {

void check_stream_name(const std::string& name) {
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

/// Of which a file's name is made.
void check_word(const char* option, const std::string& word) {
    const auto legal = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
    };
    if (word.size() > 128 || word.front() == '.' || !std::all_of(word.begin(), word.end(), legal)) {
        throw InvalidArgument(
            Problem{text(option, " cannot be used"), "'" + word + "'",
                    "1 to 128 letters, digits, '.', '_' or '-', not beginning with '.'", ""});
    }
}

void check_seconds(const char* option, double value, double least) {
    if (!std::isfinite(value) || value < least || value > 1e7) {
        throw InvalidArgument(Problem{text(option, " is out of range"), text(value, " s"),
                                      text(least, " to 1e7 s"), ""});
    }
}

template <class Choice>
using Named = std::pair<const char*, Choice>;

constexpr std::array<Named<FullPolicy>, 4> full_policies = {
    {{"block", FullPolicy::Block},
     {"discard-newest", FullPolicy::DiscardNewest},
     {"discard-oldest", FullPolicy::DiscardOldest},
     {"spill", FullPolicy::Spill}}};
constexpr std::span disk_policies = std::span(full_policies).first<3>();  // all but Spill
constexpr std::array<Named<StepsTo>, 3> steps_to_names = {{{"all", StepsTo::All},
                                                           {"round-robin", StepsTo::RoundRobin},
                                                           {"on-demand", StepsTo::OnDemand}}};
constexpr std::array<Named<StalledPolicy>, 2> stalled_policies = {
    {{"evict", StalledPolicy::Evict}, {"wait", StalledPolicy::Wait}}};
constexpr std::array<Named<Start>, 4> starts = {{{"oldest", Start::Oldest},
                                                 {"next", Start::Next},
                                                 {"first", Start::First},
                                                 {"observe", Start::Observe}}};

constexpr std::array<Named<bool>, 2> fetches = {{{"once", true}, {"each", false}}};

const std::array<Named<TransportChoice>, 4> transports = {
    {{"auto", {}},
     {"tcp", {.network = true}},
     {"libfabric", {.network = true, .libfabric = true}},
     {"libfabric:PROVIDER", {.network = true, .libfabric = true}}}};

template <class Choice>
std::string name_in(std::span<const Named<Choice>> choices, Choice value) {
    const auto found = std::ranges::find(choices, value, &Named<Choice>::second);
    return found == choices.end() ? "unknown" : found->first;
}

template <class Choice>
Choice choose(const char* option, const std::string& name, std::span<const Named<Choice>> choices) {
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

/// Of a program in C++, where a choice is a number; `choices` are those that it may make.
template <class Choice>
void check_choice(const char* option, Choice value, std::span<const Named<Choice>> choices) {
    if (std::ranges::find(choices, value, &Named<Choice>::second) != choices.end()) {
        return;
    }
    std::string allowed;
    for (const auto& [name, choice] : choices) {
        allowed +=
            text(allowed.empty() ? "" : ", ", static_cast<std::uint32_t>(choice), " (", name, ")");
    }
    throw InvalidArgument(Problem{text(option, " is none of its values"),
                                  text("number ", static_cast<std::uint32_t>(value)), allowed,
                                  "Name the enumerator"});
}

/// `option`, or else what the environment says, or else `otherwise`.
std::string chosen(const std::string& option, const char* variable, const char* otherwise) {
    if (!option.empty()) {
        return option;
    }
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

/// A reader that loses steps cannot be one that must have all of them.
void check_full_of_reader(const ReaderOptions& options) {
    if (!options.full) {
        return;
    }
    check_choice<FullPolicy>("full", *options.full, full_policies);
    const std::string said = text("full='", name_of(*options.full), "' with ");
    if (discards(options.full) && (!options.resume.empty() || options.start == Start::First)) {
        throw InvalidArgument(Problem{
            "a reader that may lose steps cannot want all of them",
            said +
                (options.resume.empty() ? "start='first'" : text("resume='", options.resume, "'")),
            "one of them", "full='spill' reads what does not stay in the queue from the disk"});
    }
}

}  // namespace

void validate(const std::string& name, const WriterOptions& options) {
    if (store::names_address(name)) {
        throw InvalidArgument(Problem{"a writer has no address in its name",
                                      "'" + name.substr(0, 80) + "'",
                                      "the stream's name alone, behind the last '/'",
                                      "Say by the option ports at which port readers find it"});
    }
    check_stream_name(name);
    check_choice<FullPolicy>("full", options.full, full_policies);
    check_choice<FullPolicy>("on_full_disk", options.on_full_disk, disk_policies);
    check_choice<StepsTo>("steps_to", options.steps_to, steps_to_names);
    check_choice<StalledPolicy>("on_stalled_reader", options.on_stalled_reader, stalled_policies);
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
    if (options.reserve < 0 || options.reserve >= options.queue_steps) {
        throw InvalidArgument(Problem{
            "reserve is out of range", text(options.reserve),
            text("0 to ", options.queue_steps - 1, ", less than queue_steps=", options.queue_steps),
            "Raise queue_steps: one place is for the step that is being written"});
    }
    if (options.reserve != 0 && options.steps_to != StepsTo::All) {
        throw InvalidArgument(Problem{"steps that are shared out are not given twice",
                                      "reserve with steps_to='round-robin' or 'on-demand'",
                                      "steps_to='all', or no reserve", ""});
    }
    if (options.steps_to != StepsTo::All &&
        (options.full == FullPolicy::Spill || !options.retain.empty())) {
        throw InvalidArgument(
            Problem{"steps on a disk are for all reading jobs alike",
                    "steps_to='round-robin' or 'on-demand' with 'spill' or retain",
                    "steps_to='all', or the other policies of full", ""});
    }
    if (options.spill_bytes < 0) {
        throw InvalidArgument(Problem{"spill_bytes is out of range", text(options.spill_bytes),
                                      "at least 1, or 0 for all that the disk has room for", ""});
    }
    if (options.spill_bytes != 0 && !options.retain.empty()) {
        throw InvalidArgument(Problem{
            "the disk of a stream that is retained has no bound",
            text("spill_bytes=", options.spill_bytes, " with retain='", options.retain, "'"),
            "one of them",
            "All steps stay there: leave spill_bytes out, and retain less by writing less"});
    }
    if (options.on_full_disk != FullPolicy::Block && options.full != FullPolicy::Spill &&
        options.retain.empty()) {
        throw InvalidArgument(Problem{"a policy for a full disk needs steps on a disk",
                                      "full without 'spill', and no retain",
                                      "'spill,discard-newest' and the like, or retain", ""});
    }
    if (!options.retain.empty() &&
        (options.full == FullPolicy::DiscardNewest || options.full == FullPolicy::DiscardOldest ||
         options.on_full_disk == FullPolicy::DiscardOldest)) {
        throw InvalidArgument(Problem{"a stream that is retained keeps each of its steps",
                                      "retain together with a policy that discards steps",
                                      "full='block', 'spill' or 'spill,discard-newest'", ""});
    }
    if (options.readers < 0 || options.readers > 32) {
        throw InvalidArgument(
            Problem{"readers is out of range", text(options.readers), "0 to 32 reader jobs", ""});
    }
    move::ports_of(effective_ports(options));
    service_cores();
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
    check_stream_name(name);
    check_choice<Start>("start", options.start, starts);
    check_full_of_reader(options);
    if (!options.resume.empty()) {
        if (options.start == Start::Observe) {
            throw InvalidArgument(Problem{"a reader that looks on cannot resume",
                                          "start='observe' with resume='" + options.resume + "'",
                                          "one of them", "It has no step that it must not miss"});
        }
        check_position_name(options.resume);
    }
    check_seconds("rendezvous_timeout", options.rendezvous_timeout_s, 0);
    check_seconds("step_timeout", options.step_timeout_s, 0);
    check_seconds("stall_timeout", options.stall_timeout_s, 0.2);
    transport_of(options);
    move::check_interfaces(effective_interfaces(options));
    fetches_once(options);
}

void check_position_name(const std::string& name) {
    check_word("resume", name);
}

FullPolicies full_policies_from_name(const std::string& name) {
    const auto comma = name.find(',');
    FullPolicies policies;
    policies.queue = choose<FullPolicy>("full", name.substr(0, comma), full_policies);
    if (comma != std::string::npos) {
        policies.disk =
            choose<FullPolicy>("full, on a full disk,", name.substr(comma + 1), disk_policies);
    }
    return policies;
}

std::optional<FullPolicy> full_of_reader_from_name(const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(full_policies_from_name(name).queue);
}

std::string name_of(FullPolicy policy) {
    return name_in<FullPolicy>(full_policies, policy);
}

std::string retained_path(const std::string& folder, const std::string& name, int host) {
    const std::string first = text(folder, '/', name, ".steps");
    return host == 0 ? first : text(first, '.', host);
}

std::string effective_spill(const WriterOptions& options) {
    if (!options.spill.empty()) {
        return options.spill;
    }
    for (const char* variable : {"FLUVIAL_SPILL", "TMPDIR"}) {
        if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') {
            return value;
        }
    }
    return "/var/tmp";
}

StepsTo steps_to_from_name(const std::string& name) {
    return choose<StepsTo>("steps_to", name, steps_to_names);
}

std::string name_of(StepsTo to) {
    return name_in<StepsTo>(steps_to_names, to);
}

StalledPolicy stalled_policy_from_name(const std::string& name) {
    return choose<StalledPolicy>("on_stalled_reader", name, stalled_policies);
}

std::string name_of(StalledPolicy policy) {
    return name_in<StalledPolicy>(stalled_policies, policy);
}

Start start_from_name(const std::string& name) {
    return choose<Start>("start", name, starts);
}

std::string name_of(Start start) {
    return name_in<Start>(starts, start);
}

std::string effective_network(const WriterOptions& options) {
    return chosen(options.network, "FLUVIAL_NETWORK", "auto");
}

std::string effective_ports(const WriterOptions& options) {
    return chosen(options.ports, "FLUVIAL_PORTS", "");
}

TransportChoice transport_of(const ReaderOptions& options) {
    const std::string name = chosen(options.transport, "FLUVIAL_TRANSPORT", "auto");
    const std::string with_provider = "libfabric:";
    if (name.starts_with(with_provider) && name.size() > with_provider.size()) {
        return {true, true, name.substr(with_provider.size())};
    }
    return choose<TransportChoice>("transport", name, transports);
}

std::string effective_interfaces(const ReaderOptions& options) {
    return chosen(options.interfaces, "FLUVIAL_INTERFACES", "auto");
}

bool fetches_once(const ReaderOptions& options) {
    return choose<bool>("fetch", chosen(options.fetch, "FLUVIAL_FETCH", "once"), fetches);
}

std::int64_t effective_queue_bytes(const WriterOptions& options) {
    if (options.queue_bytes > 0) {
        return options.queue_bytes;
    }
    return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 4;
}

}  // namespace fluvial::stage
