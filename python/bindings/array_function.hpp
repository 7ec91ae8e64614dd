// SPDX-License-Identifier: Apache-2.0
/// Functions of arrays that the user gives: conditions, and those of Apply.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compute.hpp"

namespace fluvial::python {

class ArrayFunction {
  public:
    /// What it may return, besides the shape of its arguments, or one number for all of them.
    enum class Returns { Bool, Numbers };

    /// `role` is such as "the condition"; `name` is what ranks know it by.
    ArrayFunction(nb::object function, Returns returns, const char* role, std::string name)
        : function_(share(std::move(function))),
          returns_(returns),
          role_(role),
          name_(std::move(name)) {}

    /// What it returns for these arrays of this extent, as an array of NumPy. With the GIL. Throws
    /// WrongType and InvalidArgument for anything else than it may return. What it raises goes on,
    /// in one line for other ranks; errors of Fluvial as what they are.
    nb::object operator()(const nb::list& arrays, const Coordinates& extent) const;

  private:
    nb::object call(const nb::list& arrays) const;
    std::string allowed(const Coordinates& extent) const;

    std::shared_ptr<nb::object> function_;
    Returns returns_;
    const char* role_;
    std::string name_;
};

}  // namespace fluvial::python
