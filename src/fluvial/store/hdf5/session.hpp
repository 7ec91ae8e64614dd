// SPDX-License-Identifier: Apache-2.0
/// How Fluvial uses libhdf5: one thread at a time, silently, without leaks.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

// Newer versions have the functions of 1.10, by which they are called here, under their old names.
#ifndef H5_USE_110_API
#define H5_USE_110_API 1
#endif
#include <hdf5.h>

#include "fluvial/base/error.hpp"

namespace fluvial::store {

/// While one exists, this thread alone is inside libhdf5 (as far as Fluvial goes), and errors are
/// not printed. May nest. Code that calls HDF5 holds one.
class Hdf5Session {
  public:
    Hdf5Session();
    Hdf5Session(const Hdf5Session&) = delete;
    Hdf5Session& operator=(const Hdf5Session&) = delete;
    ~Hdf5Session();

  private:
    std::unique_lock<std::recursive_mutex> lock_;
    H5E_auto2_t printer_ = nullptr;  ///< the application's, restored at the end
    void* printer_data_ = nullptr;
};

/// Innermost entry of HDF5's error stack.
struct Hdf5Error {
    std::string function, text;
};
Hdf5Error last_hdf5_error();

/// What to try where libhdf5 met a version that it does not know; empty for other errors.
std::string newer_hdf5_hint(const Hdf5Error& error);

/// DamagedFile with `what` and HDF5's own reason.
[[noreturn]] void throw_hdf5(const std::string& what);

/// Move-only owner of an object of HDF5 of any kind.
class Hdf5Id {
  public:
    Hdf5Id() = default;
    explicit Hdf5Id(hid_t id) : id_(id) {}
    Hdf5Id(Hdf5Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
    Hdf5Id& operator=(Hdf5Id&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Hdf5Id() {
        if (id_ >= 0) {
            const Hdf5Session session;
            H5Idec_ref(id_);
        }
    }
    operator hid_t() const { return id_; }
    bool valid() const { return id_ >= 0; }

  private:
    hid_t id_ = H5I_INVALID_HID;
};

/// `result` of a call, unless it is negative: then throw_hdf5(what).
template <class T>
T hdf5_checked(T result, const std::string& what) {
    if (result < 0) {
        throw_hdf5(what);
    }
    return result;
}

}  // namespace fluvial::store
