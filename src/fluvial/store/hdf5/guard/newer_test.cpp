// SPDX-License-Identifier: Apache-2.0
// What is newer than the guard is passed on to libhdf5; the same bytes of a known version are
// refused.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/store/hdf5/guard/header.hpp"
#include "fluvial/store/hdf5/guard/virtual_parts.hpp"
#include "fluvial/store/hdf5/messages.hpp"
#include "fluvial/store/memory_file.hpp"

using namespace fluvial::store;
using namespace std::string_literals;

namespace {

std::string number(std::uint64_t value, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
        text += static_cast<char>(i < 8 ? value >> 8 * i & 0xff : 0);
    }
    return text;
}

/// What the guard says of a header with one message.
std::string reason_of(Hdf5MessageKind kind, const std::string& body) {
    const std::string message =
        number(static_cast<unsigned>(kind), 2) + number(body.size(), 2) + number(0, 4) + body;
    const std::string header =
        number(1, 2) + number(1, 2) + number(1, 4) + number(message.size(), 8) + message;
    const MemoryFile memory(std::as_bytes(std::span(header)));
    const InputFile file(memory.path());
    Hdf5Seen seen;
    const char* reason = check_header(file, Hdf5Sizes(), 0, header.size(), seen);
    return reason == nullptr ? "" : reason;
}

/// What the guard says of a virtual dataset of two dimensions with one part.
std::string reason_of_parts(const std::string& list) {
    const std::string object = number(1, 2) + number(1, 2) + number(0, 4) + number(list.size(), 8) +
                               list + std::string((8 - list.size() % 8) % 8, '\0');
    const std::string heap = "GCOL\1\0\0\0"s + number(16 + object.size(), 8) + object;
    const MemoryFile memory(std::as_bytes(std::span(heap)));
    const InputFile file(memory.path());
    const char* reason = check_virtual(file, Hdf5Sizes(), 0, 1, 2);
    return reason == nullptr ? "" : reason;
}

const std::string everything = number(3, 4) + number(1, 4) + number(0, 8);
const std::string checksum = number(0, 4);

/// A list with one entry: `own` is the selection in the virtual dataset.
std::string list(unsigned version, const std::string& names, const std::string& own) {
    return number(version, 1) + number(1, 8) + names + everything + own + checksum;
}

}  // namespace

TEST_CASE("messages of newer versions") {
    const std::string junk(24, '\x7f');
    const auto known_to = [](Hdf5MessageKind kind, unsigned version, const std::string& rest) {
        CAPTURE(static_cast<unsigned>(kind));
        CAPTURE(version);
        CHECK(reason_of(kind, number(version, 1) + rest) != "");
        CHECK(reason_of(kind, number(version + 1, 1) + rest) == "");
    };
    known_to(Hdf5MessageKind::Dataspace, 2, junk);
    known_to(Hdf5MessageKind::Filters, 2, junk);
    known_to(Hdf5MessageKind::Fill, 3, junk);
    known_to(Hdf5MessageKind::Attribute, 3, junk);
    known_to(Hdf5MessageKind::Layout, 5, "\2\0\1\1"s);  // chunks of a dataset without dimensions
    CHECK(reason_of(Hdf5MessageKind::Dataspace, number(0, 1) + junk) != "");
    // libhdf5 1.10 does not survive a link that it cannot decode.
    CHECK(reason_of(Hdf5MessageKind::Link, number(1, 1) + number(0, 30)) != "");
    CHECK(reason_of(Hdf5MessageKind::Link, number(2, 1) + number(0, 30)) != "");
}

TEST_CASE("kinds of links that have no meaning yet") {
    const auto link = [](unsigned type, unsigned name_bytes) {
        return number(1, 1) + number(8, 1) + number(type, 1) + number(name_bytes, 1);
    };
    CHECK(reason_of(Hdf5MessageKind::Link, link(1, 0)) != "");
    CHECK(reason_of(Hdf5MessageKind::Link, link(2, 0)) != "");
    CHECK(reason_of(Hdf5MessageKind::Link, link(200, 0)) != "");
}

TEST_CASE("selections of every version, and of newer ones") {
    const std::string names = ".\0x\0"s;
    const auto boxes = [](std::size_t bytes, std::uint64_t stride) {  // version 3, regular
        std::string text =
            number(2, 4) + number(3, 4) + number(1, 1) + number(bytes, 1) + number(2, 4);
        for (int axis = 0; axis < 2; ++axis) {
            text += number(0, bytes) + number(stride, bytes) + number(4, bytes) + number(1, bytes);
        }
        return text;
    };
    const std::string senseless = "a virtual dataset whose parts make no sense";
    CHECK(reason_of_parts(list(0, names, everything)) == "");
    for (const std::size_t bytes : {2, 4, 8}) {
        CAPTURE(bytes);
        CHECK(reason_of_parts(list(0, names, boxes(bytes, 1))) == "");
        CHECK(reason_of_parts(list(0, names, boxes(bytes, 0))) == senseless);
        const std::string points = number(1, 4) + number(2, 4) + number(bytes, 1) + number(2, 4);
        CHECK(reason_of_parts(list(0, names, points + number(1, bytes) + number(0, 2 * bytes))) ==
              "");
        CHECK(reason_of_parts(list(0, names, points + number(9, bytes) + number(0, 2 * bytes))) ==
              senseless);
    }
    CHECK(reason_of_parts(list(0, names, boxes(3, 1))) == senseless);
    CHECK(reason_of_parts(list(0, names, number(2, 4) + number(4, 4))) == "");  // newer
    CHECK(reason_of_parts(list(0, names, number(2, 4) + number(0, 4))) == senseless);
    CHECK(reason_of_parts(list(0, names, number(4, 4) + number(1, 4))) == "");
}

TEST_CASE("lists of parts that share their names, as HDF5 2.0 writes them") {
    const std::string senseless = "a virtual dataset whose parts make no sense";
    CHECK(reason_of_parts(list(1, "\4x\0"s, everything)) == "");
    CHECK(reason_of_parts(list(1, "\0f\0x\0"s, everything)) == "");
    CHECK(reason_of_parts(list(1, "\5"s + "x\0"s, everything)) == "");
    CHECK(reason_of_parts(list(1, "\1"s + number(0, 8) + "x\0"s, everything)) == senseless);
    CHECK(reason_of_parts(list(1, "\6"s + number(0, 8), everything)) == senseless);
    CHECK(reason_of_parts(list(1, "\x10x\0"s, everything)) == senseless);
    CHECK(reason_of_parts(list(2, "", "")) == "");
}
