// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/topology_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::route {

std::vector<Node> parse_shape(std::string_view given, const std::string& what) {
    std::vector<Node> shape;
    std::string_view rest = given;
    while (true) {
        const std::string_view part = rest.substr(0, rest.find('x'));
        Node length = 0;
        const char* const end = part.data() + part.size();
        const auto [stopped, error] = std::from_chars(part.data(), end, length);
        if (error != std::errc() || stopped != end || length < 1 || length > Graph::nodes_max) {
            throw InvalidArgument(Problem{
                what, "'" + shortened(given) + "'",
                text("numbers from 1 to ", Graph::nodes_max, " with x between, such as 4x4x2"),
                ""});
        }
        shape.push_back(length);
        if (part.size() == rest.size()) {
            return shape;
        }
        rest.remove_prefix(part.size() + 1);
    }
}

std::string text_of(std::span<const Node> shape) {
    std::string out;
    for (const Node length : shape) {
        if (!out.empty()) {
            out += 'x';
        }
        out += text(length);
    }
    return out;
}

TopologyText::TopologyText(std::string_view given) {
    const auto colon = given.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        throw InvalidArgument(
            Problem{"not a topology", "'" + shortened(given) + "'",
                    "a kind and a shape, such as torus:8x8x8, or the path of a file", ""});
    }
    kind_ = given.substr(0, colon);
    std::string_view rest = given.substr(colon + 1);
    const std::string_view shape = rest.substr(0, rest.find(','));
    shape_ = parse_shape(shape, "the shape of a topology cannot be read");
    rest.remove_prefix(std::min(rest.size(), shape.size()));
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::string_view part = rest.substr(0, rest.find(','));
        const auto equals = part.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == part.size()) {
            throw InvalidArgument(Problem{"an option of a topology cannot be read",
                                          "'" + shortened(part) + "'",
                                          "name=value, such as bandwidth=1.2e10", ""});
        }
        given_.emplace_back(part.substr(0, equals), part.substr(equals + 1));
        rest.remove_prefix(part.size());
    }
}

void TopologyText::require_ndim(std::size_t least, std::size_t most,
                                const std::string& meaning) const {
    if (shape_.size() < least || shape_.size() > most) {
        throw InvalidArgument(Problem{"the shape of a " + kind_ + " has another number of entries",
                                      text_of(shape_), meaning, ""});
    }
}

const std::string* TopologyText::take(const std::string& key) {
    known_.push_back(key);
    const std::string* found = nullptr;
    for (const auto& [name, value] : given_) {
        if (name == key) {
            if (found != nullptr) {
                throw InvalidArgument(Problem{"an option of a topology comes twice",
                                              name + "=" + value, "each once", "Remove one"});
            }
            found = &value;
        }
    }
    return found;
}

double TopologyText::number(const std::string& key, double fallback, double least, double most,
                            const char* allowed) {
    const std::string* const given = take(key);
    if (given == nullptr) {
        return fallback;
    }
    double value = 0;
    const char* const end = given->data() + given->size();
    const auto [stopped, error] = std::from_chars(given->data(), end, value);
    if (error != std::errc() || stopped != end || !(value >= least && value <= most)) {
        throw InvalidArgument(Problem{"option '" + key + "' of a topology cannot be used",
                                      "'" + shortened(*given) + "'", allowed, ""});
    }
    return value;
}

double TopologyText::bandwidth(const std::string& key, double fallback) {
    return number(key, fallback, std::numeric_limits<double>::min(), Graph::bandwidth_max,
                  Graph::bandwidths);
}
double TopologyText::bandwidth(double fallback) {
    return bandwidth("bandwidth", fallback);
}
double TopologyText::latency(double fallback) {
    return number("latency", fallback, 0, Graph::latency_max, Graph::latencies);
}

std::string TopologyText::word(const std::string& key, std::span<const std::string_view> allowed) {
    const std::string* const given = take(key);
    if (given == nullptr) {
        return std::string(allowed.front());
    }
    if (std::find(allowed.begin(), allowed.end(), *given) == allowed.end()) {
        std::string names;
        for (const std::string_view name : allowed) {
            names += (names.empty() ? "" : ", ") + std::string(name);
        }
        const std::vector<std::string> known(allowed.begin(), allowed.end());
        throw InvalidArgument(Problem{"option '" + key + "' of a topology cannot be used",
                                      "'" + *given + "'", names, did_you_mean(*given, known)});
    }
    return *given;
}

std::vector<Node> TopologyText::numbers(const std::string& key) {
    const std::string* const given = take(key);
    return given == nullptr ? std::vector<Node>{}
                            : parse_shape(*given, "option '" + key + "' cannot be read");
}

std::string TopologyText::done() const {
    std::string out = kind_ + ":" + text_of(shape_);
    for (const auto& [name, value] : given_) {
        if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
            std::string allowed;
            for (const std::string& key : known_) {
                allowed += (allowed.empty() ? "" : ", ") + key;
            }
            throw UnknownName(Problem{"a " + kind_ + " has no such option", "'" + name + "'",
                                      allowed, did_you_mean(name, known_)});
        }
    }
    for (const std::string& key : known_) {
        for (const auto& [name, value] : given_) {
            out += name == key ? "," + name + "=" + value : "";
        }
    }
    return out;
}

}  // namespace fluvial::route
