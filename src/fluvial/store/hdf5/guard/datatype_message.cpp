// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A.2.d, The Datatype Message; for complex
// numbers, H5Odtype.c of HDF5 2.0.
#include "fluvial/store/hdf5/guard/datatype_message.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "fluvial/store/hdf5/front.hpp"

namespace fluvial::store {

namespace {

enum Class : unsigned {
    integer,
    floating,
    time,
    string,
    bitfield,
    opaque,
    compound,
    reference,
    enumeration,
    sequence,
    array,
    complex
};

constexpr std::uint64_t datatype_version_max = 5;
constexpr int types_depth_max = 32;  // of types inside of types
constexpr std::uint64_t axes_max = 32;
constexpr std::uint64_t number_bytes_max = 16;  // libhdf5 converts them on its stack
constexpr std::uint64_t field_bits_max = 64;    // of an exponent or a mantissa

using Name = std::span<const std::byte>;

struct MemberBytes {
    std::uint64_t begin, bytes;
};

/// Decodes as libhdf5 does. Once something is wrong (`reason`), or newer than this guard (not
/// `known`), what follows does not count.
class Decoder {
  public:
    Decoder(std::span<const std::byte> message, const Hdf5Sizes& sizes)
        : in_(message), sizes_(sizes) {}

    Hdf5Type decode(int depth) {
        Hdf5Type type;
        const auto first = in_.number(1);
        const auto flags = in_.number(3);
        const auto version = first >> 4;
        type.kind = static_cast<unsigned>(first & 0x0f);
        type.bytes = in_.number(4);
        require(in_.good(), "a datatype that is longer than its message");
        require(version >= 1, "a datatype of unknown version");
        known = known && version <= datatype_version_max && type.kind <= complex;
        require(type.bytes > 0, "a datatype of no bytes");
        require(depth < types_depth_max, "a datatype that is nested too deeply");
        if (goes_on()) {
            properties(type, version, flags, depth);
            require(in_.good(), "a datatype that is longer than its message");
        }
        return type;
    }

    const char* reason = nullptr;
    bool known = true;

  private:
    bool goes_on() const { return reason == nullptr && known; }
    void require(bool holds, const char* otherwise) {
        reason = holds || !goes_on() ? reason : otherwise;
    }

    void properties(Hdf5Type& type, std::uint64_t version, std::uint64_t flags, int depth) {
        switch (type.kind) {
            case integer:
            case bitfield:
                bits(type.bytes);
                return;
            case floating:
                float_fields(type.bytes, flags);
                return;
            case time:
                require(in_.number(2) <= 8 * type.bytes && type.bytes <= number_bytes_max,
                        "a time of more bits than bytes");
                return;
            case string:
                require((flags & 0x0f) <= 2 && (flags >> 4 & 0x0f) <= 1,
                        "a text of unknown padding or encoding");
                return;
            case opaque:
                in_.take(flags & 0xff);
                return;
            case compound:
                members(type, version, flags & 0xffff, depth);
                return;
            case reference:
                type.plain = false;
                reference_to(type.bytes, version, flags & 0x0f);
                return;
            case enumeration:
                names_and_values(type, version, flags & 0xffff, depth);
                return;
            case sequence:
                type.plain = false;
                require((flags & 0x0f) <= 1, "a sequence of unknown kind");
                require(type.bytes == 8 + sizes_.address_bytes, "a sequence of impossible size");
                decode(depth + 1);
                return;
            case array:
                elements(type, version, depth);
                return;
            case complex:
                require(version >= 5, "a datatype of unknown class");
                two_parts(type, depth);
                return;
            default:
                return;  // newer
        }
    }

    void bits(std::uint64_t bytes) {
        const auto offset = in_.number(2), precision = in_.number(2);
        require(precision > 0 && offset + precision <= 8 * bytes && bytes <= number_bytes_max,
                "a number of more bits than bytes");
    }

    void float_fields(std::uint64_t bytes, std::uint64_t flags) {
        bits(bytes);
        const auto exponent_at = in_.number(1), exponent_bits = in_.number(1);
        const auto mantissa_at = in_.number(1), mantissa_bits = in_.number(1);
        in_.number(4);
        const auto sign_at = flags >> 8 & 0xff;
        const auto within = [&](std::uint64_t at, std::uint64_t width) {
            return width > 0 && width <= 2 * field_bits_max && at + width <= 8 * bytes;
        };
        const auto apart = [](std::uint64_t a, std::uint64_t a_width, std::uint64_t b,
                              std::uint64_t b_width) {
            return a + a_width <= b || b + b_width <= a;
        };
        require(within(sign_at, 1) && within(exponent_at, exponent_bits) &&
                    exponent_bits <= field_bits_max && within(mantissa_at, mantissa_bits),
                "a floating-point number whose fields are not inside of it");
        require(apart(exponent_at, exponent_bits, mantissa_at, mantissa_bits) &&
                    apart(sign_at, 1, exponent_at, exponent_bits) &&
                    apart(sign_at, 1, mantissa_at, mantissa_bits),
                "a floating-point number whose fields overlap");
    }

    void reference_to(std::uint64_t bytes, std::uint64_t version, std::uint64_t kind) {
        constexpr std::uint64_t old_object = 0, old_region = 1, attribute = 4;
        if (kind <= old_region) {
            require(bytes >= sizes_.address_bytes + (kind == old_object ? 0 : 4),
                    "a reference without room for an address");
            return;
        }
        require(version >= 4, "a reference of unknown kind");
        known = known && kind <= attribute;
    }

    void two_parts(const Hdf5Type& type, int depth) {
        const Hdf5Type part = decode(depth + 1);
        require(part.kind == floating && type.bytes == 2 * part.bytes,
                "a complex number whose parts are not its halves");
    }

    Name name(std::uint64_t version) {
        const Name found = in_.text();
        if (version < 3) {  // padded to 8 bytes with its zero
            in_.take((8 - (found.size() + 1) % 8) % 8);
        }
        require(in_.good(), "a datatype with a name that does not end");
        return found;
    }

    void members(Hdf5Type& type, std::uint64_t version, std::uint64_t count, int depth) {
        require(count > 0, "a compound type without members");
        const std::size_t offset_bytes =
            version < 3 ? 4 : (static_cast<std::size_t>(std::bit_width(type.bytes)) + 7) / 8;
        std::vector<MemberBytes> parts;
        std::set<std::string> names;
        for (std::uint64_t i = 0; i < count && goes_on(); ++i) {
            const Name called = name(version);
            const std::string text(reinterpret_cast<const char*>(called.data()), called.size());
            require(names.insert(text).second, "a compound type with two members of one name");
            const auto offset = in_.number(offset_bytes);
            const std::uint64_t repeats = version == 1 ? old_extents() : 1;
            const Hdf5Type member = decode(depth + 1);
            type.plain = type.plain && member.plain;
            std::uint64_t bytes = 0;
            require(!__builtin_mul_overflow(member.bytes, repeats, &bytes) && bytes > 0 &&
                        offset <= type.bytes && bytes <= type.bytes - offset,
                    "a compound type with a member outside of it");
            parts.push_back({offset, bytes});
        }
        std::sort(parts.begin(), parts.end(),
                  [](const MemberBytes& a, const MemberBytes& b) { return a.begin < b.begin; });
        for (std::size_t i = 1; i < parts.size(); ++i) {
            require(parts[i - 1].begin + parts[i - 1].bytes <= parts[i].begin,
                    "a compound type whose members overlap");
        }
    }

    /// Version 1 has members that are arrays. How many elements they have.
    std::uint64_t old_extents() {
        const auto axes = in_.number(1);
        in_.take(11);
        std::uint64_t elements = 1;
        for (std::uint64_t axis = 0; axis < 4; ++axis) {
            const auto extent = in_.number(4);
            require(axis >= axes || !__builtin_mul_overflow(elements, extent, &elements),
                    "a compound type with a member outside of it");
        }
        require(axes <= 4, "a compound type with an array of more than 4 dimensions");
        return elements;
    }

    void names_and_values(const Hdf5Type& type, std::uint64_t version, std::uint64_t count,
                          int depth) {
        const Hdf5Type base = decode(depth + 1);
        require(base.kind == integer && base.bytes == type.bytes,
                "an enumeration of what are no integers");
        require(count > 0, "an enumeration without values");  // libhdf5 fails to copy it
        for (std::uint64_t i = 0; i < count && goes_on(); ++i) {
            name(version);
        }
        if (goes_on()) {
            in_.take(count * base.bytes);
        }
    }

    void elements(Hdf5Type& type, std::uint64_t version, int depth) {
        const auto axes = in_.number(1);
        require(axes >= 1 && axes <= axes_max, "an array type of impossible dimensions");
        in_.take(version < 3 ? 3 : 0);
        std::uint64_t bytes = 1;
        for (std::uint64_t axis = 0; axis < axes && goes_on(); ++axis) {
            require(!__builtin_mul_overflow(bytes, in_.number(4), &bytes),
                    "an array type of impossible size");
        }
        in_.take(version < 3 ? 4 * axes : 0);
        if (!goes_on()) {
            return;
        }
        const Hdf5Type element = decode(depth + 1);
        type.plain = element.plain;
        require(!__builtin_mul_overflow(bytes, element.bytes, &bytes) && bytes == type.bytes,
                "an array type of impossible size");
    }

    Front in_;
    const Hdf5Sizes& sizes_;
};

}  // namespace

const char* check_datatype(std::span<const std::byte> message, const Hdf5Sizes& sizes,
                           Hdf5Type& type) {
    Decoder decoder(message, sizes);
    type = decoder.decode(0);
    type.known = decoder.known;
    return decoder.reason;
}

}  // namespace fluvial::store
