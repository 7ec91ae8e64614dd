// SPDX-License-Identifier: Apache-2.0
// Files of every format, damaged at random and then read and reduced as users do: what comes is a
// result or one of Fluvial's own errors, in reasonable time and memory, never a signal.
//
// Libhdf5 itself crashes on some (all known ones were found and mended in 1.12 and 1.14); those are
// counted. FLUVIAL_MUTATIONS: how many of each file; FLUVIAL_TEST_SEED: other ones.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/store/child_trials.hpp"
#include "fluvial/store/format_exercise.hpp"
#include "fluvial/store/raw.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using store::ChildTrials;
using store::TrialEnd;
using Random = std::mt19937_64;

namespace {

constexpr double cpu_s = 20;
constexpr std::size_t memory_bytes = std::size_t{3} << 30;

std::size_t number_from(const char* variable, std::size_t otherwise) {
    const char* const given = std::getenv(variable);
    return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

Bytes content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(in), {}};
    const auto view = std::as_bytes(std::span(all));
    return {view.begin(), view.end()};
}

void overwrite(Bytes& bytes, std::size_t at, std::uint64_t number, std::size_t width, bool big) {
    for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
        bytes[at + i] = static_cast<std::byte>(number >> 8 * (big ? width - 1 - i : i));
    }
}

/// One kind of damage that disks, networks and attackers do.
void damage(Bytes& bytes, Random& random) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 64, bytes.size() - at);
    switch (random() % 8) {
        case 0:
            bytes[at] ^= static_cast<std::byte>(1 << random() % 8);
            break;
        case 1:
            bytes[at] = static_cast<std::byte>(random());
            break;
        case 2:
            overwrite(bytes, at, random() % 20, std::size_t{1} << random() % 4, random() % 2 == 0);
            break;
        case 3: {
            const std::uint64_t limit = std::uint64_t{1} << random() % 64;
            overwrite(bytes, at / 4 * 4, limit - random() % 2, std::size_t{4} << random() % 2,
                      random() % 2 == 0);
            break;
        }
        case 4:
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length,
                        random() % 2 == 0 ? std::byte{0} : std::byte{0xff});
            break;
        case 5: {
            const std::size_t to = random() % (bytes.size() - length + 1);
            std::copy_n(Bytes(bytes).begin() + static_cast<std::ptrdiff_t>(at), length,
                        bytes.begin() + static_cast<std::ptrdiff_t>(to));
            break;
        }
        case 6:
            overwrite(bytes, at / 8 * 8, random() % (2 * bytes.size()), 8, random() % 2 == 0);
            break;
        default:
            bytes.resize(std::max<std::size_t>(at, 1));
    }
}

/// Reduces every dataset that is small: a damaged shape may well promise a petabyte of fill value.
void reduce_all(const store::File& file) {
    constexpr Index elements_max = 1 << 20;
    const mpi::Comm serial;
    for (const std::string& name : file.names()) {
        if (file.unreadable().contains(name)) {
            continue;
        }
        const DatasetPtr dataset = file.dataset(name);
        if (volume_of(dataset->shape()) > elements_max) {
            continue;
        }
        std::vector<std::string> warnings;
        const Decoding decoding =
            cf_decoding(dataset->attributes(), dataset->dtype(), name, warnings);
        Options options;
        options.threads = 2;
        run({{{{dataset}, decoding}},
             {},
             {{"mean", compute::make_operator("mean"), {}}},
             {},
             {},
             {},
             {}},
            options, serial);
    }
}

using Open = std::shared_ptr<const store::File> (*)(const std::string&);

struct Counts {
    std::size_t read = 0, refused = 0, ended_by_libhdf5 = 0;
};

/// Trials with damaged copies of `whole`, counted by how they ended.
class Damaged {
  public:
    Damaged(std::string name, Bytes whole, Open open)
        : name_(std::move(name)), whole_(std::move(whole)), open_(open) {}

    void run(std::size_t count, std::uint64_t seed) {
        const auto ends = ChildTrials(cpu_s, memory_bytes).run(count, [&](std::size_t number) {
            const store::MemoryFile memory(bytes_of(seed, number));
            const auto file = open_(memory.path());
            store::exercise(*file);
            reduce_all(*file);
        });
        for (std::size_t number = 0; number < ends.size(); ++number) {
            const TrialEnd& end = ends[number];
            if (end.kind == TrialEnd::Kind::Done) {
                ++counts.read;
            } else if (end.kind == TrialEnd::Kind::Refused) {
                ++counts.refused;
            } else {
                keep(seed, number, end);
                if (end.kind != TrialEnd::Kind::Thrown && end.in("libhdf5")) {
                    ++counts.ended_by_libhdf5;
                } else {
                    FAIL_CHECK(name_, ", seed ", seed, ", number ", number, ": ", to_string(end));
                }
            }
        }
    }

    Counts counts;

  private:
    Bytes bytes_of(std::uint64_t seed, std::size_t number) const {
        Random random(seed + number);
        Bytes bytes = whole_;
        for (std::uint64_t times = 1 + random() % 3; times > 0; --times) {
            damage(bytes, random);
        }
        return bytes;
    }

    /// For a closer look, in the folder $FLUVIAL_KEEP.
    void keep(std::uint64_t seed, std::size_t number, const TrialEnd& end) const {
        const char* const folder = std::getenv("FLUVIAL_KEEP");
        if (folder == nullptr) {
            return;
        }
        const auto path = std::filesystem::path(folder) / text(number, "_", name_);
        const Bytes bytes = bytes_of(seed, number);
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
        std::ofstream(path.string() + ".end") << to_string(end) << '\n';
    }

    std::string name_;
    Bytes whole_;
    Open open_;
};

std::vector<std::filesystem::path> valid_files(const char* folder) {
    std::vector<std::filesystem::path> found;
    const std::filesystem::path corpus = FLUVIAL_CORPUS;
    for (const auto& entry : std::filesystem::directory_iterator(corpus / folder)) {
        if (entry.path().filename().string().starts_with("valid_")) {
            found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// Of all files in a folder of the corpus.
Counts damage_all(const char* folder) {
    const std::size_t count = number_from("FLUVIAL_MUTATIONS", 150);
    const std::size_t seed = test_seed(20250601);
    Counts all;
    for (const auto& path : valid_files(folder)) {
        Damaged damaged(path.filename().string(), content_of(path), store::open_file);
        damaged.run(count, seed);
        all.read += damaged.counts.read;
        all.refused += damaged.counts.refused;
        all.ended_by_libhdf5 += damaged.counts.ended_by_libhdf5;
    }
    MESSAGE(std::string(folder), ", seed ", seed, ": ", all.read, " read, ", all.refused,
            " refused, ", all.ended_by_libhdf5, " ended by libhdf5");
    CHECK(all.read > 100);
    CHECK(all.refused > 100);
    return all;
}

}  // namespace

TEST_CASE("netCDF classic files, damaged at random") {
    damage_all("netcdf_classic");
}

TEST_CASE("HDF5 files, damaged at random") {
    const Counts counts = damage_all("hdf5");
    constexpr int seldom = 5000;  // files an accident; one accident is within chance
    CHECK(seldom * counts.ended_by_libhdf5 <= counts.read + counts.refused + seldom);
}

TEST_CASE("raw files that are shorter than their layout") {
    const Open open = [](const std::string& path) {
        return store::open_raw(path, {DType::Float32, {40, 50}, 0, true, "x", {}, {}});
    };
    Damaged damaged("raw", Bytes(8000), open);
    damaged.run(200, 3);
    CHECK(damaged.counts.refused > 10);
    CHECK(damaged.counts.read > 10);
}
