// SPDX-License-Identifier: Apache-2.0
/// Arrays lent to a Python function for one call.
#pragma once

#include <span>
#include <string>

#include "compute.hpp"

namespace fluvial::python {

/// Arrays that end with the call they are lent to.
class LentArrays {
  public:
    explicit LentArrays(std::span<const ArrayView> views) {
        for (const ArrayView& view : views) {
            list_.append(lend_to_numpy(view));
        }
    }
    nb::list list() const { return list_; }
    /// Throws InvalidArgument when the callee kept an array, whose memory is about to be reused.
    void check_returned(const std::string& name) {
        bool kept = Py_REFCNT(list_.ptr()) > 1;
        for (std::size_t i = 0; i < nb::len(list_); ++i) {
            kept = kept || Py_REFCNT(PyList_GET_ITEM(list_.ptr(), static_cast<Py_ssize_t>(i))) > 1;
        }
        if (kept) {
            throw InvalidArgument(
                Problem{name + " kept a reference to an array that was only lent to it",
                        "an array or a view of it that outlives the call", "copies",
                        "Keep array.copy() instead"});
        }
    }

  private:
    nb::list list_;
};

}  // namespace fluvial::python
