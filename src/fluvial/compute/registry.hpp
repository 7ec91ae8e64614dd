// SPDX-License-Identifier: Apache-2.0
/// Operators by name. One line in registry.cpp adds one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fluvial/compute/operator.hpp"

namespace fluvial::compute {

using Option = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;
using Options = std::map<std::string, Option>;

/// Takes options out by name and type; what is missing has a default, what is left over is an
/// error. make_operator() notes what was taken, defaults included: it describes the operator.
class OptionReader {
  public:
    OptionReader(const Options& options, std::string operator_name)
        : left_(options), name_(std::move(operator_name)) {}

    bool boolean(const std::string& key, bool fallback);
    std::int64_t integer(const std::string& key, std::int64_t fallback);
    double number(const std::string& key, double fallback);
    /// One number is a list, too. Throws InvalidArgument when missing.
    std::vector<double> numbers(const std::string& key);
    /// Throws InvalidArgument that names the options that were not read.
    void done() const;

  private:
    const Option* take(const std::string& key);
    template <class T>
    T note(const std::string& key, T value) const;
    [[noreturn]] void wrong_type(const std::string& key, const Option& got,
                                 const char* allowed) const;

    Options left_;
    std::vector<std::string> known_;
    std::string name_;
    Option taken_;
};

/// What an operator tells the registry about itself.
struct Registration {
    std::string_view name;
    std::string_view summary;  ///< one line
    OperatorPtr (*make)(const Options&);
    Options example;  ///< options that the conformance test uses
};

const std::vector<Registration>& registrations();

/// E.g. make_operator("histogram", {{"edges", std::vector<double>{0, 1, 2}}}). Throws
/// InvalidArgument for an unknown name (listing what exists), an unknown option, or an option of
/// another type. "var", "prod" and "median" are "variance", "product" and "quantile" at 0.5.
OperatorPtr make_operator(std::string_view name, const Options& options = {});

}  // namespace fluvial::compute
