// SPDX-License-Identifier: Apache-2.0
/// What stands in the parentheses behind a strategy's name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

/// Strategies of the user's own, by the names that they have in a text.
using OwnStrategies = std::map<std::string, StrategyPtr, std::less<>>;

/// A name and what stands in its parentheses, as texts: "by-host(binpacking, fallback=fail)" has
/// the arguments ("", "binpacking") and ("fallback", "fail").
struct Call {
    std::string name;
    std::vector<std::pair<std::string, std::string>> arguments;
};

/// Throws InvalidArgument for a text of another form.
Call parse_call(std::string_view text);

/// Takes arguments out, by name or the next one without; what is left over is an error.
class Arguments {
  public:
    Arguments(Call call, const OwnStrategies& own, int depth)
        : name_(std::move(call.name)), left_(std::move(call.arguments)), own_(own), depth_(depth) {}

    /// None where the argument is missing.
    std::optional<Index> integer(const std::string& key, Index least);
    std::optional<std::string> word_if_given(const std::string& key) { return take(key); }
    double number(const std::string& key, double fallback, double least, double most);
    /// These throw InvalidArgument where the argument is missing; `example` is shown.
    std::string word(const std::string& key, const std::string& example);
    StrategyPtr strategy(const std::string& key, const std::string& example);
    /// None where it is missing.
    StrategyPtr strategy_if_given(const std::string& key);
    /// Throws UnknownName for arguments that were not read.
    void done() const;

  private:
    std::optional<std::string> take(const std::string& key);
    [[noreturn]] void wrong(const std::string& key, const std::string& seen,
                            const std::string& allowed) const;

    std::string name_;
    std::vector<std::pair<std::string, std::string>> left_;
    std::vector<std::string> known_;
    const OwnStrategies& own_;
    int depth_;
};

}  // namespace fluvial::distribute
