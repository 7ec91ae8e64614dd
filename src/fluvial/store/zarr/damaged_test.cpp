// SPDX-License-Identifier: Apache-2.0
// Folders of Zarr, damaged at random and then read: what comes is what was written, the fill value
// or one of Fluvial's own errors, in reasonable time and memory, never a signal.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/store/child_trials.hpp"
#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/zarr/file.hpp"
#include "fluvial/store/zarr/fixture.hpp"

using namespace fluvial;
using namespace fluvial::store;
using Random = std::mt19937_64;

namespace {

constexpr double cpu_s = 20;
constexpr std::size_t memory_bytes = std::size_t{3} << 30;

std::size_t mutations() {
    const char* const given = std::getenv("FLUVIAL_MUTATIONS");
    return given == nullptr ? 200 : std::strtoull(given, nullptr, 10);
}

/// The files of a folder, by their path in it.
using Contents = std::map<std::string, std::string>;

Contents contents_of(const std::filesystem::path& folder) {
    Contents contents;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            std::ifstream in(entry.path(), std::ios::binary);
            contents[std::filesystem::relative(entry.path(), folder)] =
                std::string{std::istreambuf_iterator<char>(in), {}};
        }
    }
    return contents;
}

/// Words that mean something in metadata.
const char* const words[] = {"null", "-1",   "0",       "1e300", "18446744073709551615",
                             "[",    "]",    "{",       "}",     "\"",
                             "[[",   "true", "\"NaN\"", "<f8",   "4611686018427387904"};

std::string damaged(std::string content, Random& random) {
    const std::size_t at = content.empty() ? 0 : random() % content.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 24, content.size() - at);
    switch (random() % 7) {
        case 0:
            return content.substr(0, at);
        case 1:
            if (!content.empty()) {
                content[at] = static_cast<char>(content[at] ^ 1 << random() % 8);
            }
            return content;
        case 2:
            return content.erase(at, length);
        case 3:
            return content.insert(at, content.substr(0, length));
        case 4:
            return content.replace(at, length, words[random() % std::size(words)]);
        case 5: {  // a number becomes another one
            const std::size_t digit = content.find_first_of("0123456789", at);
            if (digit != content.npos) {
                const std::size_t end = content.find_first_not_of("0123456789", digit);
                content.replace(digit, std::min(end, content.size()) - digit,
                                text(random() >> random() % 64));
            }
            return content;
        }
        default:
            for (std::size_t i = at; i < at + length; ++i) {
                content[i] = static_cast<char>(random());
            }
            return content;
    }
}

void fill(const ZarrFixture& folder) {
    const auto value = [](Index element) { return static_cast<double>(1 + element % 50); };
    const bool packed = is_built(Filter::Kind::Deflate);
    folder.group("deep", R"("units": "m", "levels": [1, 2, 3])");
    folder.array("deep/t",
                 {.dtype = DType::Int16,
                  .shape = {5, 40},
                  .chunk = {2, 16},
                  .dimensions = {"y", "x"},
                  .attributes = R"("scale_factor": 0.5, "tree": {"a": [1, {"b": null}]})",
                  .packed = packed},
                 value);
    folder.array("plain", {.shape = {7, 3}, .chunk = {4, 2}, .turned = true}, value);
    folder.array("scalar",
                 {.dtype = DType::Complex64, .shape = {}, .chunk = {}, .fill_value = "[0, 1]"},
                 value);
}

/// A folder of these files, for the time of this object.
class Copy {
  public:
    explicit Copy(const Contents& contents)
        : path_(std::filesystem::temp_directory_path() / text("fluvial_damaged_", ::getpid())) {
        std::filesystem::remove_all(path_);
        for (const auto& [file, content] : contents) {
            std::filesystem::create_directories((path_ / file).parent_path());
            std::ofstream(path_ / file, std::ios::binary) << content;
        }
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    ~Copy() { std::filesystem::remove_all(path_); }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

bool is_metadata(const std::string& file) {
    const std::string name = std::filesystem::path(file).filename().string();
    return name.starts_with(".z") || name == "zarr.json";
}

Contents damaged_copy(const Contents& whole, Random& random, bool metadata) {
    std::vector<std::string> files;
    for (const auto& one : whole) {
        if (is_metadata(one.first) == metadata) {
            files.push_back(one.first);
        }
    }
    Contents contents = whole;
    for (std::uint64_t times = 1 + random() % 2; times > 0; --times) {
        std::string& content = contents[files[random() % files.size()]];
        content = damaged(content, random);
    }
    return contents;
}

}  // namespace

TEST_CASE("metadata that are damaged at random") {
    const std::uint64_t seed = test_seed(20250612);
    for (const int version : {2, 3}) {
        const ZarrFixture folder(version);
        fill(folder);
        const Contents whole = contents_of(folder.path());
        std::size_t read = 0, refused = 0;
        const auto ends =
            ChildTrials(cpu_s, memory_bytes).run(mutations(), [&](std::size_t number) {
                Random random(seed + number);
                const Copy copy(damaged_copy(whole, random, true));
                const auto file = open_zarr(copy.path());
                for (const auto& [name, why] : file->unreadable()) {
                    try {
                        file->dataset(name);
                    } catch (const DamagedFile&) {
                        continue;
                    } catch (const InvalidArgument&) {
                        continue;
                    }
                }
                exercise(*file);
                if (!file->unreadable().empty()) {
                    throw DamagedFile("as it says");
                }
            });
        for (std::size_t number = 0; number < ends.size(); ++number) {
            const bool fine = ends[number].kind == TrialEnd::Kind::Done;
            CHECK_MESSAGE((fine || ends[number].kind == TrialEnd::Kind::Refused), "version ",
                          version, ", seed ", seed, ", number ", number, ": ",
                          to_string(ends[number]));
            ++(fine ? read : refused);
        }
        MESSAGE("version ", version, ", seed ", seed, ": ", read, " read, ", refused, " refused");
        CHECK(read > 0);
        CHECK(refused > read);
    }
}

TEST_CASE("chunks of zlib that are damaged at random are refused, or were not changed") {
    if (!is_built(Filter::Kind::Deflate)) {
        return;
    }
    const std::uint64_t seed = test_seed(20250613);
    const ZarrFixture folder(3);
    fill(folder);
    std::filesystem::remove_all(std::filesystem::path(folder.path()) / "plain");
    std::filesystem::remove_all(std::filesystem::path(folder.path()) / "scalar");
    const Contents whole = contents_of(folder.path());
    const auto values_in = [](const std::string& path) {
        std::vector<std::int16_t> values(200);
        const auto dataset = open_zarr(path)->dataset("deep/t");
        dataset->read(
            fluvial::whole(dataset->shape()),
            {reinterpret_cast<std::byte*>(values.data()), DType::Int16, {5, 40}, {80, 2}});
        return values;
    };
    const auto expected = values_in(folder.path());
    std::size_t refused = 0;
    for (std::size_t number = 0; number < mutations(); ++number) {
        Random random(seed + number);
        const Contents changed = damaged_copy(whole, random, false);
        const Copy copy(changed);
        try {
            const auto values = values_in(copy.path());
            CHECK(values == expected);
        } catch (const DamagedFile&) {
            ++refused;
            CHECK(changed != whole);
        }
    }
    CHECK(refused > mutations() / 2);
}
