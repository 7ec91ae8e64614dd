// SPDX-License-Identifier: Apache-2.0
/// What the writer's and the reader's bindings of a stream have in common.
#pragma once

#include <memory>
#include <utility>

#include <nanobind/nanobind.h>

#include "arguments.hpp"
#include "fluvial/describe/array_view.hpp"

namespace fluvial::python {

namespace nb = nanobind;

/// A NumPy array on memory that `owner` keeps alive; the strides of `view` are multiples of the
/// element.
nb::object share_with_numpy(const ArrayView& view, std::shared_ptr<const void> owner,
                            bool writable);

/// The other threads of a handle may want the GIL (for Ctrl-C) before they leave it, so a thread
/// that waits for them, also in a destructor, does not hold it.
template <class Handle>
class Held {
  public:
    explicit Held(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
    Held(Held&&) = default;
    ~Held() {
        if (handle_) {
            const nb::gil_scoped_release release;
            handle_.reset();
        }
    }
    Handle* operator->() const { return handle_.get(); }
    Handle& operator*() const { return *handle_; }

  private:
    std::unique_ptr<Handle> handle_;
};

template <class Work>
auto without_gil(Work work) {
    const nb::gil_scoped_release release;
    return work();
}

void bind_writer(nb::module_& m);

}  // namespace fluvial::python
