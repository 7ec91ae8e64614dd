// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/session.hpp"

#include <new>

#include <pthread.h>

namespace fluvial::store {

namespace {

std::recursive_mutex& library_mutex();

int sessions = 0;  // nested ones, of the thread that has the mutex

/// A process forks while no thread is inside the library: a child finds it usable.
std::recursive_mutex* new_library_mutex() {
    ::pthread_atfork([] { library_mutex().lock(); }, [] { library_mutex().unlock(); },
                     // The thread that forked has another id here.
                     [] { new (&library_mutex()) std::recursive_mutex; });
    return new std::recursive_mutex;
}

/// Never destroyed: objects of HDF5 may be closed while the process ends.
std::recursive_mutex& library_mutex() {
    static auto& mutex = *new_library_mutex();
    return mutex;
}

herr_t keep_innermost(unsigned n, const H5E_error2_t* entry, void* to) {
    auto& error = *static_cast<Hdf5Error*>(to);
    try {
        if (n == 0) {
            error.function = entry->func_name != nullptr ? entry->func_name : "";
            error.text = entry->desc != nullptr ? entry->desc : "";
        }
        return 0;
    } catch (...) {
        return -1;
    }
}

}  // namespace

Hdf5Session::Hdf5Session() : lock_(library_mutex()) {
    if (sessions++ == 0) {
        H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
}

Hdf5Session::~Hdf5Session() {
    if (--sessions == 0) {
        H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_);
    }
}

Hdf5Error last_hdf5_error() {
    Hdf5Error error;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &keep_innermost, &error);
    return error;
}

std::string newer_hdf5_hint(const Hdf5Error& error) {
    if (error.text.find("version") == std::string::npos) {
        return "";
    }
    unsigned first = 0, second = 0, third = 0;
    H5get_libversion(&first, &second, &third);
    return text(
        "Unless the file is damaged, a newer HDF5 wrote this: open it with a Fluvial that "
        "is built with a newer libhdf5 than ",
        first, '.', second, '.', third,
        ", or write it for HDF5 1.10 (in h5py, libver=('earliest', 'v110'))");
}

void throw_hdf5(const std::string& what) {
    const Hdf5Error error = last_hdf5_error();
    throw DamagedFile(Problem{what, error.text.empty() ? "" : text("HDF5's '", error.text, "'"), "",
                              newer_hdf5_hint(error)});
}

}  // namespace fluvial::store
