// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A, Data Object Headers.
#include "fluvial/store/hdf5/guard/header.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fluvial/store/hdf5/chunking.hpp"
#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/hdf5/guard/datatype_message.hpp"
#include "fluvial/store/hdf5/guard/filters.hpp"
#include "fluvial/store/hdf5/guard/fractal_heap.hpp"
#include "fluvial/store/hdf5/guard/virtual_parts.hpp"
#include "fluvial/store/hdf5/messages.hpp"

namespace fluvial::store {

namespace {

using MessageKind = Hdf5MessageKind;

/// Whether a message is newer than this guard, which then does not look at it.
bool newer(Hdf5MessageKind kind, std::span<const std::byte> body) {
    const auto version = Front(body).number(1);
    switch (kind) {
        case MessageKind::LinkInfo:
        case MessageKind::AttributeInfo:
            return version > 0;
        case MessageKind::Dataspace:
            return version > 2;
        case MessageKind::Fill:
        case MessageKind::Attribute:
            return version > 3;
        default:
            return false;  // datatypes, filters and layouts are told apart where they are decoded
    }
}

/// What a dataspace message says.
struct Space {
    std::uint64_t rank = 0, elements = 1;  ///< elements: the largest number when there are more
};

/// Whether it makes sense. Of a version that the guard knows.
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
    return in.good() && good && version > 0;
}

/// Bytes of the value; 0 for none, more than the message has for one that reaches behind it.
std::uint64_t fill_bytes(Hdf5MessageKind kind, std::span<const std::byte> message) {
    Front in(message);
    if (kind == MessageKind::Fill) {
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

/// False of what is newer, too: libhdf5 1.10 does not survive a link that it cannot decode, because
/// it then frees the rest of a table that it has not filled.
bool good_link(std::span<const std::byte> message, std::size_t address_bytes) {
    constexpr std::uint64_t hard = 0, soft = 1, external = 64;
    Front in(message);
    const auto version = in.number(1), flags = in.number(1);
    const auto type = (flags & 0x08) != 0 ? in.number(1) : hard;
    if ((flags & ~0x1fU) != 0 || (type > soft && type < external)) {
        return false;
    }
    in.number((flags & 0x04) != 0 ? 8 : 0);
    const auto encoding = (flags & 0x10) != 0 ? in.number(1) : 0;
    const auto name_bytes = in.number(std::size_t{1} << (flags & 0x03));
    in.take(name_bytes);
    if (version != 1 || encoding > 1 || name_bytes == 0) {
        return false;
    }
    const auto target = in.take(type == hard ? address_bytes : in.number(2));
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
    const bool elsewhere = version >= 3 && type == in_table;
    return in.good() && !elsewhere ? std::optional(address) : std::nullopt;
}

/// Checks one header: its messages are looked at one after the other.
class HeaderCheck {
  public:
    HeaderCheck(const InputFile& file, const Hdf5Sizes& sizes, Hdf5Seen& seen)
        : file_(file), sizes_(sizes), seen_(seen) {}

    const char* run(std::uint64_t address) {
        const char* reason = for_each_message(
            file_, sizes_, address, [this](const Hdf5Message& of) { return message(of); },
            &seen_.parts);
        return reason != nullptr ? reason : whole();
    }

  private:
    const char* message(const Hdf5Message& message);
    const char* layout_message(std::span<const std::byte> body);
    const char* attribute_message(std::span<const std::byte> body);
    const char* in_heap(Hdf5MessageKind kind, std::span<const std::byte> info);
    const char* heap_object(FractalHeap& heap, Hdf5MessageKind kind, std::size_t before,
                            std::span<const std::byte> record);
    const char* whole() const;
    std::optional<Hdf5Type> type_at(std::uint64_t address) const;
    std::optional<Hdf5Type> type_of(bool shared, std::span<const std::byte> message,
                                    const char*& reason) const;

    const InputFile& file_;
    const Hdf5Sizes& sizes_;
    Hdf5Seen& seen_;
    std::set<Hdf5MessageKind> kinds_;
    std::optional<Hdf5Type> type_;
    std::optional<Space> space_;
    bool space_elsewhere_ = false;  ///< or newer than this guard
    /// Bytes of the fill value: of the shorter one, where an old and a new message have one.
    std::optional<std::uint64_t> filled_;
    Hdf5Chunking chunking_;
    std::uint64_t decoded_bytes_ = 0;                                       ///< of the filters
    std::optional<std::pair<std::uint64_t, std::uint64_t>> virtual_parts_;  ///< heap, number in it
};

/// The datatype in another header, which is checked when that is read.
std::optional<Hdf5Type> HeaderCheck::type_at(std::uint64_t address) const {
    std::optional<Hdf5Type> found;
    for_each_message(file_, sizes_, address, [&](const Hdf5Message& message) -> const char* {
        Hdf5Type type;
        if (message.kind == MessageKind::Datatype && !message.shared && !found &&
            check_datatype(message.body, sizes_, type) == nullptr) {
            found = type;
        }
        return nullptr;
    });
    return found;
}

std::optional<Hdf5Type> HeaderCheck::type_of(bool shared, std::span<const std::byte> message,
                                             const char*& reason) const {
    if (shared) {
        const auto address = shared_address(message, sizes_);
        return address ? type_at(*address) : std::nullopt;
    }
    Hdf5Type type;
    reason = check_datatype(message, sizes_, type);
    return type;
}

const char* HeaderCheck::attribute_message(std::span<const std::byte> message) {
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
    const bool space_elsewhere = version > 1 && (flags & 2) != 0;
    if (reason != nullptr || !type || !type->known || space_elsewhere ||
        newer(MessageKind::Dataspace, of_space)) {
        return reason;
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

/// An attribute or link of a heap, which a record of its index names behind `before` bytes.
const char* HeaderCheck::heap_object(FractalHeap& heap, Hdf5MessageKind kind, std::size_t before,
                                     std::span<const std::byte> record) {
    constexpr const char* missing = "an attribute or link that its heap does not have";
    const std::size_t id_bytes = kind == MessageKind::Attribute ? 8 : 7;
    Front of(record);
    of.take(before);
    const auto id = of.take(id_bytes);
    const bool in_table = kind == MessageKind::Attribute && (of.number(1) & 2) != 0;
    if (!of.good() || heap.filtered()) {
        return missing;
    }
    if (in_table) {
        return nullptr;
    }
    const auto object = heap.object(id);
    return object ? message({kind, false, *object}) : missing;
}

/// Attributes or links that are not in the header.
const char* HeaderCheck::in_heap(Hdf5MessageKind kind, std::span<const std::byte> info) {
    const bool attributes = kind == MessageKind::AttributeInfo;
    const std::size_t a = sizes_.address_bytes;
    Front in(info);
    in.take(1);
    const auto flags = in.number(1);
    in.take((flags & 1) == 0 ? 0 : attributes ? 2 : 8);
    const auto heap_at = in.number(a);
    const auto nowhere = undefined_address(sizes_);
    const std::uint64_t trees[] = {in.number(a), (flags & 2) != 0 ? in.number(a) : nowhere};
    const std::array place{heap_at, trees[0], trees[1]};
    if (!in.good() || heap_at == nowhere || seen_.heaps.contains(place)) {
        return nullptr;
    }
    FractalHeap heap(file_, sizes_, heap_at + sizes_.base);
    if (heap.reason() != nullptr || !heap.known() || (heap.filtered() && !attributes)) {
        return heap.reason();
    }
    const char* reason = nullptr;
    for (std::size_t by_number = 0; by_number < 2 && reason == nullptr; ++by_number) {
        // Before the ID of a link: a hash, or its number. Behind that of an attribute: flags.
        const std::size_t before = attributes ? 0 : 4 + 4 * by_number;
        if (trees[by_number] != nowhere) {
            reason = for_each_record(
                file_, sizes_, trees[by_number] + sizes_.base,
                [&](std::span<const std::byte> record) {
                    return heap_object(heap,
                                       attributes ? MessageKind::Attribute : MessageKind::Link,
                                       before, record);
                });
        }
    }
    if (reason == nullptr) {
        seen_.heaps.insert(place);
    }
    return reason;
}

const char* HeaderCheck::layout_message(std::span<const std::byte> body) {
    constexpr std::uint64_t parts_of_others = 3;
    chunking_ = decode_chunking(body, sizes_);
    if (!chunking_.known) {
        return nullptr;
    }
    if (!chunking_.good) {
        return "a layout that makes no sense";
    }
    Front in(body);
    const auto version = in.number(1), layout_class = in.number(1);
    const auto address = in.number(sizes_.address_bytes), index = in.number(4);
    if (version >= 4 && layout_class == parts_of_others && in.good() &&
        address != undefined_address(sizes_)) {
        virtual_parts_ = {address, index};
    }
    return nullptr;
}

const char* HeaderCheck::message(const Hdf5Message& message) {
    const auto& [kind, shared, body] = message;
    constexpr Hdf5MessageKind singular[] = {MessageKind::Dataspace, MessageKind::LinkInfo,
                                            MessageKind::Datatype,  MessageKind::OldFill,
                                            MessageKind::Fill,      MessageKind::Layout,
                                            MessageKind::Filters,   MessageKind::AttributeInfo};
    if (std::find(std::begin(singular), std::end(singular), kind) != std::end(singular) &&
        !kinds_.insert(kind).second) {
        return "a header with two messages of which there is but one";  // libhdf5 takes any of them
    }
    if (kind == MessageKind::Datatype) {
        const char* reason = nullptr;
        type_ = type_of(shared, body, reason);
        return reason;
    }
    if (shared || newer(kind, body)) {
        space_elsewhere_ = space_elsewhere_ || kind == MessageKind::Dataspace;
        return nullptr;
    }
    switch (kind) {
        case MessageKind::Attribute:
            return attribute_message(body);
        case MessageKind::Link:
            return good_link(body, sizes_.address_bytes) ? nullptr : "a link that makes no sense";
        case MessageKind::LinkInfo:
        case MessageKind::AttributeInfo:
            return in_heap(kind, body);
        case MessageKind::Dataspace:
            return decode_space(body, sizes_.length_bytes, space_.emplace())
                       ? nullptr
                       : "a shape that makes no sense";
        case MessageKind::Fill:
        case MessageKind::OldFill:
            if (const auto bytes = fill_bytes(kind, body); bytes > body.size()) {
                return "a fill value longer than its message";
            } else if (bytes > 0) {
                filled_ = std::min(bytes, filled_.value_or(bytes));
            }
            return nullptr;
        case MessageKind::Filters:
            return check_filters(body, decoded_bytes_);
        case MessageKind::Layout:
            return layout_message(body);
        default:
            return nullptr;
    }
}

/// What can be said only of all messages together.
const char* HeaderCheck::whole() const {
    if (type_ && type_->known && type_->plain && filled_ && type_->bytes > *filled_) {
        return "a fill value shorter than its type";
    }
    if (space_ && !chunking_.extents.empty() && chunking_.extents.size() != space_->rank + 1) {
        return "chunks of other dimensions than the dataset";
    }
    const std::uint64_t stored_bytes = chunk_bytes(chunking_);
    if (decoded_bytes_ != 0 && stored_bytes != 0 && decoded_bytes_ != stored_bytes) {
        return "a filter for chunks of another size";
    }
    return virtual_parts_ && !space_elsewhere_
               ? check_virtual(file_, sizes_, virtual_parts_->first, virtual_parts_->second,
                               space_ ? space_->rank : 0)
               : nullptr;
}

}  // namespace

const char* check_header(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                         std::uint64_t bytes, Hdf5Seen& seen) {
    // What libhdf5 reads of a header whose length it does not know yet.
    constexpr std::uint64_t guessed_bytes = 512;
    const auto noted = seen.parts.find(address);
    if (noted != seen.parts.end() && noted->second == bytes && bytes != guessed_bytes) {
        return nullptr;
    }
    return HeaderCheck(file, sizes, seen).run(address);
}

}  // namespace fluvial::store
