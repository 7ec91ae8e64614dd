// SPDX-License-Identifier: Apache-2.0
/// A topology in words: "torus:8x8x8,bandwidth=1.2e10": its kind, its shape, and options.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fluvial/route/graph.hpp"

namespace fluvial::route {

/// Takes options out by name; what is left over is an error.
class TopologyText {
  public:
    /// Throws InvalidArgument for a text of another form.
    explicit TopologyText(std::string_view text);

    const std::string& kind() const { return kind_; }
    /// One or more numbers, each 1 or more.
    const std::vector<Node>& shape() const { return shape_; }
    /// Throws InvalidArgument unless the shape has so many numbers; `meaning` says what they are.
    void require_ndim(std::size_t least, std::size_t most, const std::string& meaning) const;

    double bandwidth(double fallback);
    double latency(double fallback);
    double bandwidth(const std::string& key, double fallback);
    /// One of the words allowed, the first of which is meant where the option is missing.
    std::string word(const std::string& key, std::span<const std::string_view> allowed);
    /// "2x1x4"; none where the option is missing.
    std::vector<Node> numbers(const std::string& key);
    /// Throws UnknownName for options that were not read. Returns the text with the options in the
    /// order in which they were asked for: equal for equal topologies.
    std::string done() const;

  private:
    const std::string* take(const std::string& key);
    double number(const std::string& key, double fallback, double least, double most,
                  const char* allowed);

    std::string kind_;
    std::vector<Node> shape_;
    std::vector<std::pair<std::string, std::string>> given_;
    std::vector<std::string> known_;
};

/// "4x4x2". `what` begins the message of the InvalidArgument for anything else.
std::vector<Node> parse_shape(std::string_view text, const std::string& what);
std::string text_of(std::span<const Node> shape);

}  // namespace fluvial::route
