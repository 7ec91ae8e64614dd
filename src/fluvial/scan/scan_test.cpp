// SPDX-License-Identifier: Apache-2.0
// What scans find.
#include "fluvial/scan/scan.hpp"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "fluvial/compute/operators/mpi_function.hpp"
#include "fluvial/scan/scan_reference.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using compute::make_operator;

namespace {

std::vector<int> random_over(int ndim, std::mt19937_64& random) {
    std::vector<int> over;
    for (int axis = 0; axis < ndim; ++axis) {
        if (random() % 2 == 0) {
            over.push_back(axis);
        }
    }
    return over;
}

Options random_options(std::mt19937_64& random) {
    Options options;
    options.threads = static_cast<int>(random() % 4);
    options.on_calling_thread = random() % 4 == 0;
    options.buffer_bytes = 4096 << (random() % 3);
    options.aggregators = static_cast<int>(random() % 3);
    options.read_ahead_bytes = random() % 2 == 0 ? 0 : 1 << 16;
    options.access = static_cast<Options::Access>(random() % 3);
    return options;
}

Coordinates some_shape(std::mt19937_64& random) {
    return random_extent(random() % 2 == 0 ? Coordinates{9, 13, 7, 11} : Coordinates{40, 120},
                         random);
}

}  // namespace

TEST_CASE("a common scan finds what the operators find in memory") {
    World world;
    CAPTURE(world.seed);
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        const Elements elements = random_elements(some_shape(world.random), world.random);
        const Selection selection = random_selection(elements.shape, world.random);
        const std::vector<int> over = random_over(elements.shape.size(), world.random);
        const Options options = random_options(world.random);
        const DatasetPtr data = random_dataset(elements, world.random);
        const Outcome outcome = run({{{{data}, {}}}, selection, some_operators(), over, {}, {}, {}},
                                    options, world.comm);
        REQUIRE(outcome.groups.size() == 1);
        check_equal(outcome.groups[0], in_memory(elements, selection, over));
        CHECK(world.comm.sum(outcome.stats.elements) == volume_of(selection.count));
    }
}

namespace {

/// The elements, cut along their first axis into parts, some of them empty, each of a layout of its
/// own.
std::vector<DatasetPtr> random_parts(const Elements& elements, std::mt19937_64& random) {
    std::vector<DatasetPtr> parts;
    const auto row = elements.values.size() / static_cast<std::size_t>(elements.shape[0]);
    for (Index begin = 0; begin < elements.shape[0] || parts.size() < 2;) {
        Elements part{elements.shape, {}};
        part.shape[0] = static_cast<Index>(
            random() % static_cast<std::uint64_t>(elements.shape[0] - begin + 1));
        const auto from = elements.values.begin() + static_cast<Index>(row) * begin;
        part.values.assign(from, from + static_cast<Index>(row) * part.shape[0]);
        begin += part.shape[0];
        parts.push_back(part.values.empty() ? library_dataset(part, {})
                                            : random_dataset(part, random));
    }
    return parts;
}

}  // namespace

TEST_CASE("a scan of joined parts finds what the operators find in all of them in memory") {
    World world;
    CAPTURE(world.seed);
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        const Elements elements = random_elements(some_shape(world.random), world.random);
        const Selection selection = random_selection(elements.shape, world.random);
        const std::vector<int> over = random_over(elements.shape.size(), world.random);
        const Options options = random_options(world.random);
        const std::vector<DatasetPtr> parts = random_parts(elements, world.random);
        const Outcome outcome = run({{{parts, {}}}, selection, some_operators(), over, {}, {}, {}},
                                    options, world.comm);
        check_equal(outcome.groups[0], in_memory(elements, selection, over));
        CHECK(world.comm.sum(outcome.stats.elements) == volume_of(selection.count));
    }
}

TEST_CASE("every byte is read once in the job, and only partial results travel") {
    World world;
    const Elements elements = random_elements({50, 40, 30}, world.random);
    for (const bool chunked : {false, true}) {
        const DatasetPtr data =
            chunked ? chunked_dataset(elements, {7, 9, 30}, true, 5000, world.random)
                    : affine_dataset(elements, true, 16, 0);
        Options options;
        options.buffer_bytes = 8192;
        const Outcome outcome =
            run({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm);
        const Index read = world.comm.sum(outcome.stats.bytes_read);
        if (chunked) {  // and the gaps between chunks
            CHECK(read <= static_cast<Index>(data->bytes().size()));
        } else {
            CHECK(read == static_cast<Index>(elements.values.size() * sizeof(double)));
        }
        CHECK(world.comm.sum(outcome.stats.bytes_sent) < 1000 * world.comm.size());
    }
}

TEST_CASE("ranks with selections of their own: to all, and to one") {
    World world;
    CAPTURE(world.seed);
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        const Elements elements = random_elements(some_shape(world.random), world.random);
        std::vector<Selection> selections;
        for (int rank = 0; rank < world.comm.size(); ++rank) {
            selections.push_back(random_selection(elements.shape, world.random));
        }
        const Selection& mine = selections[static_cast<std::size_t>(world.comm.rank())];
        const std::vector<int> over = random_over(elements.shape.size(), world.random);
        Options options = random_options(world.random);
        const DatasetPtr data = random_dataset(elements, world.random);
        options.shuffle = Options::Shuffle::ToAll;
        const Request request{{{{data}, {}}}, mine, some_operators(), over, {}, {}, {}};
        check_equal(run(request, options, world.comm).groups[0], in_memory(elements, mine, over));
        options.mode = Options::Mode::Independent;
        check_equal(run(request, options, world.comm).groups[0], in_memory(elements, mine, over));
    }
    const Elements elements = random_elements({30, 20}, world.random);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    Options options;
    options.shuffle = Options::Shuffle::ToOne;
    const Region part = split(whole(elements.shape), world.comm.size(),
                              0)[static_cast<std::size_t>(world.comm.rank())];
    const std::vector<int> over{1};
    check_equal(
        run({{{{data}, {}}}, select(part), some_operators(), over, {}, {}, {}}, options, world.comm)
            .groups[0],
        in_memory(elements, select(whole(elements.shape)), over));
    // Every rank asks for everything: each element counts once a rank.
    const Outcome times =
        run({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm);
    CHECK(*times.groups[0].at("count").at("value").as<Index>() == 600 * world.comm.size());
}

TEST_CASE("weights, groups, predicates and missing values") {
    World world;
    CAPTURE(world.seed);
    const Elements elements = random_elements({12, 10, 14}, world.random);
    const DatasetPtr data = affine_dataset(elements, true, 8, 5000);
    const Selection all = select(whole(elements.shape));
    std::vector<double> along_0, along_2, both;
    for (int i = 0; i < 14; ++i) {
        along_0.push_back(1 + i % 3);
        along_2.push_back(i % 5);
    }
    along_0.resize(12);
    std::vector<std::uint8_t> positive, kept;
    Decoding decoding;
    for (const double missing : {3.0, -4.0, 5.0}) {
        StoredValue value{std::vector<std::byte>(sizeof missing)};
        std::memcpy(value.bytes.data(), &missing, sizeof missing);
        decoding.missing.push_back(value);
    }
    for (std::size_t i = 0; i < elements.values.size(); ++i) {
        const double v = elements.values[i];
        both.push_back(along_0[i / 140] * along_2[i % 14]);
        positive.push_back(v > 0);
        kept.push_back(v > 0 && v != 3 && v != 5);
    }
    Options options;
    options.buffer_bytes = 4096;
    const Request weighted{
        {{{data}, {}}}, all, some_operators(), {0, 2}, {{0, along_0}, {2, along_2}}, {}, {}};
    check_equal(run(weighted, options, world.comm).groups[0],
                in_memory(elements, all, {0, 2}, nullptr, &both));
    Request masked{
        {{{data}, {}}}, all, some_operators(), {1}, {}, {compare(0, Comparison::Greater, 0)}, {}};
    check_equal(run(masked, options, world.comm).groups[0],
                in_memory(elements, all, {1}, &positive));
    masked.inputs[0].decoding = decoding;
    check_equal(run(masked, options, world.comm).groups[0], in_memory(elements, all, {1}, &kept));
    Grouping groups{0, {0, 1, 2, 0, 1, 2, -1, 1, 1, 0, 0, -1}, 4};
    const Outcome grouped =
        run({{{{data}, {}}}, all, some_operators(), {0, 1}, {}, {}, groups}, options, world.comm);
    REQUIRE(grouped.groups.size() == 4);
    for (int group = 0; group < 4; ++group) {
        std::vector<std::uint8_t> mask;
        for (std::size_t i = 0; i < elements.values.size(); ++i) {
            mask.push_back(groups.group[i / 140] == group);
        }
        check_equal(grouped.groups[static_cast<std::size_t>(group)],
                    in_memory(elements, all, {0, 1}, &mask));
    }
}

TEST_CASE("missing values in stretches of any length") {
    World world;
    CAPTURE(world.seed);
    const double least = 100;
    Decoding decoding;
    decoding.valid_min = StoredValue{std::vector<std::byte>(sizeof least)};
    std::memcpy(decoding.valid_min->bytes.data(), &least, sizeof least);
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        const Elements elements = random_elements({30, 200}, world.random);
        Selection selection = random_selection(elements.shape, world.random);
        if (round % 2 == 0) {  // rows of a few or many elements
            selection.stride[1] = 1;
        }
        std::vector<std::uint8_t> kept;
        for (const double value : selected(elements, selection)) {
            kept.push_back(value >= least);
        }
        const std::vector<int> over = random_over(2, world.random);
        const DatasetPtr data = random_dataset(elements, world.random);
        const Outcome outcome =
            run({{{{data}, decoding}}, selection, some_operators(), over, {}, {}, {}},
                random_options(world.random), world.comm);
        check_equal(outcome.groups[0], in_memory(elements, selection, over, &kept));
    }
}

TEST_CASE("chunks that are large are worked on in slabs, and decoded once") {
    World world;
    CAPTURE(world.seed);
    const Elements elements = random_elements({3, 7, 90, 110}, world.random);
    // Slabs of three indices of axis 1, of one, and of a few rows.
    for (const Coordinates& chunk :
         {Coordinates{2, 7, 90, 110}, Coordinates{1, 4, 60, 110}, Coordinates{3, 7, 90, 40}}) {
        const DatasetPtr data = chunked_dataset(elements, chunk, true, 0, world.random);
        for (const Selection& selection : {select(whole(elements.shape)),
                                           Selection{{0, 1, 5, 3}, {2, 5, 40, 50}, {1, 1, 2, 2}}}) {
            for (const std::vector<int>& over : {std::vector{0, 1, 2, 3}, {0, 2}}) {
                Options options;
                options.threads = 1;
                const Outcome outcome =
                    run({{{{data}, {}}}, selection, some_operators(), over, {}, {}, {}}, options,
                        world.comm);
                check_equal(outcome.groups[0], in_memory(elements, selection, over));
                Index chunks = 1;
                for (int axis = 0; axis < 4; ++axis) {
                    const Index last = selection.start[axis] +
                                       (selection.count[axis] - 1) * selection.stride[axis];
                    chunks *= last / chunk[axis] - selection.start[axis] / chunk[axis] + 1;
                }
                CHECK(world.comm.sum(outcome.stats.chunks_decoded) == chunks);
            }
        }
    }
}

TEST_CASE("packed integers are scaled, and only what is missing in an input leaves it out") {
    World world;
    std::vector<std::int16_t> stored{1, 2, -9, 4, 5, 6};
    struct Shorts final : store::Dataset {
        explicit Shorts(const std::vector<std::int16_t>& values)
            : Dataset({"s", DType::Int16, {6}, {}, {}}, store::Affine{0, {2}, false}),
              scratch([&] {
                  const auto* const from = reinterpret_cast<const std::byte*>(values.data());
                  return std::vector<std::byte>(from, from + 12);
              }()),
              file(scratch.path()) {}
        const store::InputFile& bytes() const override { return file; }
        ScratchFile scratch;
        store::InputFile file;
    };
    std::vector<std::string> warnings;
    const Decoding decoding =
        cf_decoding({{"_FillValue", std::int64_t{-9}}, {"scale_factor", 0.5}, {"add_offset", 10.0}},
                    DType::Int16, "s", warnings);
    const auto packed = std::make_shared<Shorts>(stored);
    const auto plain = std::make_shared<Shorts>(std::vector<std::int16_t>{7, 7, 7, 7, 7, 7});
    const Outcome outcome =
        run({{{{packed}, decoding}, {{plain}, {}}},
             {},
             {{"mean", make_operator("mean"), {0}}, {"other", make_operator("sum"), {1}}},
             {},
             {},
             {},
             {}},
            {}, world.comm);
    CHECK(*outcome.groups[0].at("mean").at("value").as<double>() == 10 + 0.5 * 18 / 5);
    CHECK(*outcome.groups[0].at("other").at("value").as<Index>() == 42);
}

TEST_CASE("operators that have no result of nothing are asked of something") {
    const mpi::Comm serial;
    std::mt19937_64 random(4);
    const Elements elements = random_elements({6, 5}, random);
    const auto larger = compute::make_mpi_operator(
        [](void* in, void* inout, int* length, void*) {
            for (int i = 0; i < *length; ++i) {
                static_cast<double*>(inout)[i] =
                    std::max(static_cast<double*>(in)[i], static_cast<double*>(inout)[i]);
            }
        },
        DType::Float64);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    Request request{{{{data}, {}}}, {}, {{"larger", larger, {}}}, {}, {}, {}, {}};
    auto groups = run(request, {}, serial).groups;
    CHECK(*groups[0].at("larger").at("value").as<double>() ==
          *std::max_element(elements.values.begin(), elements.values.end()));
    request.selection = select({{0, 0}, {0, 5}});
    CHECK_THROWS_WITH_AS(run(request, {}, serial), doctest::Contains("no elements"),
                         InvalidArgument);
}

TEST_CASE("inputs with different layouts: units follow the one that has chunks") {
    World world;
    const Elements x = random_elements({64, 64}, world.random);
    const Elements y = random_elements({64, 64}, world.random);
    const DatasetPtr affine = affine_dataset(x, true, 0, 0);
    const DatasetPtr chunked = chunked_dataset(y, {16, 64}, false, 5000, world.random);
    const Outcome outcome =
        run({{{{affine}, {}}, {{chunked}, {}}},
             {},
             {{"x", make_operator("sum"), {0}}, {"y", make_operator("sum"), {1}}},
             {},
             {},
             {},
             {}},
            {}, world.comm);
    CHECK(*outcome.groups[0].at("x").at("value").as<double>() ==
          std::accumulate(x.values.begin(), x.values.end(), 0.0));
    CHECK(*outcome.groups[0].at("y").at("value").as<double>() ==
          std::accumulate(y.values.begin(), y.values.end(), 0.0));
    CHECK(world.comm.sum(outcome.stats.chunks_decoded) == 4);
}
