// SPDX-License-Identifier: Apache-2.0
// Damaged HDF5 files whose fate is known: errors, whatever libhdf5 makes of them.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/hdf5/file.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

std::string content_of(const std::string& name) {
    std::ifstream in(std::filesystem::path(FLUVIAL_CORPUS) / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string number_of(std::uint64_t number, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
        text += static_cast<char>(number >> 8 * i & 0xff);
    }
    return text;
}

}  // namespace

TEST_CASE("the corpus: valid_ files open, hostile_ ones do not, all others may") {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FLUVIAL_CORPUS)) {
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string content{std::istreambuf_iterator<char>(in), {}};
        const bool opened = opens(open_hdf5, std::as_bytes(std::span(content)));
        CHECK_FALSE((name.starts_with("valid_") && !opened));
        CHECK_FALSE((name.starts_with("hostile_") && opened));
        ++files;
    }
    CHECK(files >= 25);
}

TEST_CASE("every truncation of a file is refused") {
    for (const char* name : {"valid_chunked_old.h5", "valid_groups_new.h5", "valid_netcdf.nc"}) {
        CAPTURE(name);
        std::ifstream in(std::filesystem::path(FLUVIAL_CORPUS) / name, std::ios::binary);
        const std::string whole{std::istreambuf_iterator<char>(in), {}};
        REQUIRE(opens(open_hdf5, std::as_bytes(std::span(whole))));
        for (std::size_t length = 0; length < whole.size(); length += 7) {
            CAPTURE(length);
            CHECK_FALSE(opens(open_hdf5, std::as_bytes(std::span(whole)).first(length)));
        }
    }
}

TEST_CASE("lists of a virtual dataset's parts that make no sense are not decoded") {
    using namespace std::string_literals;
    const std::string whole = content_of("valid_by_library.h5");
    const auto heap = whole.find("GCOL\1"s);
    const auto parts = whole.find(".\0scaled\0"s, heap);
    REQUIRE(parts != std::string::npos);
    const auto layout = whole.find("\4\3"s + number_of(heap, 8));
    REQUIRE(layout != std::string::npos);
    const auto usable = [&](std::size_t at, const std::string& bytes) {
        std::string changed = whole;
        changed.replace(at, bytes.size(), bytes);
        const MemoryFile memory(std::as_bytes(std::span(changed)));
        const auto file = open_hdf5(memory.path());
        CHECK(file->dataset("compact")->shape() == Coordinates{4});
        const auto& names = file->names();  // what cannot be opened is listed, too
        CHECK(std::find(names.begin(), names.end(), "virtual") != names.end());
        const bool unreadable = file->unreadable().contains("virtual");
        if (unreadable) {
            CHECK_THROWS_AS(static_cast<void>(file->dataset("virtual")), DamagedFile);
        }
        return !unreadable;
    };
    CHECK(usable(0, "\x89"));
    CHECK_FALSE(usable(layout + 2, number_of(heap + 8, 8)));  // no heap is there
    CHECK_FALSE(usable(layout + 2, number_of(1 << 30, 8)));   // nothing is
    CHECK_FALSE(usable(layout + 10, number_of(200, 4)));      // no such object
    CHECK_FALSE(usable(layout + 10, number_of(0, 4)));        // free space
    CHECK_FALSE(usable(parts - 8, number_of(1000, 8)));       // more parts
    CHECK_FALSE(usable(parts + 8, "endless"));                // a name that does not end
    const auto selection = parts + 9;                         // of the source: everything
    CHECK_FALSE(usable(selection, number_of(4, 4)));          // of no kind
    CHECK_FALSE(usable(selection, number_of(1, 4)));          // points, too many
    const auto own = selection + 16;                          // a hyperslab of two dimensions
    CHECK_FALSE(usable(own + 16, number_of(33, 4)));          // of 33
    CHECK_FALSE(usable(own + 16, number_of(1, 4)));           // of one
}

TEST_CASE("attributes and links in heaps are looked at before libhdf5 decodes them") {
    using namespace std::string_literals;
    const std::string whole = content_of("valid_groups_new.h5");
    const auto refused = [&](std::size_t at, char byte, const std::string& reason) {
        REQUIRE(at < whole.size());
        std::string changed = whole;
        changed[at] = byte;
        const MemoryFile memory(std::as_bytes(std::span(changed)));
        try {
            static_cast<void>(open_hdf5(memory.path())->dataset("d3"));
        } catch (const Error& error) {
            CAPTURE(std::string(error.what()));
            CHECK(std::string(error.what()).find(reason) != std::string::npos);
            return;
        }
        FAIL_CHECK("not refused");
    };
    const auto named = whole.find("attribute 7\0"s);
    const auto type = named + 12;
    refused(type, 0x1b, "a datatype of unknown class");
    refused(type + 4, 2, "a number of more bits than bytes");
    refused(named - 5, 90, "an attribute that is longer than its message");  // length of its type
    const auto link = whole.find("d11"s, whole.find("FHDB"s));
    refused(link - 1, 90, "a link that makes no sense");  // length of its name
    refused(whole.find("BTHD\0\5"s) + 10, 1, "that its heap does not have");
}

TEST_CASE("heaps with the names of old groups are looked at before libhdf5 decodes them") {
    using namespace std::string_literals;
    const std::string whole = content_of("valid_openpmd.h5");
    const auto said = [&](std::size_t at, const std::string& bytes) {
        std::string changed = whole;
        changed.replace(at, bytes.size(), bytes);
        const MemoryFile memory(std::as_bytes(std::span(changed)));
        try {
            const auto file = open_hdf5(memory.path());
            exercise(*file);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return "read"s;
    };
    const auto contains = [](const std::string& text, const char* part) {
        CAPTURE(text);
        CHECK(text.find(part) != std::string::npos);
    };
    const auto heap = whole.find("HEAP\0"s);
    const auto length = heap + 8, first_free = heap + 16, address = heap + 24;
    REQUIRE(heap != std::string::npos);
    CHECK(said(heap, "H") == "read");
    constexpr const char* elsewhere = "a heap of names that does not lie in the file";
    contains(said(length, number_of(~std::uint64_t{0}, 8)), elsewhere);  // and 32 bytes are few
    contains(said(length, number_of(whole.size(), 8)), elsewhere);
    contains(said(address, number_of(~std::uint64_t{0} - 20, 8)), elsewhere);
    constexpr const char* senseless = "a heap of names whose free space makes no sense";
    const auto bytes = static_cast<unsigned char>(whole[length]);
    contains(said(first_free, number_of(bytes, 8)), senseless);
    contains(said(first_free, number_of(bytes - 9u, 8)), senseless);  // half of a block
    const auto free_at = static_cast<unsigned char>(whole[first_free]);
    REQUIRE(free_at + 16 <= bytes);
    contains(said(heap + 32 + free_at, number_of(free_at, 8)), senseless);  // a circle
}
