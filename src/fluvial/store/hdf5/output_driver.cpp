// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/output_driver.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/store/hdf5/driver_class.hpp"
#include "fluvial/store/output.hpp"

namespace fluvial::store {

namespace {

struct OpenOutput : DrivenFile {
    int file;
    std::string path;
};

Hdf5Placing* placing = nullptr;  // of the thread that has the session

OpenOutput& output_of(H5FD_t* file) {
    return *reinterpret_cast<OpenOutput*>(file);
}
const OpenOutput& output_of(const H5FD_t* file) {
    return *reinterpret_cast<const OpenOutput*>(file);
}

H5FD_t* open_output(const char* name, unsigned flags, hid_t, haddr_t) {
    const int how = ((flags & H5F_ACC_RDWR) != 0 ? O_RDWR : O_RDONLY) |
                    ((flags & H5F_ACC_TRUNC) != 0 ? O_TRUNC : 0) |
                    ((flags & H5F_ACC_CREAT) != 0 ? O_CREAT : 0) |
                    ((flags & H5F_ACC_EXCL) != 0 ? O_EXCL : 0);
    const int file = ::open(name, how | O_CLOEXEC, 0666);
    if (file < 0) {
        push_hdf5_reason("open", H5E_CANTOPENFILE, std::strerror(errno));
        return nullptr;
    }
    auto opened = std::make_unique<OpenOutput>();
    opened->file = file;
    opened->path = name;
    return &opened.release()->seen_by_hdf5;
}

herr_t close_output(H5FD_t* file) {
    const int result = ::close(output_of(file).file);
    if (result != 0) {
        push_hdf5_reason("close", H5E_CANTCLOSEFILE, std::strerror(errno));
    }
    delete &output_of(file);
    return result;
}

herr_t query_output(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

/// Room is made, and other ranks write, behind libhdf5's back: the file system knows.
haddr_t end_of_output(const H5FD_t* file, H5FD_mem_t) {
    struct stat facts = {};
    return ::fstat(output_of(file).file, &facts) == 0 ? static_cast<haddr_t>(facts.st_size)
                                                      : HADDR_UNDEF;
}

herr_t handle_of_output(H5FD_t* file, hid_t, void** handle) {
    *handle = &output_of(file).file;
    return 0;
}

/// Bytes behind the end are zeros, as libhdf5 expects.
herr_t read_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t bytes, void* to) {
    auto left = std::span(static_cast<std::byte*>(to), bytes);
    while (!left.empty()) {
        const ssize_t got =
            ::pread(output_of(file).file, left.data(), left.size(), static_cast<off_t>(address));
        if (got < 0 && errno != EINTR) {
            push_hdf5_reason("read", H5E_READERROR, std::strerror(errno));
            return -1;
        }
        if (got == 0) {
            std::ranges::fill(left, std::byte{0});
            return 0;
        }
        const auto done = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        left = left.subspan(done);
        address += done;
    }
    return 0;
}

herr_t write_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t bytes,
                    const void* from) {
    if (placing != nullptr && from == placing->from) {
        ++placing->writes;
        placing->offset = address;
        placing->bytes = bytes;
        return 0;
    }
    try {
        write_at(output_of(file).file, output_of(file).path,
                 {static_cast<const std::byte*>(from), bytes}, address);
        return 0;
    } catch (const std::exception& error) {
        push_hdf5_reason("write", H5E_WRITEERROR, error.what());
        return -1;
    }
}

herr_t truncate_output(H5FD_t* file, hid_t, hbool_t) {
    const haddr_t end = output_of(file).end_of_allocation;
    if (end_of_output(file, H5FD_MEM_DEFAULT) != end &&
        ::ftruncate(output_of(file).file, static_cast<off_t>(end)) != 0) {
        push_hdf5_reason("truncate", H5E_SEEKERROR, std::strerror(errno));
        return -1;
    }
    return 0;
}

/// As libhdf5's own driver does; some file systems have no locks.
herr_t lock_output(H5FD_t* file, hbool_t writes) {
    if (::flock(output_of(file).file, (writes ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 &&
        errno != ENOSYS && errno != EOPNOTSUPP) {
        push_hdf5_reason("lock", H5E_CANTOPENFILE, "another program has the file open");
        return -1;
    }
    return 0;
}

herr_t unlock_output(H5FD_t* file) {
    ::flock(output_of(file).file, LOCK_UN);
    return 0;
}

const H5FD_class_t& output_driver() {
    static const H5FD_class_t our_class = [] {
        H5FD_class_t c = driver_class("fluvial output", 101);
        c.open = &open_output;
        c.close = &close_output;
        c.query = &query_output;
        c.get_eof = &end_of_output;
        c.get_handle = &handle_of_output;
        c.read = &read_output;
        c.write = &write_output;
        c.truncate = &truncate_output;
        c.lock = &lock_output;
        c.unlock = &unlock_output;
        const std::array<H5FD_mem_t, H5FD_MEM_NTYPES> kinds = H5FD_FLMAP_DICHOTOMY;
        std::copy(kinds.begin(), kinds.end(), c.fl_map);
        return c;
    }();
    return our_class;
}

}  // namespace

Hdf5Id hdf5_output_access() {
    static hid_t registered = H5I_INVALID_HID;
    return hdf5_access_by(registered, output_driver());
}

Hdf5Placing::Hdf5Placing(const void* from) : from(from) {
    placing = this;
}
Hdf5Placing::~Hdf5Placing() {
    placing = nullptr;
}

}  // namespace fluvial::store
