// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/named_options.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <string_view>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/stage/contact.hpp"

namespace fluvial::stage {
namespace {

[[noreturn]] void refuse(const std::string& value, const char* allowed) {
    throw InvalidArgument(
        Problem{"the value of an option makes no sense", "'" + value + "'", allowed, ""});
}

/// `whole`: the text of which `value` is the number; the value itself by default.
template <class Number>
Number number_of(std::string_view value, const char* allowed, std::string_view whole = {}) {
    Number number{};
    const char* const end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stopped != end) {
        refuse(std::string(whole.empty() ? value : whole), allowed);
    }
    return number;
}

// How values are read.
std::string as_text(const std::string& value) {
    return value;
}
int as_int(const std::string& value) {
    return number_of<int>(value, "a whole number");
}
std::int64_t as_whole(const std::string& value) {
    return number_of<std::int64_t>(value, "a whole number");
}
double as_seconds(const std::string& value) {
    return number_of<double>(value, "seconds");
}
bool as_truth(const std::string& value) {
    const bool is_true = value == "true" || value == "1";
    if (!is_true && value != "false" && value != "0") {
        refuse(value, "true, false");
    }
    return is_true;
}
/// 1048576, "1 MiB", "256Mi", "2 GB".
std::int64_t as_bytes(const std::string& value) {
    constexpr const char* allowed = "a number of bytes, or one with a unit: 256 MiB, 2 GiB, 2 GB";
    const std::size_t letters = value.find_last_not_of("iBKMGT") + 1;
    const std::string unit = value.substr(letters);
    const std::size_t digits = value.find_last_not_of(' ', letters == 0 ? 0 : letters - 1) + 1;
    if (unit.empty()) {
        return number_of<std::int64_t>(std::string_view(value).substr(0, digits), allowed, value);
    }
    const std::string_view letter = std::string_view(unit).substr(0, 1), rest(unit.c_str() + 1);
    const std::size_t power = std::string_view("BKMGT").find(letter);
    const bool binary = rest == "i" || rest == "iB";
    if (power == std::string_view::npos || (power == 0 ? !rest.empty() : !binary && rest != "B")) {
        refuse(value, allowed);
    }
    const double number =
        number_of<double>(std::string_view(value).substr(0, digits), allowed, value);
    const double bytes = number * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
    if (!(bytes >= 0 && bytes < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) {
        refuse(value, allowed);
    }
    return static_cast<std::int64_t>(bytes);
}

/// An option of a class of them.
template <class Options>
struct Option {
    /// Takes a value.
    std::function<void(Options&, const std::string&)> set;
    /// Whether it is the same in both.
    std::function<bool(const Options&, const Options&)> equal;
};

/// All options of a class, by their names.
template <class Options>
class Table {
  public:
    template <class T, class Read>
    Table& own(const std::string& name, T Options::* member, Read read) {
        return add(name, [member](auto& options) -> auto& { return options.*member; }, read);
    }
    template <class Stream, class T, class Read>
    Table& of_stream(const std::string& name, T Stream::* member, Read read) {
        return add(name, [member](auto& options) -> auto& { return options.stream.*member; }, read);
    }
    Table& special(const std::string& name, Option<Options> option) {
        options_[name] = std::move(option);
        return *this;
    }

    bool has(const std::string& name) const { return options_.contains(name); }
    std::set<std::string> names() const {
        std::set<std::string> all;
        for (const auto& [name, option] : options_) {
            all.insert(name);
        }
        return all;
    }
    bool equal(const std::string& name, const Options& a, const Options& b) const {
        return options_.at(name).equal(a, b);
    }
    void set(const std::string& name, Options& options, const std::string& value) const {
        try {
            options_.at(name).set(options, value);
        } catch (const InvalidArgument& error) {
            throw InvalidArgument(text("option ", name, ": ", error.what()));
        }
    }

  private:
    template <class At, class Read>
    Table& add(const std::string& name, At at, Read read) {
        return special(
            name, {[=](Options& options, const std::string& value) { at(options) = read(value); },
                   [=](const Options& a, const Options& b) { return at(a) == at(b); }});
    }
    std::map<std::string, Option<Options>> options_;
};

void set_full(SeriesWriterOptions& options, const std::string& value) {
    const FullPolicies policies = full_policies_from_name(value);
    options.stream.full = policies.queue;
    options.stream.on_full_disk = policies.disk;
}

void set_retain(SeriesWriterOptions& options, const std::string& value) {
    const std::string& folder = options.stream.directory;
    options.stream.retain =
        value == "true"    ? std::filesystem::path(contact_path(folder, "_")).parent_path().string()
        : value == "false" ? ""
                           : value;
}

void set_follow(SeriesReaderOptions& options, const std::string& value) {
    const std::set<std::string_view> truths = {"true", "false", "1", "0"};
    options.follow = !truths.contains(value) || as_truth(value);
    options.until = truths.contains(value) ? options.until : value;
}

const Table<SeriesWriterOptions>& table_of(const SeriesWriterOptions&) {
    using All = SeriesWriterOptions;
    using Stream = WriterOptions;
    static const auto all =
        Table<All>()
            .own("engine", &All::engine, as_text)
            .own("compression", &All::compression, as_text)
            .own("aggregators", &All::aggregators, as_int)
            .own("options", &All::job, as_text)
            .of_stream("queue_steps", &Stream::queue_steps, as_whole)
            .of_stream("reserve", &Stream::reserve, as_whole)
            .of_stream("queue_bytes", &Stream::queue_bytes, as_bytes)
            .special("full", {set_full,
                              [](const All& a, const All& b) {
                                  return a.stream.full == b.stream.full &&
                                         a.stream.on_full_disk == b.stream.on_full_disk;
                              }})
            .of_stream("spill", &Stream::spill, as_text)
            .of_stream("spill_bytes", &Stream::spill_bytes, as_bytes)
            .special("retain",
                     {set_retain, [](const All& a,
                                     const All& b) { return a.stream.retain == b.stream.retain; }})
            .of_stream("steps_to", &Stream::steps_to, steps_to_from_name)
            .of_stream("on_stalled_reader", &Stream::on_stalled_reader, stalled_policy_from_name)
            .of_stream("readers", &Stream::readers, as_int)
            .of_stream("directory", &Stream::directory, as_text)
            .of_stream("rendezvous_timeout", &Stream::rendezvous_timeout_s, as_seconds)
            .of_stream("step_timeout", &Stream::step_timeout_s, as_seconds)
            .of_stream("stall_timeout", &Stream::stall_timeout_s, as_seconds)
            .of_stream("network", &Stream::network, as_text)
            .of_stream("ports", &Stream::ports, as_text)
            .of_stream("encrypt", &Stream::encrypt, as_truth);
    return all;
}

const Table<SeriesReaderOptions>& table_of(const SeriesReaderOptions&) {
    using All = SeriesReaderOptions;
    using Stream = ReaderOptions;
    static const auto all =
        Table<All>()
            .own("engine", &All::engine, as_text)
            .special("follow", {set_follow,
                                [](const All& a, const All& b) {
                                    return a.follow == b.follow && a.until == b.until;
                                }})
            .own("until", &All::until, as_text)
            .own("options", &All::job, as_text)
            .of_stream("start", &Stream::start, start_from_name)
            .of_stream("full", &Stream::full, full_of_reader_from_name)
            .of_stream("resume", &Stream::resume, as_text)
            .of_stream("retained", &Stream::retained, as_text)
            .of_stream("directory", &Stream::directory, as_text)
            .of_stream("rendezvous_timeout", &Stream::rendezvous_timeout_s, as_seconds)
            .of_stream("step_timeout", &Stream::step_timeout_s, as_seconds)
            .of_stream("stall_timeout", &Stream::stall_timeout_s, as_seconds)
            .of_stream("transport", &Stream::transport, as_text)
            .of_stream("interfaces", &Stream::interfaces, as_text)
            .of_stream("fetch", &Stream::fetch, as_text)
            .of_stream("contact", &Stream::contact, as_text);
    return all;
}

template <class Options>
void check_known(const std::string& key, const Table<Options>& table) {
    if (table.has(key)) {
        return;
    }
    std::string all;
    const std::set<std::string> names = table.names();
    for (const std::string& name : names) {
        all += (all.empty() ? "" : ", ") + name;
    }
    throw UnknownName(Problem{"a series has no option of this name", "'" + key + "'", all,
                              did_you_mean(key, std::vector(names.begin(), names.end()))});
}

template <class Options, class OfOtherEnd>
Options options_from(const NamedOptions& said, OtherEnd other) {
    Options options;
    const auto& table = table_of(options);
    const auto& others = table_of(OfOtherEnd());
    for (const auto& [key, value] : said) {
        if (other == OtherEnd::Ignored && !table.has(key) && others.has(key)) {
            continue;
        }
        check_known(key, table);
        table.set(key, options, value);
    }
    return options;
}

template <class Options>
void fill_in_those_unsaid(Options& options, const NamedOptions& said) {
    const auto& table = table_of(options);
    const Options as_called = options, defaults;
    for (const auto& [key, value] : said) {
        if (table.has(key) && table.equal(key, as_called, defaults)) {
            table.set(key, options, value);
        }
    }
}

}  // namespace

SeriesWriterOptions writer_options(const NamedOptions& said, OtherEnd other) {
    return options_from<SeriesWriterOptions, SeriesReaderOptions>(said, other);
}

SeriesReaderOptions reader_options(const NamedOptions& said, OtherEnd other) {
    return options_from<SeriesReaderOptions, SeriesWriterOptions>(said, other);
}

void fill_in(SeriesWriterOptions& options, const NamedOptions& said) {
    fill_in_those_unsaid(options, said);
}

void fill_in(SeriesReaderOptions& options, const NamedOptions& said) {
    fill_in_those_unsaid(options, said);
}

std::vector<std::string> option_names() {
    std::set<std::string> names = table_of(SeriesWriterOptions()).names();
    names.merge(table_of(SeriesReaderOptions()).names());
    return {names.begin(), names.end()};
}

}  // namespace fluvial::stage
