// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/job_options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/json.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/base/toml.hpp"
#include "fluvial/stage/named_options.hpp"

namespace fluvial::stage {
namespace {

constexpr std::array<std::string_view, 2> written_by_python = {"file_per", "zarr_format"};
constexpr std::array<std::string_view, 3> read_by_python = {"decode", "isolated", "raw"};

/// What a job script says.
struct Said {
    Json table;
    std::string where;  ///< for messages: "FLUVIAL_OPTIONS", "'run.toml'"
};

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

std::string content_of(const std::string& path, const std::string& what) {
    std::error_code error;
    if (!exists(path)) {
        throw NoSuchFile(Problem{
            "no such file of " + what, "'" + path + "'", "a path, or text of TOML or JSON",
            "Check the working directory, " + std::filesystem::current_path(error).string()});
    }
    std::ifstream file(path, std::ios::binary);
    std::string content;
    if (file && !std::filesystem::is_directory(path, error)) {
        content.assign(std::istreambuf_iterator<char>(file), {});
    } else {
        throw InvalidArgument(Problem{"'" + path + "' cannot be read",
                                      file ? "a folder" : std::strerror(errno),
                                      "a file of TOML or JSON", ""});
    }
    constexpr std::string_view mark = "\xef\xbb\xbf";  // with which editors of Windows begin UTF-8
    return content.starts_with(mark) ? content.substr(mark.size()) : content;
}

bool in_braces(const std::string& said) {
    const std::size_t first = said.find_first_not_of(" \t\r\n");
    return first != std::string::npos && said[first] == '{';
}

Json parsed(const std::string& content, bool is_json, const std::string& where) {
    try {
        Json table = is_json ? parse_json(content) : parse_toml(content);
        table.members("what it says");
        return table;
    } catch (const InvalidArgument& error) {
        throw InvalidArgument(where + ": " + error.what());
    }
}

std::optional<Said> said_by(const std::optional<std::string>& job) {
    const char* const variable = std::getenv("FLUVIAL_OPTIONS");
    const std::string what = job ? "options" : "FLUVIAL_OPTIONS";
    const std::string said = job ? *job : variable == nullptr ? "" : variable;
    if (said.empty()) {
        return std::nullopt;
    }
    const bool is_json = in_braces(said);
    if (is_json || (said.find('=') != std::string::npos && !exists(said))) {
        return Said{parsed(said, is_json, what), what};
    }
    const std::string where = "'" + said + "'";
    const std::string content = content_of(said, what);
    return Said{parsed(content, said.ends_with(".json") || in_braces(content), where), where};
}

/// The names that a table may have, without that of the tables of series.
std::vector<std::string> known_names() {
    std::vector<std::string> known = option_names();
    // `follow` has what `until` is, and a job script has no job script of its own.
    std::erase_if(known, [](const auto& name) { return name == "until" || name == "options"; });
    known.emplace_back("path");
    known.insert(known.end(), written_by_python.begin(), written_by_python.end());
    known.insert(known.end(), read_by_python.begin(), read_by_python.end());
    std::sort(known.begin(), known.end());
    return known;
}

void check_names(const Json::Members& table, const std::string& where,
                 const std::vector<std::string>& known) {
    for (const auto& [name, value] : table) {
        if (std::find(known.begin(), known.end(), name) != known.end()) {
            continue;
        }
        const bool is_table = std::holds_alternative<Json::Members>(value.value());
        throw UnknownName(Problem{"unknown option in " + where, "'" + name + "'", listed(known),
                                  is_table ? "A name with dots is quoted, as in [series.\"run.h5\"]"
                                           : did_you_mean(name, known)});
    }
}

template <class Number>
std::string digits_of(Number number) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return {digits.data(), end};
}

/// The value as NamedOptions have it; none: null, which stands for the default.
std::optional<std::string> text_of_option(const std::string& name, const Json& said) {
    const Json::Value& value = said.value();
    if (const auto* const truth = std::get_if<bool>(&value)) {
        return *truth ? "true" : "false";
    }
    if (const auto* const number = std::get_if<double>(&value)) {
        return digits_of(*number);
    }
    if (const auto* const number = std::get_if<std::int64_t>(&value)) {
        return digits_of(*number);
    }
    if (const auto* const number = std::get_if<std::uint64_t>(&value)) {
        return digits_of(*number);
    }
    if (std::holds_alternative<std::nullptr_t>(value)) {
        return std::nullopt;
    }
    return said.string("option " + name);
}

void check_engine(const std::string& engine, const std::string& where) {
    static const std::vector<std::string> engines = {"stage", "hdf5", "netcdf", "netcdf4",
                                                     "zarr",  "bp",   "raw"};
    if (std::find(engines.begin(), engines.end(), engine) == engines.end()) {
        throw UnknownName(Problem{"unknown engine of " + where, "'" + engine + "'", listed(engines),
                                  did_you_mean(engine, engines)});
    }
}

/// What is said of one series: the options of all, and over them its own.
class OfSeries {
  public:
    OfSeries(const Said& said, const std::optional<std::string>& name) : where_(said.where) {
        const std::vector<std::string> known = known_names();
        std::vector<std::string> at_top = known;
        at_top.emplace_back("series");
        const Json::Members& top = said.table.members("what it says");
        check_names(top, where_, at_top);
        const Json* const tables = said.table.find("series");
        const Json::Members none;
        const Json::Members& by_name =
            tables == nullptr ? none : tables->members("'series' in " + where_);
        for (const auto& [series, table] : by_name) {
            check_names(table.members("'series." + series + "' in " + where_),
                        where_ + ", series '" + series + "'", known);
        }
        take(top);
        for (const auto& [series, table] : by_name) {
            if (name && series == *name) {
                take(table.members("series"));
            }
        }
    }

    template <class Options, std::size_t N>
    Choice<Options> together_with(Options options,
                                  const std::array<std::string_view, N>& of_python) const {
        Choice<Options> choice{path_, std::move(options), {}};
        try {
            fill_in(choice.options, options_);
        } catch (const InvalidArgument& error) {
            throw InvalidArgument(where_ + ": " + error.what());
        }
        for (const std::string_view name : of_python) {
            const auto has = [&](const std::string& said) { return said == name; };
            if (std::any_of(of_python_.begin(), of_python_.end(), has)) {
                choice.of_python = std::string(name) + " of " + where_;
            }
        }
        return choice;
    }

  private:
    static bool is_of_python(const std::string& name) {
        return std::count(written_by_python.begin(), written_by_python.end(), name) +
                   std::count(read_by_python.begin(), read_by_python.end(), name) !=
               0;
    }
    void take(const Json::Members& table) {
        for (const auto& [name, value] : table) {
            if (name == "series") {
                continue;
            }
            if (is_of_python(name)) {
                of_python_.push_back(name);
                continue;
            }
            const std::optional<std::string> said = text_of_option(name, value);
            if (said && (name == "path" || name == "engine")) {
                value.string(name + " in " + where_);
            }
            if (name == "path") {
                path_ = said;
                continue;
            }
            if (name == "engine" && said) {
                check_engine(*said, where_);
            }
            options_.erase(name);
            if (said) {
                options_[name] = *said;
            }
        }
    }

    std::string where_;
    NamedOptions options_;
    std::optional<std::string> path_;
    std::vector<std::string> of_python_;
};

template <class Options, std::size_t N>
Choice<Options> chosen(const std::optional<std::string>& name, const Options& options,
                       const std::array<std::string_view, N>& of_python) {
    const std::optional<Said> said = said_by(options.job);
    return said ? OfSeries(*said, name).together_with(options, of_python)
                : Choice<Options>{{}, options, {}};
}

}  // namespace

Choice<SeriesWriterOptions> with_job_options(const std::optional<std::string>& name,
                                             const SeriesWriterOptions& options) {
    return chosen(name, options, written_by_python);
}

Choice<SeriesReaderOptions> with_job_options(const std::optional<std::string>& name,
                                             const SeriesReaderOptions& options) {
    return chosen(name, options, read_by_python);
}

void refuse_options_of_python(const std::string& of_python) {
    if (!of_python.empty()) {
        throw InvalidArgument(Problem{"this option is for Python alone", of_python,
                                      "what C++ has of files (compression, aggregators, follow)",
                                      "Say it in the table of a series that Python opens"});
    }
}

}  // namespace fluvial::stage
