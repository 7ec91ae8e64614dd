// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/driver.hpp"

#include <cstdint>
#include <exception>
#include <memory>

#include "fluvial/base/clock.hpp"
#include "fluvial/store/hdf5/driver_class.hpp"
#include "fluvial/store/hdf5/guard/guard.hpp"

namespace fluvial::store {

namespace {

constexpr int reads_again = 100;  // as libhdf5 by itself in a file that is being written
constexpr std::int64_t again_ns = 100'000;

struct OpenInput : DrivenFile {
    const InputFile* file;
    Hdf5Guard* guard;  ///< none: libhdf5 needs none
    bool swmr;         ///< another program writes it, in the way that lets others read meanwhile
};

Hdf5Probe* probe = nullptr;  // of the thread that has the session

OpenInput& input_of(H5FD_t* file) {
    return *reinterpret_cast<OpenInput*>(file);
}
const OpenInput& input_of(const H5FD_t* file) {
    return *reinterpret_cast<const OpenInput*>(file);
}

H5FD_t* open_input(const char* name, unsigned flags, hid_t, haddr_t) {
    try {
        if ((flags & H5F_ACC_RDWR) != 0) {
            push_hdf5_reason("open", H5E_CANTOPENFILE, "this driver only reads");
            return nullptr;
        }
        auto file = std::make_unique<InputFile>(name);
        const Hdf5Sizes sizes = hdf5_sizes(*file);
        auto opened = std::make_unique<OpenInput>();
        opened->swmr = (flags & H5F_ACC_SWMR_READ) != 0;
        if (opened->swmr) {
            file->grows();
        }
        auto guard = guard_of(*file, sizes);
        opened->guard = guard.release();
        opened->file = file.release();
        return &opened.release()->seen_by_hdf5;
    } catch (const std::exception& error) {
        push_hdf5_reason("open", H5E_CANTOPENFILE, error.what());
        return nullptr;
    }
}

herr_t close_input(H5FD_t* file) {
    delete input_of(file).guard;
    delete input_of(file).file;
    delete &input_of(file);
    return 0;
}

herr_t query_input(const H5FD_t* file, unsigned long* flags) {
    // Not H5FD_FEAT_ACCUMULATE_METADATA_READ: 1.10 copies from outside of what it accumulated when
    // an address is close to the largest there is.
    *flags = H5FD_FEAT_DATA_SIEVE;
    if (file != nullptr && input_of(file).swmr) {
        *flags |= H5FD_FEAT_SUPPORTS_SWMR_IO;
    }
    return 0;
}

haddr_t end_of_input(const H5FD_t* file, H5FD_mem_t) {
    return input_of(file).file->size();
}

herr_t handle_of_input(H5FD_t* file, hid_t, void** handle) {
    *handle = const_cast<InputFile*>(input_of(file).file);
    return 0;
}

/// Why libhdf5 does not get what it asked for, or null.
const char* refused(OpenInput& opened, H5FD_mem_t kind, haddr_t address,
                    std::span<const std::byte> bytes) {
    if (opened.guard == nullptr) {
        return nullptr;
    }
    switch (kind) {
        case H5FD_MEM_DRAW:  // as libhdf5 calls heaps here, too
            return opened.guard->check(Hdf5Guard::Kind::GlobalHeap, address, bytes);
        case H5FD_MEM_LHEAP:
            return opened.guard->check(Hdf5Guard::Kind::LocalHeap, address, bytes);
        case H5FD_MEM_OHDR:
            return opened.guard->check(Hdf5Guard::Kind::Header, address, bytes);
        default:
            return nullptr;
    }
}

herr_t read_input(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t bytes, void* to) {
    if (probe != nullptr && kind == H5FD_MEM_DRAW) {
        ++probe->reads;
        probe->offset = address;
        probe->bytes = bytes;
        return 0;
    }
    try {
        const InputFile& from = *input_of(file).file;
        if (bytes > from.size() || address > from.size() - bytes) {
            push_hdf5_reason("read", H5E_READERROR, "an address beyond the end of the file");
            return -1;
        }
        const std::span<std::byte> read_to(static_cast<std::byte*>(to), bytes);
        from.read(address, read_to);
        const char* reason = refused(input_of(file), kind, address, read_to);
        // What is just being written may be half of it, which libhdf5 itself reads again, too.
        for (int again = 0; reason != nullptr && input_of(file).swmr && again < reads_again;
             ++again) {
            sleep_ns(again_ns);
            from.read(address, read_to);
            reason = refused(input_of(file), kind, address, read_to);
        }
        if (reason != nullptr) {
            push_hdf5_reason("read", H5E_READERROR, reason);
            return -1;
        }
        return 0;
    } catch (const std::exception& error) {
        push_hdf5_reason("read", H5E_READERROR, error.what());
        return -1;
    }
}

herr_t refuse_to_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) {
    push_hdf5_reason("write", H5E_WRITEERROR, "this driver only reads");
    return -1;
}

const H5FD_class_t& input_driver() {
    static const H5FD_class_t our_class = [] {
        H5FD_class_t c = driver_class("fluvial", 100);
        c.open = &open_input;
        c.close = &close_input;
        c.query = &query_input;
        c.get_eof = &end_of_input;
        c.get_handle = &handle_of_input;
        c.read = &read_input;
        c.write = &refuse_to_write;
        for (H5FD_mem_t& kind : c.fl_map) {
            kind = H5FD_MEM_SUPER;
        }
        return c;
    }();
    return our_class;
}

}  // namespace

Hdf5Id hdf5_access() {
    static hid_t registered = H5I_INVALID_HID;
    return hdf5_access_by(registered, input_driver());
}

const InputFile& bytes_of_file(hid_t object) {
    const std::string what = "a file of HDF5 is not open through Fluvial";
    const Hdf5Id file(hdf5_checked(H5Iget_file_id(object), what));
    void* handle = nullptr;
    hdf5_checked(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), what);
    return *static_cast<const InputFile*>(handle);
}

Hdf5Probe::Hdf5Probe() {
    probe = this;
}
Hdf5Probe::~Hdf5Probe() {
    probe = nullptr;
}

}  // namespace fluvial::store
