// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/named_options.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::scan {
namespace {

/// Takes the value of an option.
using Setter = std::function<void(const std::string& value)>;
using Setters = std::map<std::string, Setter>;

[[noreturn]] void refuse(const std::string& value, const char* allowed) {
    throw InvalidArgument(
        Problem{"the value of an option makes no sense", "'" + value + "'", allowed, ""});
}

template <class Number>
Number number_of(const std::string& value, const char* allowed) {
    Number number{};
    const char* const end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stopped != end) {
        refuse(value, allowed);
    }
    return number;
}

Setter into(std::string& to) {
    return [&to](const std::string& value) { to = value; };
}

template <class Whole>
Setter into_whole(Whole& to) {
    return [&to](const std::string& value) { to = number_of<Whole>(value, "a whole number"); };
}

Setter into_seconds(double& to) {
    return [&to](const std::string& value) { to = number_of<double>(value, "seconds"); };
}

Setter into_truth(bool& to) {
    return [&to](const std::string& value) {
        to = value == "true" || value == "1";
        if (!to && value != "false" && value != "0") {
            refuse(value, "true, false");
        }
    };
}

template <class Choice, class FromName>
Setter into_choice(Choice& to, FromName from_name) {
    return [&to, from_name](const std::string& value) { to = from_name(value); };
}

Setters setters_of(stage::SeriesWriterOptions& options) {
    stage::WriterOptions& stream = options.stream;
    const auto full = [&stream](const std::string& value) {
        const stage::FullPolicies policies = stage::full_policies_from_name(value);
        stream.full = policies.queue;
        stream.on_full_disk = policies.disk;
    };
    const auto aggregators = [&options](const std::string& value) {
        options.aggregators = number_of<int>(value, "a whole number");
    };
    return {{"engine", into(options.engine)},
            {"compression", into(options.compression)},
            {"aggregators", aggregators},
            {"queue_steps", into_whole(stream.queue_steps)},
            {"reserve", into_whole(stream.reserve)},
            {"queue_bytes", into_whole(stream.queue_bytes)},
            {"full", full},
            {"spill", into(stream.spill)},
            {"spill_bytes", into_whole(stream.spill_bytes)},
            {"retain", into(stream.retain)},
            {"steps_to", into_choice(stream.steps_to, stage::steps_to_from_name)},
            {"on_stalled_reader",
             into_choice(stream.on_stalled_reader, stage::stalled_policy_from_name)},
            {"readers", into_whole(stream.readers)},
            {"directory", into(stream.directory)},
            {"rendezvous_timeout", into_seconds(stream.rendezvous_timeout_s)},
            {"step_timeout", into_seconds(stream.step_timeout_s)},
            {"stall_timeout", into_seconds(stream.stall_timeout_s)},
            {"network", into(stream.network)},
            {"ports", into(stream.ports)},
            {"encrypt", into_truth(stream.encrypt)}};
}

Setters setters_of(SeriesOptions& options) {
    stage::ReaderOptions& stream = options.stream;
    return {{"engine", into(options.engine)},
            {"follow", into_truth(options.follow)},
            {"until", into(options.until)},
            {"start", into_choice(stream.start, stage::start_from_name)},
            {"resume", into(stream.resume)},
            {"retained", into(stream.retained)},
            {"directory", into(stream.directory)},
            {"rendezvous_timeout", into_seconds(stream.rendezvous_timeout_s)},
            {"step_timeout", into_seconds(stream.step_timeout_s)},
            {"stall_timeout", into_seconds(stream.stall_timeout_s)},
            {"transport", into(stream.transport)},
            {"interfaces", into(stream.interfaces)},
            {"fetch", into(stream.fetch)},
            {"contact", into(stream.contact)}};
}

void check_known(const std::string& key, const Setters& setters) {
    if (setters.contains(key)) {
        return;
    }
    std::vector<std::string> names;
    std::string all;
    for (const auto& [name, setter] : setters) {
        names.push_back(name);
        all += (all.empty() ? "" : ", ") + name;
    }
    throw UnknownName(Problem{"a series has no option of this name", "'" + key + "'", all,
                              did_you_mean(key, names)});
}

template <class Options, class OfOtherEnd>
Options options_from(const NamedOptions& said, OtherEnd other) {
    Options options;
    OfOtherEnd of_other_end;
    const Setters setters = setters_of(options), others = setters_of(of_other_end);
    for (const auto& [key, value] : said) {
        const bool is_others = !setters.contains(key) && others.contains(key);
        if (is_others && other == OtherEnd::Ignored) {
            continue;
        }
        check_known(key, setters);
        try {
            setters.at(key)(value);
        } catch (const InvalidArgument& error) {
            throw InvalidArgument(text("option ", key, ": ", error.what()));
        }
    }
    return options;
}

}  // namespace

stage::SeriesWriterOptions writer_options(const NamedOptions& said, OtherEnd other) {
    return options_from<stage::SeriesWriterOptions, SeriesOptions>(said, other);
}

SeriesOptions reader_options(const NamedOptions& said, OtherEnd other) {
    return options_from<SeriesOptions, stage::SeriesWriterOptions>(said, other);
}

}  // namespace fluvial::scan
