// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/sequences.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "fluvial/store/hdf5/driver.hpp"
#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

namespace {

constexpr const char* tag = "fluvial: a sequence as it is stored";
constexpr std::size_t index_bytes = 4, length_bytes = 4;
constexpr std::uint64_t total_max = 1
                                    << 30;  ///< values may share bytes, so a file can ask for more

[[noreturn]] void damaged(const std::string& what, const std::string& seen) {
    throw DamagedFile(Problem{what, seen, "", "Copy or write the file again"});
}

/// Sizes of numbers in this file, and where its addresses count from.
struct FileFormat {
    std::size_t address_bytes = 0, size_bytes = 0;
    hsize_t base = 0;
};

FileFormat format_of(hid_t object) {
    const std::string what = "a file of HDF5 does not tell its properties";
    const Hdf5Id file(hdf5_checked(H5Iget_file_id(object), what));
    const Hdf5Id properties(hdf5_checked(H5Fget_create_plist(file), what));
    FileFormat format;
    hdf5_checked(H5Pget_sizes(properties, &format.address_bytes, &format.size_bytes), what);
    hdf5_checked(H5Pget_userblock(properties, &format.base), what);
    return format;
}

/// A conversion that HDF5 finds for itself: the stored form of a sequence is kept.
herr_t keep_stored(hid_t, hid_t to, H5T_cdata_t* conversion, size_t, size_t, size_t, void*, void*,
                   hid_t) {
    if (conversion->command != H5T_CONV_INIT) {
        return 0;
    }
    conversion->need_bkg = H5T_BKG_NO;
    char* name = H5Tget_tag(to);
    const bool wanted = name != nullptr && std::strcmp(name, tag) == 0;
    H5free_memory(name);
    return wanted ? 0 : -1;
}

Hdf5Id stored_type(std::size_t bytes, const std::string& what) {
    Hdf5Id type(hdf5_checked(H5Tcreate(H5T_OPAQUE, bytes), what));
    hdf5_checked(H5Tset_tag(type, tag), what);
    return type;
}

/// Registered while it is used, so that other users of libhdf5 never meet it.
class Conversion {
  public:
    Conversion(hid_t stored, const std::string& what)
        : sequence_(hdf5_checked(H5Tvlen_create(H5T_NATIVE_CHAR), what)) {
        hdf5_checked(H5Tregister(H5T_PERS_SOFT, "fluvial", sequence_, stored, &keep_stored), what);
    }
    Conversion(const Conversion&) = delete;
    Conversion& operator=(const Conversion&) = delete;
    ~Conversion() {
        H5Tunregister(H5T_PERS_SOFT, "fluvial", H5I_INVALID_HID, H5I_INVALID_HID, &keep_stored);
    }

  private:
    Hdf5Id sequence_;
};

/// Global heaps of one file; the last one is kept.
class Heaps {
  public:
    Heaps(const InputFile& file, const FileFormat& format, const std::string& what)
        : file_(file), format_(format), what_(what) {}

    /// The object `index` of the heap at `address`, at least `bytes` long.
    std::span<const std::byte> object(std::uint64_t address, std::uint64_t index,
                                      std::uint64_t bytes) {
        if (address != address_ || heap_.empty()) {
            load(address);
        }
        // index (2), references (2), nothing (4), size; data padded to 8 bytes. Index 0 is the
        // free space at the end.
        const std::size_t header = header_bytes();
        std::span<const std::byte> rest = std::span(heap_).subspan(header);
        while (rest.size() >= header) {
            const std::uint64_t here = little_endian(rest.first(2));
            const std::uint64_t size = little_endian(rest.subspan(8, format_.size_bytes));
            rest = rest.subspan(header);
            if (here == 0 || size > rest.size()) {
                break;
            }
            if (here == index && size >= bytes) {
                return rest.first(bytes);
            }
            rest = rest.subspan(std::min<std::uint64_t>(rest.size(), (size + 7) / 8 * 8));
        }
        damaged(what_, text("a reference to object ", index, " of ", bytes,
                            " bytes in the heap at ", address, ", which has none"));
    }

  private:
    /// Of a heap and of each object in it; libhdf5 keeps them at multiples of 8.
    std::size_t header_bytes() const { return (8 + format_.size_bytes + 7) / 8 * 8; }

    void load(std::uint64_t address) {
        heap_.clear();
        const std::size_t header = header_bytes();
        const std::uint64_t at = address + format_.base;
        if (at < address || at > file_.size() || file_.size() - at < header) {
            damaged(what_, text("a heap at byte ", at, " of ", file_.size()));
        }
        std::vector<std::byte> heap(header);
        file_.read(at, heap);
        const std::uint64_t size = little_endian(std::span(heap).subspan(8, format_.size_bytes));
        if (std::memcmp(heap.data(), "GCOL\1", 5) != 0 || size < header ||
            size > file_.size() - at) {
            damaged(what_, text("no heap at byte ", at));
        }
        heap.resize(size);
        file_.read(at, heap);
        heap_ = std::move(heap);
        address_ = address;
    }

    const InputFile& file_;
    FileFormat format_;
    const std::string& what_;
    std::uint64_t address_ = 0;
    std::vector<std::byte> heap_;
};

}  // namespace

std::vector<std::vector<std::byte>> read_sequences(hid_t attribute, std::size_t count,
                                                   std::size_t item_bytes,
                                                   const std::string& what) {
    const FileFormat format = format_of(attribute);
    const std::size_t each = length_bytes + format.address_bytes + index_bytes;
    const InputFile& file = bytes_of_file(attribute);
    if (count > file.size() / each) {
        damaged(what, text(count, " values in a file of ", file.size(), " bytes"));
    }
    std::vector<std::byte> stored(count * each);
    const Hdf5Id type = stored_type(each, what);
    {
        const Conversion conversion(type, what);
        hdf5_checked(H5Aread(attribute, type, stored.data()), what);
    }
    Heaps heaps(file, format, what);
    std::uint64_t total = 0;
    std::vector<std::vector<std::byte>> sequences;
    for (std::size_t i = 0; i < count; ++i) {
        const auto one = std::span<const std::byte>(stored).subspan(i * each, each);
        const std::uint64_t bytes = little_endian(one.first(length_bytes)) * item_bytes;
        const std::uint64_t address =
            little_endian(one.subspan(length_bytes, format.address_bytes));
        const std::uint64_t index = little_endian(one.last(index_bytes));
        total += bytes;
        if (total > total_max) {
            damaged(what, text("more than ", total_max, " bytes"));
        }
        if (bytes == 0) {
            sequences.emplace_back();
        } else {
            const auto found = heaps.object(address, index, bytes);
            sequences.emplace_back(found.begin(), found.end());
        }
    }
    return sequences;
}

std::size_t address_bytes(hid_t object) {
    return format_of(object).address_bytes;
}

}  // namespace fluvial::store
