// SPDX-License-Identifier: Apache-2.0
/// What the user's Python functions raise, on its way through the library to other ranks.
#pragma once

#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "fluvial/base/interrupt.hpp"

namespace fluvial::python {

/// For Python what was raised; for other ranks a text that always is UTF-8.
class PythonFailure : public nanobind::python_error {
  public:
    /// With the GIL.
    explicit PythonFailure(const nanobind::python_error& error);
    PythonFailure(const nanobind::python_error& error, std::string said)
        : nanobind::python_error(error), said_(std::move(said)) {}
    const char* what() const noexcept override {
        return said_.empty() ? nanobind::python_error::what() : said_.c_str();
    }

  private:
    std::string said_;  ///< empty: what nanobind says, which needs a text that is UTF-8
};

/// The same of what no program is meant to catch: KeyboardInterrupt, SystemExit.
class PythonInterruption final : public PythonFailure, public Interruption {
  public:
    using PythonFailure::PythonFailure;
};

/// Throws the one or the other. With the GIL.
[[noreturn]] void throw_failure(const nanobind::python_error& error);

/// str(object) as UTF-8, with escapes for what has none there, such as the bytes of file names that
/// are no text. With the GIL.
std::string to_utf8(nanobind::handle object);

/// Calls `work`, which calls a function of the user's. With the GIL.
template <class Work>
auto calling_user(Work&& work) {
    try {
        return work();
    } catch (const PythonFailure&) {
        throw;
    } catch (const nanobind::python_error& error) {
        throw_failure(error);
    }
}

}  // namespace fluvial::python
