// SPDX-License-Identifier: Apache-2.0
/// Slurm's topology.conf: a tree of switches with hosts at its leaves.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/letter_case.hpp"
#include "fluvial/route/description.hpp"

namespace fluvial::route {
namespace {

[[noreturn]] void throw_bad_list(std::string_view list) {
    throw InvalidArgument(Problem{"a list of hosts cannot be read", "'" + shortened(list) + "'",
                                  "names, and ascending numbers in brackets: node[01-16,20],login",
                                  ""});
}

void check_count(const std::vector<std::string>& names, std::string_view list) {
    if (names.size() > static_cast<std::size_t>(Graph::nodes_max)) {
        throw InvalidArgument(Problem{"a list of hosts is too long", "'" + shortened(list) + "'",
                                      text("at most ", Graph::nodes_max, " names"), ""});
    }
}

std::size_t number_in(std::string_view digits, std::string_view list) {
    std::size_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || error != std::errc() || stopped != end) {
        throw_bad_list(list);
    }
    return value;
}

/// Appends "01", "02", … of "01-16,20".
void append_numbers(std::string_view ranges, std::string_view list, std::vector<std::string>& out) {
    while (true) {
        const std::string_view part = ranges.substr(0, ranges.find(','));
        const auto dash = part.find('-');
        const std::string_view low = part.substr(0, dash);
        const std::string_view high = dash == part.npos ? low : part.substr(dash + 1);
        const std::size_t first = number_in(low, list), last = number_in(high, list);
        if (last < first || last - first > static_cast<std::size_t>(Graph::nodes_max)) {
            throw_bad_list(list);
        }
        for (std::size_t i = first; i <= last; ++i) {
            const std::string digits = text(i);
            out.push_back(std::string(low.size() - std::min(low.size(), digits.size()), '0') +
                          digits);
        }
        if (part.size() == ranges.size()) {
            return;
        }
        ranges.remove_prefix(part.size() + 1);
    }
}

/// One name with brackets: each pair of them multiplies the names.
std::vector<std::string> expand(std::string_view name, std::string_view list) {
    std::vector<std::string> names{""};
    while (!name.empty()) {
        const auto open = name.find('[');
        const std::string_view plain = name.substr(0, open);
        std::vector<std::string> numbers{""};
        name.remove_prefix(plain.size());
        if (!name.empty()) {
            const auto close = name.find(']');
            if (close == name.npos) {
                throw_bad_list(list);
            }
            numbers.clear();
            append_numbers(name.substr(1, close - 1), list, numbers);
            name.remove_prefix(close + 1);
        }
        if (plain.find(']') != plain.npos) {
            throw_bad_list(list);
        }
        std::vector<std::string> longer;
        for (const std::string& begun : names) {
            for (const std::string& number : numbers) {
                longer.push_back(begun + std::string(plain) + number);
                check_count(longer, list);
            }
        }
        names = std::move(longer);
    }
    return names;
}

/// In the same order. To Slurm a host that ranges name twice is one host; two links to its switch
/// would give it twice the bandwidth.
std::vector<std::string> each_once(const std::vector<std::string>& names) {
    std::unordered_set<std::string_view> seen;
    std::vector<std::string> out;
    for (const std::string& name : names) {
        if (seen.insert(name).second) {
            out.push_back(name);
        }
    }
    return out;
}

struct Line {
    std::string name;
    std::vector<std::string> nodes, switches;
};

/// Refuses switches that are above each other. Takes those away that have none below them, as often
/// as there are any: what is left is a circle, or above one.
void check_no_circle(const std::vector<Line>& lines) {
    std::unordered_map<std::string_view, std::vector<std::size_t>> above;
    std::vector<std::size_t> below(lines.size(), 0), free;
    std::unordered_set<std::string_view> known;
    for (const Line& line : lines) {
        known.insert(line.name);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        for (const std::string& name : lines[i].switches) {
            if (known.contains(name)) {
                above[name].push_back(i);
                ++below[i];
            }
        }
        if (below[i] == 0) {
            free.push_back(i);
        }
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
        // Once, where a name comes twice, which is refused elsewhere.
        for (const std::size_t one : std::exchange(above[lines[free[i]].name], {})) {
            if (--below[one] == 0) {
                free.push_back(one);
            }
        }
    }
    const auto left = std::ranges::find_if(below, [](std::size_t count) { return count > 0; });
    if (left != below.end()) {
        const std::string& name = lines[static_cast<std::size_t>(left - below.begin())].name;
        throw InvalidArgument(Problem{"switches of a topology.conf are above each other",
                                      "'" + shortened(name) + "' and those below it",
                                      "a tree of switches", "Correct Switches=…"});
    }
}

bool same_word(std::string_view a, std::string_view b) {
    return same_but_for_case(a, b);
}

Line parse_line(std::string_view line, std::size_t number) {
    constexpr std::string_view blanks = " \t\r";
    Line out;
    std::vector<std::string_view> keys;
    for (auto begin = line.find_first_not_of(blanks); begin != line.npos;
         begin = line.find_first_not_of(blanks)) {
        line.remove_prefix(begin);
        const std::string_view word = line.substr(0, line.find_first_of(blanks));
        line.remove_prefix(word.size());
        const std::string_view key = word.substr(0, word.find('='));
        const std::string_view value = word.substr(std::min(key.size() + 1, word.size()));
        if (std::ranges::any_of(keys, [&](std::string_view one) { return same_word(one, key); })) {
            throw InvalidArgument(
                Problem{text("a word comes twice in line ", number, " of a topology.conf"),
                        "'" + shortened(word) + "'", "each word once",
                        "Write all names behind one: Nodes=n01,n02"});
        }
        keys.push_back(key);
        if (same_word(key, "SwitchName") && !value.empty()) {
            out.name = value;
        } else if (same_word(key, "Nodes") && !value.empty()) {
            out.nodes = each_once(names_in(value));
        } else if (same_word(key, "Switches") && !value.empty()) {
            out.switches = each_once(names_in(value));
        } else if (!same_word(key, "LinkSpeed")) {
            throw InvalidArgument(
                Problem{text("line ", number, " of a topology.conf cannot be read"),
                        "'" + shortened(word) + "'",
                        "SwitchName=…, Nodes=…, Switches=…, LinkSpeed=… (topology/tree)",
                        "For other networks, write the topology as JSON"});
        }
    }
    if (out.name.empty()) {
        throw InvalidArgument(Problem{text("line ", number, " of a topology.conf has no switch"),
                                      "no SwitchName", "SwitchName=… in each line", ""});
    }
    return out;
}

/// Takes a line without its comment off the text, and with it what continues it: a line goes on in
/// the next one where a backslash is its last character, as Slurm reads it.
std::string next_line(std::string_view& text, std::size_t& number) {
    std::string out;
    bool goes_on = true;
    while (goes_on && !text.empty()) {
        const std::string_view whole = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), whole.size() + 1));
        ++number;
        const std::string_view line = whole.substr(0, whole.find('#'));
        const auto last = line.find_last_not_of(" \t\r");
        goes_on = last != line.npos && line[last] == '\\';
        out += goes_on ? line.substr(0, last) : line;
    }
    return out;
}

}  // namespace

std::vector<std::string> names_in(std::string_view host_list) {
    std::vector<std::string> names;
    std::size_t begin = 0;
    int open = 0;
    for (std::size_t i = 0; i <= host_list.size(); ++i) {
        const char c = i < host_list.size() ? host_list[i] : ',';
        open += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (i == host_list.size() || (c == ',' && open == 0)) {
            if (i == begin || open != 0) {
                throw_bad_list(host_list);
            }
            for (std::string& name : expand(host_list.substr(begin, i - begin), host_list)) {
                names.push_back(std::move(name));
            }
            check_count(names, host_list);
            begin = i + 1;
        }
    }
    return names;
}

GraphDescription description_from_slurm(std::string_view text, const LinkDefaults& defaults) {
    GraphDescription out;
    std::unordered_set<std::string> seen;
    std::vector<Line> lines;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t first = number + 1;
        const std::string line = next_line(text, number);
        if (line.find_first_not_of(" \t\r") == line.npos) {
            continue;
        }
        const Line& parsed = lines.emplace_back(parse_line(line, first));
        out.switches.push_back(parsed.name);
        for (const std::string& host : parsed.nodes) {
            if (seen.insert(host).second) {
                out.hosts.push_back(host);
            }
        }
        for (const auto* const below : {&parsed.nodes, &parsed.switches}) {
            for (const std::string& name : *below) {
                if (name == parsed.name) {
                    throw InvalidArgument(Problem{fluvial::text("a switch is below itself in line ",
                                                                first, " of a topology.conf"),
                                                  "'" + shortened(name) + "'",
                                                  "other switches, and hosts", ""});
                }
                out.links.push_back({name, parsed.name, defaults.bandwidth, defaults.latency});
            }
        }
    }
    check_no_circle(lines);
    return out;
}

}  // namespace fluvial::route
