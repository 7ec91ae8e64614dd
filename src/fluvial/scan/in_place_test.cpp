// SPDX-License-Identifier: Apache-2.0
// Scans that look at the page cache in place: the same results, and a file that is cut short
// meanwhile is an error.
#include <filesystem>

#include <doctest/doctest.h>

#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/scan_reference.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

constexpr auto ways = {Options::Access::Copy, Options::Access::InPlace};

/// Whether this system shows files in place at all; a message when it does not, and both ways are
/// the same.
bool shown_in_place(const store::InputFile& file) {
    const bool shown = file.in_memory(0);
    if (!shown) {
        MESSAGE(
            "this system does not say what it has in memory of a file: nothing is looked at in "
            "place, everything is copied");
    }
    return shown;
}

}  // namespace

TEST_CASE("what is found does not depend on how the bytes come") {
    World world;
    CAPTURE(world.seed);
    const Elements elements = random_elements({6, 100, 700}, world.random);
    shown_in_place(affine_dataset(elements, false, 0, 0)->bytes());
    for (const bool swapped : {false, true}) {
        for (const Index offset : {0, 4, 7, 4096}) {
            for (const Index gap : {0, 12, 1 << 20}) {
                const DatasetPtr data = affine_dataset(elements, swapped, offset, gap);
                for (const auto access : ways) {
                    Options options;
                    options.access = access;
                    options.buffer_bytes = 1 << 16;
                    const Selection selection = random_selection(elements.shape, world.random);
                    const Outcome outcome =
                        run({{{{data}, {}}}, selection, some_operators(), {0, 1}, {}, {}, {}},
                            options, world.comm);
                    check_equal(outcome.groups[0], in_memory(elements, selection, {0, 1}));
                }
            }
        }
    }
}

TEST_CASE("both ways count the same bytes") {
    World world;
    const Elements elements = random_elements({64, 64, 64}, world.random);
    const DatasetPtr data = affine_dataset(elements, true, 16, 0);
    shown_in_place(data->bytes());
    for (const auto access : ways) {
        Options options;
        options.access = access;
        const Outcome outcome =
            run({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm);
        CHECK(world.comm.sum(outcome.stats.bytes_read) == 64 * 64 * 64 * 8);
    }
}

TEST_CASE("a file that is cut short while it is looked at is an error") {
    World world;
    const Elements elements = random_elements({1024, 1024}, world.random);
    for (const bool swapped : {false, true}) {
        std::vector<std::byte> bytes(1024 * 1024 * 8);
        const auto data =
            std::make_shared<MadeDataset>(elements, store::Affine{0, {8192, 8}, swapped}, bytes);
        Request request{{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}};
        request.where.push_back(
            [&](std::span<const ArrayView>, const Region&, std::span<std::uint8_t>) {
                std::filesystem::resize_file(data->bytes().path(), 4096);
            });
        Options options;
        options.threads = 1;
        options.access = Options::Access::InPlace;
        // What is swapped has been copied before the predicate is asked: the next piece is missing.
        const bool in_place = shown_in_place(data->bytes());
        const char* const what = !swapped && in_place ? "changed while" : "is truncated";
        CHECK_THROWS_WITH_AS(run(std::move(request), options, world.comm), doctest::Contains(what),
                             DamagedFile);
    }
}
