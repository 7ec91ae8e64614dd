// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A, Data Object Headers.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "fluvial/store/hdf5_fractal_heap.hpp"
#include "fluvial/store/hdf5_front.hpp"
#include "fluvial/store/hdf5_guard.hpp"

namespace fluvial::store {

namespace {

enum Message : unsigned {
    dataspace = 0x01,
    link_info = 0x02,
    datatype = 0x03,
    old_fill = 0x04,
    fill = 0x05,
    link = 0x06,
    layout = 0x08,
    filters = 0x0b,
    attribute = 0x0c,
    continuation = 0x10,
    attribute_info = 0x15
};

constexpr std::size_t parts_max = 1000;  // of one header
constexpr std::uint64_t part_bytes_max = 64 << 20;

/// What a dataspace message says.
struct Space {
    std::uint64_t rank = 0, elements = 1;  ///< elements: the largest number when there are more
};

bool decode_space(std::span<const std::byte> message, std::size_t length_bytes, Space& space) {
    Front in(message);
    const auto version = in.number(1);
    space.rank = in.number(1);
    const auto flags = in.number(1), type = in.number(1);
    if (version == 1) {
        in.number(4);
    }
    constexpr std::uint64_t rank_max = 32;
    Front now(in.take(space.rank * length_bytes));
    Front most(in.take((flags & 1) != 0 ? space.rank * length_bytes : 0));
    bool good = space.rank <= rank_max;
    for (std::uint64_t axis = 0; axis < space.rank && in.good() && good; ++axis) {
        const std::uint64_t length = now.number(length_bytes);
        good = (flags & 1) == 0 || length <= most.number(length_bytes);  // unlimited: the largest
        if (__builtin_mul_overflow(space.elements, length, &space.elements)) {
            space.elements = ~std::uint64_t{0};
        }
    }
    if (version == 2 && type == 2) {
        space.elements = 0;
    }
    return in.good() && good && (version == 1 || version == 2);
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
    constexpr std::uint64_t soft = 1, external = 64;
    const auto target = in.take(type == 0 ? address_bytes : in.number(2));
    if (type == soft && target.empty()) {
        return false;
    }
    Front value(target);
    if (type == external) {  // flags, a file, an object in it
        value.take(1);
        value.text();
        value.text();
    }
    return in.good() && value.good();
}

/// Where a message lies that is in another header; none when it is in a table of the file.
std::optional<std::uint64_t> shared_address(std::span<const std::byte> message,
                                            const Hdf5Sizes& sizes) {
    constexpr std::uint64_t in_table = 1;
    Front in(message);
    const auto version = in.number(1), type = in.number(1);
    in.take(version == 1 ? 6 + sizes.length_bytes : 0);
    const auto address = in.number(sizes.address_bytes) + sizes.base;
    const bool elsewhere = version == 3 && type == in_table;
    return in.good() && !elsewhere ? std::optional(address) : std::nullopt;
}

struct Part {
    std::uint64_t address, bytes;
};

/// Of one header, whose parts are looked at one after the other.
class HeaderWalk {
  public:
    HeaderWalk(const InputFile& file, const Hdf5Sizes& sizes) : file_(file), sizes_(sizes) {}

    /// Only the datatype counts; it is checked when its own header is read.
    std::optional<Hdf5Type> type_at(std::uint64_t address) {
        only_ = datatype;
        walk(address, nullptr);
        return type_;
    }

    Hdf5Chunking chunking_at(std::uint64_t address) {
        only_ = layout;
        walk(address, nullptr);
        return chunking_;
    }

    const char* walk(std::uint64_t address, Hdf5Seen* seen);

  private:
    Part first_part(std::uint64_t address);
    const char* part(std::span<const std::byte> messages);
    const char* message(unsigned kind, bool shared, std::span<const std::byte> body);
    const char* attribute_message(std::span<const std::byte> message);
    const char* in_heap(unsigned kind, std::span<const std::byte> info);
    const char* whole() const;

    std::optional<Hdf5Type> type_of(bool shared, std::span<const std::byte> message,
                                    const char*& reason) {
        if (shared) {
            const auto address = shared_address(message, sizes_);
            return address ? HeaderWalk(file_, sizes_).type_at(*address) : std::nullopt;
        }
        Hdf5Type type;
        reason = check_datatype(message, sizes_, type);
        return type;
    }

    const InputFile& file_;
    const Hdf5Sizes& sizes_;
    Hdf5Seen* seen_ = nullptr;
    std::optional<unsigned> only_;  ///< the kind of message that counts
    bool old_ = false;              ///< version 1
    bool order_ = false;            ///< messages have a number
    std::vector<Part> parts_ = {};
    std::set<unsigned> kinds_;
    std::optional<Hdf5Type> type_;
    std::optional<Space> space_;
    /// Bytes of the fill value: of the shorter one, where an old and a new message have one.
    std::optional<std::uint64_t> filled_;
    Hdf5Chunking chunking_;
    std::uint64_t decoded_bytes_ = 0;                                       ///< of the filters
    std::optional<std::pair<std::uint64_t, std::uint64_t>> virtual_parts_;  ///< heap, number in it
};

const char* HeaderWalk::attribute_message(std::span<const std::byte> message) {
    constexpr const char* longer = "an attribute that is longer than its message";
    Front in(message);
    const auto version = in.number(1), flags = in.number(1);
    const auto name_bytes = in.number(2), type_bytes = in.number(2), space_bytes = in.number(2);
    if (version == 3) {
        in.number(1);
    }
    const auto padded = [&](std::uint64_t n) { return version == 1 ? (n + 7) / 8 * 8 : n; };
    const auto name = in.take(padded(name_bytes));
    const auto of_type = in.take(padded(type_bytes));
    const auto of_space = in.take(padded(space_bytes));
    if (!in.good() || name_bytes == 0 ||
        std::find(name.begin(), name.end(), std::byte{0}) == name.end()) {
        return longer;
    }
    const char* reason = nullptr;
    const auto type = type_of(version > 1 && (flags & 1) != 0, of_type, reason);
    if (reason != nullptr || !type || (version > 1 && (flags & 2) != 0)) {
        return reason;  // or elsewhere
    }
    Space space;
    if (!decode_space(of_space, sizes_.length_bytes, space)) {
        return "an attribute with an impossible shape";
    }
    std::uint64_t bytes = 0;
    const bool fits =
        !__builtin_mul_overflow(space.elements, type->bytes, &bytes) && bytes <= in.left();
    return fits ? nullptr : longer;
}

/// Attributes or links that are not in the header.
const char* HeaderWalk::in_heap(unsigned kind, std::span<const std::byte> info) {
    constexpr const char* missing = "an attribute or link that its heap does not have";
    const bool attributes = kind == attribute_info;
    const std::size_t a = sizes_.address_bytes;
    Front in(info);
    in.take(1);
    const auto flags = in.number(1);
    in.take((flags & 1) == 0 ? 0 : attributes ? 2 : 8);
    const auto heap_at = in.number(a);
    const auto nowhere = undefined_address(sizes_);
    const std::uint64_t trees[] = {in.number(a), (flags & 2) != 0 ? in.number(a) : nowhere};
    const std::array place{heap_at, trees[0], trees[1]};
    if (!in.good() || heap_at == nowhere || seen_->heaps.contains(place)) {
        return nullptr;
    }
    FractalHeap heap(file_, sizes_, heap_at + sizes_.base);
    if (heap.reason() != nullptr || (heap.filtered() && !attributes)) {
        return heap.reason();
    }
    const char* reason = nullptr;
    for (std::size_t by_number = 0; by_number < 2 && reason == nullptr; ++by_number) {
        // Before the ID of a link: a hash, or its number. Behind that of an attribute: flags.
        const std::size_t before = attributes ? 0 : 4 + 4 * by_number;
        const std::size_t id_bytes = attributes ? 8 : 7;
        if (trees[by_number] == nowhere) {
            continue;
        }
        reason = for_each_record(file_, sizes_, trees[by_number] + sizes_.base,
                                 [&](std::span<const std::byte> record) -> const char* {
                                     Front of(record);
                                     of.take(before);
                                     const auto id = of.take(id_bytes);
                                     const bool in_table = attributes && (of.number(1) & 2) != 0;
                                     if (!of.good() || heap.filtered()) {
                                         return missing;
                                     }
                                     const auto object = in_table ? std::nullopt : heap.object(id);
                                     return object ? message(attributes ? attribute : link, false,
                                                             *object)
                                            : in_table ? nullptr
                                                       : missing;
                                 });
    }
    if (reason == nullptr) {
        seen_->heaps.insert(place);
    }
    return reason;
}

const char* HeaderWalk::part(std::span<const std::byte> messages) {
    Front in(messages);
    const std::size_t header = old_ ? 8 : order_ ? 6 : 4;
    while (in.left() >= header) {
        const auto kind = static_cast<unsigned>(in.number(old_ ? 2 : 1));
        const auto bytes = in.number(2), flags = in.number(1);
        in.number(header - (old_ ? 5 : 4));
        const auto body = in.take(bytes);
        if (!in.good()) {
            return nullptr;  // libhdf5 says so itself
        }
        const bool counts = !only_ || kind == *only_ || kind == continuation;
        if (const char* reason = counts ? message(kind, (flags & 2) != 0, body) : nullptr) {
            return reason;
        }
    }
    return nullptr;
}

const char* HeaderWalk::message(unsigned kind, bool shared, std::span<const std::byte> body) {
    constexpr unsigned singular[] = {dataspace, link_info, datatype, old_fill,
                                     fill,      layout,    filters,  attribute_info};
    if (std::find(std::begin(singular), std::end(singular), kind) != std::end(singular) &&
        !kinds_.insert(kind).second) {
        return "a header with two messages of which there is but one";  // libhdf5 takes any of them
    }
    Front in(body);
    if (kind == datatype && !(shared && only_)) {
        const char* reason = nullptr;
        type_ = type_of(shared, body, reason);
        return reason;
    }
    if (shared) {
        return nullptr;
    }
    switch (kind) {
        case attribute:
            return attribute_message(body);
        case link:
            return good_link(body, sizes_.address_bytes) ? nullptr : "a link that makes no sense";
        case link_info:
        case attribute_info:
            return in_heap(kind, body);
        case dataspace:
            return decode_space(body, sizes_.length_bytes, space_.emplace())
                       ? nullptr
                       : "a shape that makes no sense";
        case fill:
        case old_fill:
            if (const auto bytes = fill_bytes(kind, body); bytes > body.size()) {
                return "a fill value longer than its message";
            } else if (bytes > 0) {
                filled_ = std::min(bytes, filled_.value_or(bytes));
            }
            return nullptr;
        case filters:
            return check_filters(body, decoded_bytes_);
        case layout: {
            chunking_ = decode_chunking(body, sizes_);
            if (!chunking_.good) {
                return "a layout that makes no sense";
            }
            const auto version = in.number(1), layout_class = in.number(1);
            const auto address = in.number(sizes_.address_bytes), index = in.number(4);
            if (version >= 4 && layout_class == 3 && in.good() &&
                address != undefined_address(sizes_)) {
                virtual_parts_ = {address, index};
            }
            return nullptr;
        }
        case continuation: {
            const auto at = in.number(sizes_.address_bytes);
            parts_.push_back({at + sizes_.base, in.number(sizes_.length_bytes)});
            return nullptr;
        }
        default:
            return nullptr;
    }
}

/// Where the messages of a header begin and how many bytes of them there are; none for what is no
/// header.
Part HeaderWalk::first_part(std::uint64_t address) {
    std::byte start[40] = {};
    const std::uint64_t size = file_.size();
    file_.read(address, std::span(start).first(std::min<std::uint64_t>(40, size - address)));
    Front in(start);
    if (std::memcmp(start, "OHDR\2", 5) == 0) {
        in.take(5);
        const auto flags = in.number(1);
        order_ = (flags & 0x04) != 0;
        in.take((flags & 0x20) != 0 ? 16 : 0);
        in.take((flags & 0x10) != 0 ? 4 : 0);
        const auto bytes = in.number(std::size_t{1} << (flags & 0x03));
        return {address + sizeof start - in.left(), bytes};
    }
    old_ = true;
    if (in.number(1) != 1 || in.number(1) != 0) {
        return {0, 0};
    }
    in.take(6);
    return {address + 16, in.number(4)};
}

/// What can be said only of all messages together.
const char* HeaderWalk::whole() const {
    if (type_ && type_->plain && filled_ && type_->bytes > *filled_) {
        return "a fill value shorter than its type";
    }
    if (space_ && !chunking_.extents.empty() && chunking_.extents.size() != space_->rank + 1) {
        return "chunks of other dimensions than the dataset";
    }
    const std::uint64_t stored_bytes = chunk_bytes(chunking_);
    if (decoded_bytes_ != 0 && stored_bytes != 0 && decoded_bytes_ != stored_bytes) {
        return "a filter for chunks of another size";
    }
    return virtual_parts_ ? check_virtual(file_, sizes_, virtual_parts_->first,
                                          virtual_parts_->second, space_ ? space_->rank : 0)
                          : nullptr;
}

const char* HeaderWalk::walk(std::uint64_t address, Hdf5Seen* seen) {
    seen_ = seen;
    if (address >= file_.size()) {
        return nullptr;
    }
    parts_.push_back(first_part(address));
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < parts_.size() && i < parts_max; ++i) {
        const Part part_here = parts_[i];
        if (part_here.bytes > part_bytes_max || part_here.address > file_.size() ||
            part_here.bytes > file_.size() - part_here.address) {
            return nullptr;  // libhdf5 says so itself
        }
        if (i > 0 && seen != nullptr) {
            seen->parts.insert_or_assign(part_here.address, part_here.bytes);
        }
        bytes.resize(part_here.bytes);
        file_.read(part_here.address, bytes);
        std::span<const std::byte> messages = bytes;
        if (i > 0 && !old_) {  // a signature before and a checksum behind
            messages =
                messages.size() < 8 ? messages.first(0) : messages.subspan(4, messages.size() - 8);
        }
        if (const char* reason = part(messages)) {
            return reason;
        }
    }
    return whole();
}

}  // namespace

Hdf5Chunking chunking_at(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address) {
    return HeaderWalk(file, sizes).chunking_at(address);
}

const char* check_header(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t bytes, Hdf5Seen& seen) {
    // What libhdf5 reads of a header whose length it does not know yet.
    constexpr std::uint64_t guessed_bytes = 512;
    const auto noted = seen.parts.find(address);
    if (noted != seen.parts.end() && noted->second == bytes && bytes != guessed_bytes) {
        return nullptr;
    }
    return HeaderWalk(file, sizes).walk(address, &seen);
}

}  // namespace fluvial::store
