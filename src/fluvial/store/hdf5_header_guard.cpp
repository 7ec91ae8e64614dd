// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A, Data Object Headers.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fluvial/store/hdf5_guard.hpp"

namespace fluvial::store {

namespace {

enum Message : unsigned {
    datatype = 0x03,
    old_fill = 0x04,
    fill = 0x05,
    link = 0x06,
    attribute = 0x0c,
    continuation = 0x10
};

constexpr std::size_t parts_max = 1000;  // of one header
constexpr std::uint64_t part_bytes_max = 64 << 20;

/// Bytes from the front; zeros and not good() after the end.
class Front {
  public:
    explicit Front(std::span<const std::byte> bytes) : rest_(bytes) {}

    std::uint64_t number(std::size_t bytes) {
        const auto at = take(bytes);
        std::uint64_t value = 0;
        for (std::size_t i = at.size(); i-- > 0;) {
            value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
        }
        return value;
    }
    std::span<const std::byte> take(std::uint64_t bytes) {
        if (bytes > rest_.size()) {
            good_ = false;
            rest_ = {};
            return {};
        }
        const auto front = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return front;
    }
    bool good() const { return good_; }
    std::size_t left() const { return rest_.size(); }

  private:
    std::span<const std::byte> rest_;
    bool good_ = true;
};

/// Bytes of a dataspace's elements, each of `item` bytes.
std::uint64_t data_bytes(std::span<const std::byte> space, std::uint64_t item,
                         std::size_t length_bytes) {
    Front in(space);
    const auto version = in.number(1), rank = in.number(1);
    in.number(1);
    const auto type = in.number(1);
    if (version == 1) {
        in.number(4);
    } else if (type == 2) {
        return 0;
    }
    std::uint64_t bytes = item;
    for (std::uint64_t axis = 0; axis < rank; ++axis) {
        if (__builtin_mul_overflow(bytes, in.number(length_bytes), &bytes)) {
            return ~std::uint64_t{0};
        }
    }
    return bytes;
}

bool good_attribute(std::span<const std::byte> message, std::size_t length_bytes) {
    Front in(message);
    const auto version = in.number(1), flags = in.number(1);
    const auto name_bytes = in.number(2), type_bytes = in.number(2), space_bytes = in.number(2);
    if (version == 3) {
        in.number(1);
    }
    const auto padded = [&](std::uint64_t n) { return version == 1 ? (n + 7) / 8 * 8 : n; };
    const auto name = in.take(padded(name_bytes));
    const auto type = in.take(padded(type_bytes));
    const auto space = in.take(padded(space_bytes));
    if (!in.good() || name_bytes == 0 ||
        std::find(name.begin(), name.end(), std::byte{0}) == name.end()) {
        return false;
    }
    if (version > 1 && flags != 0) {
        return true;  // type or shape are elsewhere
    }
    Front of_type(type);
    of_type.number(4);
    const auto item = of_type.number(4);
    return of_type.good() && data_bytes(space, item, length_bytes) <= in.left();
}

/// Bytes of the value; 0 for none, more than the message has for one that reaches behind it.
std::uint64_t fill_bytes(unsigned kind, std::span<const std::byte> message) {
    Front in(message);
    if (kind == fill) {
        const auto version = in.number(1), flags = in.number(1);
        if (version >= 3 && (flags & 0x20) == 0) {
            return 0;
        }
        if (version < 3) {
            in.number(1);
            if (in.number(1) == 0 && version == 2) {
                return 0;
            }
        }
    }
    const auto bytes = in.number(4);
    const bool none = bytes == 0xffffffffU;  // undefined
    return none ? 0 : bytes <= in.left() ? bytes : ~std::uint64_t{0};
}

bool good_link(std::span<const std::byte> message, std::size_t address_bytes) {
    Front in(message);
    const auto version = in.number(1), flags = in.number(1);
    const auto type = (flags & 0x08) != 0 ? in.number(1) : 0;
    in.number((flags & 0x04) != 0 ? 8 : 0);
    const auto encoding = (flags & 0x10) != 0 ? in.number(1) : 0;
    const auto name_bytes = in.number(std::size_t{1} << (flags & 0x03));
    in.take(name_bytes);
    if (version != 1 || (flags & ~0x1fU) != 0 || (type > 1 && type < 64) || encoding > 1 ||
        name_bytes == 0) {
        return false;
    }
    in.take(type == 0 ? address_bytes : in.number(2));
    return in.good();
}

struct Part {
    std::uint64_t address, bytes;
};

/// Of one header, whose parts are looked at one after the other.
struct HeaderWalk {
    const InputFile& file;
    const Hdf5Sizes& sizes;
    bool old = false;    ///< version 1
    bool order = false;  ///< messages have a number
    std::vector<Part> parts = {};
    std::uint64_t item = 0, filled = 0;  ///< bytes of a number of the dataset, of its fill value

    const char* part(std::span<const std::byte> messages) {
        Front in(messages);
        const std::size_t header = old ? 8 : order ? 6 : 4;
        while (in.left() >= header) {
            const auto kind = static_cast<unsigned>(in.number(old ? 2 : 1));
            const auto bytes = in.number(2), flags = in.number(1);
            in.number(header - (old ? 5 : 4));
            const auto body = in.take(bytes);
            if (!in.good()) {
                return nullptr;  // libhdf5 says so itself
            }
            if (const char* reason = (flags & 2) != 0 ? nullptr : message(kind, body)) {
                return reason;
            }
        }
        return nullptr;
    }

    const char* message(unsigned kind, std::span<const std::byte> body) {
        Front in(body);
        switch (kind) {
            case attribute:
                return good_attribute(body, sizes.length_bytes)
                           ? nullptr
                           : "an attribute that is longer than its message";
            case link:
                return good_link(body, sizes.address_bytes) ? nullptr
                                                            : "a link that makes no sense";
            case datatype:
                if ((in.number(1) & 0x0f) <= 1) {  // integers and floating-point numbers
                    in.number(3);
                    item = in.number(4);
                }
                return nullptr;
            case fill:
            case old_fill:
                filled = std::max(filled, fill_bytes(kind, body));
                return filled == ~std::uint64_t{0} ? "a fill value longer than its message"
                                                   : nullptr;
            case continuation: {
                const auto at = in.number(sizes.address_bytes);
                parts.push_back({at + sizes.base, in.number(sizes.length_bytes)});
                return nullptr;
            }
            default:
                return nullptr;
        }
    }
};

/// Where the messages of a header begin and how many bytes of them there are; none for what is no
/// header.
Part first_part(HeaderWalk& walk, std::uint64_t address) {
    std::byte start[40] = {};
    const std::uint64_t size = walk.file.size();
    walk.file.read(address, std::span(start).first(std::min<std::uint64_t>(40, size - address)));
    Front in(start);
    if (std::memcmp(start, "OHDR\2", 5) == 0) {
        in.take(5);
        const auto flags = in.number(1);
        walk.order = (flags & 0x04) != 0;
        in.take((flags & 0x20) != 0 ? 16 : 0);
        in.take((flags & 0x10) != 0 ? 4 : 0);
        const auto bytes = in.number(std::size_t{1} << (flags & 0x03));
        return {address + sizeof start - in.left(), bytes};
    }
    walk.old = true;
    if (in.number(1) != 1 || in.number(1) != 0) {
        return {0, 0};
    }
    in.take(6);
    return {address + 16, in.number(4)};
}

}  // namespace

const char* distrust_header(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                            std::set<std::uint64_t>& continued) {
    if (continued.contains(address) || address >= file.size()) {
        return nullptr;
    }
    HeaderWalk walk{file, sizes};
    walk.parts.push_back(first_part(walk, address));
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < walk.parts.size() && i < parts_max; ++i) {
        Part part = walk.parts[i];
        if (part.bytes > part_bytes_max || part.address > file.size() ||
            part.bytes > file.size() - part.address) {
            return nullptr;  // libhdf5 says so itself
        }
        if (i > 0) {
            continued.insert(part.address);
        }
        bytes.resize(part.bytes);
        file.read(part.address, bytes);
        std::span<const std::byte> messages = bytes;
        if (i > 0 && !walk.old) {  // a signature before and a checksum behind
            messages =
                messages.size() < 8 ? messages.first(0) : messages.subspan(4, messages.size() - 8);
        }
        if (const char* reason = walk.part(messages)) {
            return reason;
        }
    }
    return walk.filled > 0 && walk.item > walk.filled ? "a fill value shorter than its type"
                                                      : nullptr;
}

}  // namespace fluvial::store
