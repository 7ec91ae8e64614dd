// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

[[noreturn]] void throw_no_strategy(std::string_view text) {
    throw InvalidArgument(Problem{"not the name of a strategy", fluvial::text("'", text, "'"),
                                  "a name, and in parentheses what it takes, such as "
                                  "by-host(binpacking, fallback=hyperslabs)",
                                  ""});
}

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c >= 0x80;
    });
}

/// Cuts at commas outside of parentheses; throws unless these fit together.
std::vector<std::string_view> cut_at_commas(std::string_view inside, std::string_view whole) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int open = 0;
    for (std::size_t i = 0; i < inside.size(); ++i) {
        open += inside[i] == '(' ? 1 : inside[i] == ')' ? -1 : 0;
        if (open < 0) {
            throw_no_strategy(whole);
        }
        if (inside[i] == ',' && open == 0) {
            parts.push_back(inside.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    parts.push_back(inside.substr(begin));
    if (open != 0) {
        throw_no_strategy(whole);
    }
    return parts;
}

}  // namespace

Call parse_call(std::string_view given) {
    const std::string_view text = trimmed(given);
    const auto open = text.find('(');
    Call call{std::string(trimmed(text.substr(0, open))), {}};
    if (!is_name(call.name) || (open != std::string_view::npos && text.back() != ')')) {
        throw_no_strategy(given);
    }
    if (open == std::string_view::npos) {
        return call;
    }
    const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    if (trimmed(inside).empty()) {
        return call;
    }
    for (const std::string_view part : cut_at_commas(inside, given)) {
        const auto equals = part.find('=');
        const bool named = equals < part.find('(') && is_name(trimmed(part.substr(0, equals)));
        const std::string_view value = trimmed(named ? part.substr(equals + 1) : part);
        if (value.empty()) {
            throw_no_strategy(given);
        }
        call.arguments.emplace_back(named ? trimmed(part.substr(0, equals)) : std::string_view(),
                                    value);
    }
    return call;
}

std::optional<std::string> Arguments::take(const std::string& key) {
    known_.push_back(key);
    auto found = std::find_if(left_.begin(), left_.end(),
                              [&](const auto& argument) { return argument.first == key; });
    if (found == left_.end()) {
        found = std::find_if(left_.begin(), left_.end(),
                             [](const auto& argument) { return argument.first.empty(); });
    }
    if (found == left_.end()) {
        return std::nullopt;
    }
    std::string value = std::move(found->second);
    left_.erase(found);
    return value;
}

void Arguments::wrong(const std::string& key, const std::string& seen,
                      const std::string& allowed) const {
    throw InvalidArgument(
        Problem{name_ + ": argument '" + key + "' cannot be used", "'" + seen + "'", allowed, ""});
}

std::optional<Index> Arguments::integer(const std::string& key, Index least) {
    const auto given = take(key);
    if (!given) {
        return std::nullopt;
    }
    Index value = 0;
    const char* const end = given->data() + given->size();
    const auto [stopped, error] = std::from_chars(given->data(), end, value);
    if (error != std::errc() || stopped != end || value < least) {
        wrong(key, *given, fluvial::text("an integer from ", least));
    }
    return value;
}

double Arguments::number(const std::string& key, double fallback, double least, double most) {
    const auto given = take(key);
    if (!given) {
        return fallback;
    }
    double value = 0;
    const char* const end = given->data() + given->size();
    const auto [stopped, error] = std::from_chars(given->data(), end, value);
    if (error != std::errc() || stopped != end || !(least <= value && value <= most)) {
        wrong(key, *given, fluvial::text("a number from ", least, " to ", most));
    }
    return value;
}

std::string Arguments::word(const std::string& key, const std::string& example) {
    const auto given = take(key);
    if (!given) {
        throw InvalidArgument(Problem{fluvial::text(name_, ": argument '", key, "' is missing"),
                                      "nothing", "as in " + example, ""});
    }
    return *given;
}

StrategyPtr Arguments::strategy(const std::string& key, const std::string& example) {
    return make_strategy(word(key, example), own_, depth_ + 1);
}

StrategyPtr Arguments::strategy_if_given(const std::string& key) {
    const auto given = take(key);
    return given ? make_strategy(*given, own_, depth_ + 1) : nullptr;
}

void Arguments::done() const {
    if (left_.empty()) {
        return;
    }
    std::string allowed;
    for (const std::string& key : known_) {
        allowed += (allowed.empty() ? "" : ", ") + key;
    }
    const auto& [key, value] = left_.front();
    if (std::ranges::find(known_, key) != known_.end()) {
        throw InvalidArgument(
            Problem{name_ + ": an argument is given twice", "'" + key + "'", "each once", ""});
    }
    throw UnknownName(Problem{name_ + ": unknown argument", "'" + (key.empty() ? value : key) + "'",
                              allowed.empty() ? "none" : allowed,
                              key.empty() ? "" : did_you_mean(key, known_)});
}

}  // namespace fluvial::distribute
