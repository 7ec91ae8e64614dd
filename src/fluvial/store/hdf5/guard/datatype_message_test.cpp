// SPDX-License-Identifier: Apache-2.0
// Datatype messages as libhdf5 writes them are let through, whatever their types; damaged ones that
// are let through do no harm to libhdf5.
#include "fluvial/store/hdf5/guard/datatype_message.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#define H5_USE_110_API 1  // newer versions of H5Tdecode want a length
#include <hdf5.h>

using namespace fluvial::store;

namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

/// The message of a type; it is closed.
Bytes encoded(hid_t type) {
    std::size_t bytes = 0;
    REQUIRE(H5Tencode(type, nullptr, &bytes) >= 0);
    Bytes buffer(bytes);
    REQUIRE(H5Tencode(type, buffer.data(), &bytes) >= 0);
    H5Tclose(type);
    return {buffer.begin() + 2, buffer.end()};  // behind the kind and version of the encoding
}

const char* reason_of(const Bytes& message) {
    Hdf5Type type;
    return check_datatype(message, Hdf5Sizes(), type);
}

hid_t random_type(Random& random, int depth);

hid_t compound(Random& random, int depth) {
    std::vector<hid_t> members;
    std::size_t bytes = 0;
    for (std::uint64_t i = 0; i < 1 + random() % 5; ++i) {
        members.push_back(random_type(random, depth + 1));
        bytes += H5Tget_size(members.back()) + random() % 3;
    }
    const hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
    std::size_t at = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::string name(1 + random() % 20, static_cast<char>('a' + i));
        REQUIRE(H5Tinsert(type, name.c_str(), at, members[i]) >= 0);
        at += H5Tget_size(members[i]);
        H5Tclose(members[i]);
    }
    return type;
}

hid_t enumeration(Random& random) {
    const hid_t type = H5Tenum_create(H5T_STD_I16BE);
    const auto values = static_cast<std::int16_t>(1 + random() % 5);
    for (std::int16_t value = 0; value < values; ++value) {
        const std::string name = "value" + std::to_string(value);
        REQUIRE(H5Tenum_insert(type, name.c_str(), &value) >= 0);
    }
    return type;
}

hid_t odd_number(Random& random) {
    const hid_t type = H5Tcopy(random() % 2 == 0 ? H5T_STD_U32LE : H5T_STD_B64BE);
    H5Tset_precision(type, 1 + random() % 32);
    H5Tset_offset(type, random() % 30);
    return type;
}

hid_t random_type(Random& random, int depth) {
    const hid_t plain[] = {H5T_STD_I8LE,    H5T_STD_U64BE,      H5T_IEEE_F32LE,
                           H5T_IEEE_F64BE,  H5T_NATIVE_LDOUBLE, H5T_STD_B16LE,
                           H5T_STD_REF_OBJ, H5T_UNIX_D64LE,     H5T_C_S1};
    switch (random() % (depth < 4 ? 9 : 5)) {
        case 0:
            return odd_number(random);
        case 1:
            return enumeration(random);
        case 2: {
            const hid_t text = H5Tcopy(H5T_C_S1);
            H5Tset_size(text, 1 + random() % 40);
            return text;
        }
        case 3: {
            const hid_t opaque = H5Tcreate(H5T_OPAQUE, 1 + random() % 40);
            H5Tset_tag(opaque, "a tag");
            return opaque;
        }
        case 5:
        case 6:
            return compound(random, depth);
        case 7:
        case 8: {
            const hsize_t extents[] = {1 + random() % 4, 1 + random() % 4, 2};
            const hid_t element = random_type(random, depth + 1);
            const hid_t type =
                H5Tarray_create2(element, static_cast<unsigned>(1 + random() % 3), extents);
            H5Tclose(element);
            return type;
        }
        default:
            return H5Tcopy(plain[random() % std::size(plain)]);
    }
}

/// Converts one element as reading does: fields that lie outside of it would show.
void convert(hid_t type) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) {
        return;
    }
    std::vector<std::byte> element(std::max<std::size_t>(H5Tget_size(type), 8), std::byte{0x5a});
    for (const hid_t to : {H5T_NATIVE_INT64, H5T_NATIVE_UINT64, H5T_NATIVE_DOUBLE}) {
        if ((to == H5T_NATIVE_DOUBLE) == (kind == H5T_FLOAT)) {
            auto copy = element;
            H5Tconvert(type, to, 1, copy.data(), nullptr, H5P_DEFAULT);
        }
    }
}

/// What libhdf5 makes of a message.
bool decodes(const Bytes& message) {
    Bytes buffer{std::byte{3}, std::byte{0}};
    buffer.insert(buffer.end(), message.begin(), message.end());
    const hid_t type = H5Tdecode(buffer.data());
    if (type < 0) {
        return false;
    }
    convert(type);
    H5Tclose(type);
    return true;
}

Bytes patched(Bytes message, std::size_t at, std::uint8_t value) {
    message.at(at) = static_cast<std::byte>(value);
    return message;
}

}  // namespace

TEST_CASE("what libhdf5 writes is let through, and nothing shorter") {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    Random random(5);
    for (int i = 0; i < 400; ++i) {
        CAPTURE(i);
        const Bytes message = encoded(random_type(random, 0));
        const char* const reason = reason_of(message);
        CHECK_MESSAGE(reason == nullptr, std::string(reason == nullptr ? "" : reason));
        Bytes longer = message;
        longer.resize(message.size() + 8);
        CHECK(reason_of(longer) == nullptr);
        const bool tagged = std::to_integer<int>(message[0]) % 16 == 5;  // its tag may be padding
        CHECK((tagged || reason_of({message.begin(), message.end() - 1}) != nullptr));
    }
}

TEST_CASE("damaged messages that are let through are safe to decode") {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    Random random(6);
    int let_through = 0, refused = 0;
    for (int i = 0; i < 20000; ++i) {
        Bytes message = encoded(random_type(random, 1));
        for (std::uint64_t times = 1 + random() % 3; times > 0; --times) {
            message[random() % message.size()] = static_cast<std::byte>(
                random() % 2 == 0 ? random() : std::uint64_t{1} << random() % 8);
        }
        if (reason_of(message) != nullptr) {
            ++refused;
        } else {
            ++let_through;
            decodes(message);
        }
    }
    CHECK(let_through > 1000);
    CHECK(refused > 1000);
}

TEST_CASE("types that make no sense are refused") {
    const Bytes number = encoded(H5Tcopy(H5T_STD_I32LE));
    CHECK(reason_of(patched(number, 0, 0x00)) != nullptr);  // version 0
    CHECK(reason_of(patched(number, 0, 0x1b)) != nullptr);  // complex numbers before version 5
    CHECK(reason_of(patched(number, 4, 0)) != nullptr);     // of no bytes
    CHECK(reason_of(patched(number, 4, 3)) != nullptr);     // 32 bits of 24
    CHECK(reason_of(patched(number, 5, 1)) != nullptr);     // 260 bytes
    CHECK(reason_of(patched(number, 8, 1)) != nullptr);     // from the second bit on
    CHECK(reason_of(patched(number, 10, 0)) != nullptr);    // no bits
    const Bytes real = encoded(H5Tcopy(H5T_IEEE_F64LE));
    CHECK(reason_of(patched(real, 2, 64)) != nullptr);   // its sign
    CHECK(reason_of(patched(real, 2, 61)) != nullptr);   // its sign in its exponent
    CHECK(reason_of(patched(real, 2, 3)) != nullptr);    // in its mantissa
    CHECK(reason_of(patched(real, 12, 60)) != nullptr);  // its exponent
    CHECK(reason_of(patched(real, 13, 0)) != nullptr);   // of no bits
    CHECK(reason_of(patched(real, 15, 53)) != nullptr);  // its mantissa reaches the exponent
    const Bytes letters = encoded(H5Tcopy(H5T_C_S1));
    CHECK(reason_of(patched(letters, 1, 0x20)) != nullptr);  // its encoding
    CHECK(reason_of(patched(letters, 1, 0x03)) != nullptr);  // its padding
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "a", 0, H5T_STD_I32LE);
    H5Tinsert(pair, "b", 4, H5T_STD_I32LE);
    const Bytes members = encoded(pair);
    CHECK(reason_of(patched(members, 1, 0)) != nullptr);  // no members
    CHECK(reason_of(patched(members, 1, 3)) != nullptr);  // more than there are
    CHECK(reason_of(patched(members, 4, 7)) != nullptr);  // the last one does not fit
    const auto second = std::find(members.begin(), members.end(), std::byte{'b'});
    const auto at = static_cast<std::size_t>(second - members.begin());
    CHECK(reason_of(patched(members, at, 'a')) != nullptr);               // one name twice
    CHECK(reason_of(patched(members, at + 8, 3)) != nullptr);             // one over the other
    CHECK(reason_of(patched(members, at + 8, 5)) != nullptr);             // outside
    CHECK(reason_of(encoded(H5Tenum_create(H5T_STD_I16BE))) != nullptr);  // without values
    const hsize_t extent[] = {3};
    const Bytes array = encoded(H5Tarray_create2(H5T_STD_I16LE, 1, extent));
    CHECK(reason_of(patched(array, 4, 7)) != nullptr);  // 7 bytes of 3 times 2
    CHECK(reason_of(patched(array, 8, 0)) != nullptr);  // no dimensions
    CHECK(reason_of(patched(array, 8, 33)) != nullptr);
    hid_t nested = H5Tcopy(H5T_STD_I8LE);
    for (int depth = 0; depth < 40; ++depth) {
        const hsize_t one[] = {1};
        const hid_t outer = H5Tarray_create2(nested, 1, one);
        H5Tclose(nested);
        nested = outer;
    }
    CHECK(reason_of(encoded(nested)) != nullptr);
}

TEST_CASE("types of HDF5 1.12 and 2.0, and newer ones") {
    const Bytes number = encoded(H5Tcopy(H5T_STD_I32LE));
    CHECK(reason_of(patched(number, 0, 0x40)) == nullptr);
    CHECK(reason_of(patched(patched(number, 0, 0x50), 4, 3)) != nullptr);  // 32 bits of 24
    CHECK(reason_of(patched(patched(number, 0, 0x60), 4, 3)) == nullptr);  // of version 6
    CHECK(reason_of(patched(number, 0, 0x5c)) == nullptr);                 // class 12
    const Bytes reference = encoded(H5Tcopy(H5T_STD_REF_OBJ));
    CHECK(reason_of(patched(reference, 1, 2)) != nullptr);
    CHECK(reason_of(patched(patched(reference, 0, 0x47), 1, 2)) == nullptr);
    CHECK(reason_of(patched(patched(reference, 0, 0x47), 1, 5)) == nullptr);
    Bytes complex{std::byte{0x5b}, std::byte{1}, std::byte{0}, std::byte{0},
                  std::byte{16},   std::byte{0}, std::byte{0}, std::byte{0}};
    const Bytes part = encoded(H5Tcopy(H5T_IEEE_F64LE));
    complex.insert(complex.end(), part.begin(), part.end());
    CHECK(reason_of(complex) == nullptr);
    CHECK(reason_of(patched(complex, 4, 15)) != nullptr);    // not twice 8 bytes
    CHECK(reason_of(patched(complex, 8, 0x10)) != nullptr);  // of integers
    Hdf5Type type;
    CHECK(check_datatype(patched(number, 0, 0x60), Hdf5Sizes(), type) == nullptr);
    CHECK_FALSE(type.known);
}
