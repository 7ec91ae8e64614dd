// SPDX-License-Identifier: Apache-2.0
// How much memory a scan takes of the system, with more threads than it has room for.
#include "fluvial/scan/footprint.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include "fluvial/compute/registry.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/scan_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

constexpr Index mib = 1 << 20;

/// A line of /proc/self/status, in bytes.
Index memory(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(name)) {
            return std::stoll(line.substr(name.size() + 1)) * 1024;
        }
    }
    throw Error("no " + name);
}

/// int32 elements that do not compress, in chunks that are all the same one.
class Repeated final : public store::Dataset {
  public:
    static constexpr Index row = 1024;

    Repeated(Index chunk_bytes, Index chunks, bool deflated)
        : Dataset({"r", DType::Int32, {chunks * chunk_bytes / 4 / row, row}, {}, {}},
                  store::Chunked{{chunk_bytes / 4 / row, row},
                                 deflated ? filters() : std::vector<store::Filter>(),
                                 false,
                                 std::vector<std::byte>(4)}),
          sum_(0),
          scratch_(stored(chunk_bytes, deflated)),
          file_(scratch_.path()) {
        sum_ *= chunks;
    }
    const store::InputFile& bytes() const override { return file_; }
    store::StoredChunk locate(const Coordinates&) const override { return {{0, file_.size()}}; }
    Index sum() const { return sum_; }

  private:
    static std::vector<store::Filter> filters() {
        return {{store::Filter::Kind::Shuffle, 4}, {store::Filter::Kind::Deflate, 0}};
    }
    std::vector<std::byte> stored(Index bytes, bool deflated) {
        std::mt19937 random(1);
        std::vector<std::int32_t> values(static_cast<std::size_t>(bytes / 4));
        std::vector<std::byte> planes(static_cast<std::size_t>(bytes));
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<std::int32_t>(random());
            sum_ += values[i];
            for (std::size_t byte = 0; byte < 4; ++byte) {
                planes[byte * values.size() + i] = static_cast<std::byte>(values[i] >> 8 * byte);
            }
        }
        if (!deflated) {
            std::memcpy(planes.data(), values.data(), planes.size());
            return planes;
        }
        auto* const compressor = libdeflate_alloc_compressor(1);
        std::vector<std::byte> all(
            libdeflate_zlib_compress_bound(compressor, static_cast<std::size_t>(bytes)));
        all.resize(libdeflate_zlib_compress(compressor, planes.data(), planes.size(), all.data(),
                                            all.size()));
        libdeflate_free_compressor(compressor);
        return all;
    }

    Index sum_;
    ScratchFile scratch_;
    store::InputFile file_;
};

/// Most bytes that this process took more than before.
template <class F>
Index growth(F&& run) {
    const Index before = memory("VmRSS:");
    std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM counts from here on
    run();
    return memory("VmHWM:") - before;
}

Index sum_of(const DatasetPtr& data, Options options) {
    const Outcome outcome =
        run({{{{data}, {}}}, {}, {{"sum", compute::make_operator("sum"), {}}}, {}, {}, {}, {}},
            options, mpi::Comm());
    return *outcome.groups[0].at("sum").at("value").as<Index>();
}

}  // namespace

TEST_CASE("a rank stays below 64 MiB, whatever the chunks and threads") {
    Options options;
    options.threads = 16;
    for (const Index chunk : {mib / 2, 2 * mib, 6 * mib, 24 * mib}) {
        CAPTURE(chunk);
        const auto data = std::make_shared<const Repeated>(chunk, 32 * mib / chunk + 20, true);
        const Index grown = growth([&] { CHECK(sum_of(data, options) == data->sum()); });
        CHECK(grown < 64 * mib);
    }
}

TEST_CASE("more memory lets more threads work") {
    Options options;
    options.threads = 16;
    options.memory_bytes = 1024 * mib;
    const auto data = std::make_shared<const Repeated>(6 * mib, 32, true);
    Index most = 0;
    // On a busy machine the first threads may have done it all before the others begin.
    for (int attempt = 0; attempt < 20 && most <= 64 * mib; ++attempt) {
        most = std::max(most, growth([&] { CHECK(sum_of(data, options) == data->sum()); }));
    }
    CHECK(most > 64 * mib);
}

TEST_CASE("chunks that are not encoded are read in parts") {
    Options options;
    options.threads = 16;
    const auto data = std::make_shared<const Repeated>(64 * mib, 4, false);
    const Index grown = growth([&] { CHECK(sum_of(data, options) == data->sum()); });
    CHECK(grown < 40 * mib);
}

TEST_CASE("several datasets in one pass, unpacked, stay below 64 MiB, too") {
    Options options;
    options.threads = 16;
    const auto data = std::make_shared<const Repeated>(6 * mib, 8, true);
    Decoding packed;
    packed.packed = true;
    packed.scale = 2;
    const Request request{{{{data}, packed}, {{data}, {}}},
                          {},
                          {{"twice", compute::make_operator("sum"), {0}},
                           {"sum", compute::make_operator("sum"), {1}}},
                          {},
                          {},
                          {},
                          {}};
    const Index grown = growth([&] {
        const Outcome outcome = run(request, options, mpi::Comm());
        CHECK(*outcome.groups[0].at("sum").at("value").as<Index>() == data->sum());
        CHECK(*outcome.groups[0].at("twice").at("value").as<double>() ==
              doctest::Approx(2.0 * static_cast<double>(data->sum())));
        CHECK(outcome.stats.chunks_decoded == 16);
    });
    CHECK(grown < 64 * mib);
}

TEST_CASE("a part of a chunk that is not encoded is read alone") {
    const auto data = std::make_shared<const Repeated>(16 * mib, 2, false);
    const Request request{{{{data}, {}}},
                          Selection{{10, 100}, {3, 5}, {4000, 2}},
                          {{"count", compute::make_operator("count"), {}}},
                          {},
                          {},
                          {},
                          {}};
    const Outcome outcome = run(request, {}, mpi::Comm());
    CHECK(*outcome.groups[0].at("count").at("value").as<Index>() == 15);
    CHECK(outcome.stats.bytes_read < 4096);
}
