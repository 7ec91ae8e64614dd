// SPDX-License-Identifier: Apache-2.0
// How scans run beside the application, and what they refuse, on all ranks alike.
#include <atomic>
#include <cstdlib>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/scan/plan.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/scan/scan_reference.hpp"
#include "fluvial/store/mapped_window.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

/// FLUVIAL_FILE_ACCESS of this process, as long as the object lives.
class FileAccess {
  public:
    explicit FileAccess(const char* value) {
        if (value == nullptr) {
            ::unsetenv(name);
        } else {
            ::setenv(name, value, 1);
        }
    }
    FileAccess(const FileAccess&) = delete;
    FileAccess& operator=(const FileAccess&) = delete;
    ~FileAccess() { ::unsetenv(name); }

  private:
    static constexpr const char* name = "FLUVIAL_FILE_ACCESS";
};

}  // namespace

TEST_CASE("a scan runs beside the application") {
    World world;
    const Elements elements = random_elements({60, 50, 20}, world.random);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    Options options;
    options.buffer_bytes = 4096;
    Scan scan({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm);
    CHECK(!scan.test());  // it has not been started
    CHECK(scan.progress() == 0);
    scan.start();
    while (!scan.test()) {
        std::this_thread::yield();
    }
    CHECK(scan.progress() == 1);
    check_equal(scan.wait().groups[0], in_memory(elements, select(whole(elements.shape)), {}));
}

TEST_CASE("what fails on one rank fails on all") {
    World world;
    const Elements elements = random_elements({64, 64}, world.random);
    // The data of the last rank's file ends in the middle.
    std::vector<std::byte> bytes(64 * 64 * 8);
    if (world.comm.rank() == world.comm.size() - 1) {
        bytes.resize(5000);
    }
    const auto data =
        std::make_shared<MadeDataset>(elements, store::Affine{0, {512, 8}, false}, bytes);
    Options options;
    options.buffer_bytes = 4096;
    CHECK_THROWS_AS(
        run({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm),
        DamagedFile);
    const auto fine = affine_dataset(elements, false, 0, 0);
    const std::vector<int> over{world.comm.rank() == 0 ? 7 : 0};
    CHECK_THROWS_AS(
        run({{{{fine}, {}}}, {}, some_operators(), over, {}, {}, {}}, options, world.comm),
        InvalidArgument);
    if (world.comm.size() > 1) {
        const Selection mine = select({{world.comm.rank(), 0}, {1, 64}});
        CHECK_THROWS_WITH_AS(
            run({{{{fine}, {}}}, mine, some_operators(), {}, {}, {}, {}}, options, world.comm),
            doctest::Contains("the ranks differ in the selection"), InvalidArgument);
    }
    // The communicator is as good as before.
    CHECK(world.comm.sum(1) == world.comm.size());
}

TEST_CASE("an environment that makes no sense on one rank is refused on all") {
    World world;
    const Elements elements = random_elements({64, 64}, world.random);
    const Request request{
        {{{affine_dataset(elements, false, 0, 0)}, {}}}, {}, some_operators(), {}, {}, {}, {}};
    for (const auto shuffle : {Options::Shuffle::Common, Options::Shuffle::ToAll}) {
        Options options;
        options.shuffle = shuffle;
        for (int odd = 0; odd < world.comm.size(); ++odd) {
            const FileAccess here(world.comm.rank() == odd ? "inplace" : nullptr);
            CHECK_THROWS_WITH_AS(
                run(request, options, world.comm),
                doctest::Contains("FLUVIAL_FILE_ACCESS makes no sense: got 'inplace'; allowed: "
                                  "'copy', 'in-place', or unset. Unset it"),
                InvalidArgument);
        }
        check_equal(run(request, options, world.comm).groups[0],
                    in_memory(elements, select(whole(elements.shape)), {}));
    }
}

TEST_CASE("each rank reads as its own environment permits") {
    World world;
    const Elements elements = random_elements({64, 64}, world.random);
    const Request request{
        {{{affine_dataset(elements, false, 0, 0)}, {}}}, {}, some_operators(), {}, {}, {}, {}};
    for (int odd = 0; odd < world.comm.size(); ++odd) {
        const bool copies = world.comm.rank() == odd;
        const FileAccess here(copies ? "copy" : odd == 0 ? "" : nullptr);
        for (const auto wanted : {Options::Access::Chosen, Options::Access::InPlace}) {
            Options options;
            options.access = wanted;
            const Plan plan = make_plan(request, options, world.comm);
            // Open MPI has a handler of bus errors, which is left alone unless windows are asked
            // for.
            const bool chooses = wanted == Options::Access::Chosen;
            const bool may = !chooses || store::MappedWindow::disturbs_no_handler();
            CHECK(plan.access == (copies || !may ? Options::Access::Copy : wanted));
            check_equal(run(request, options, world.comm).groups[0],
                        in_memory(elements, select(whole(elements.shape)), {}));
        }
    }
}

TEST_CASE("a scan on the calling thread goes on in test() and stays there") {
    const mpi::Comm serial;
    std::mt19937_64 random(3);
    const Elements elements = random_elements({300, 1024}, random);
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> elsewhere = false;
    Request request{
        {{{affine_dataset(elements, true, 8, 0)}, {}}}, {}, some_operators(), {}, {}, {}, {}};
    request.where.push_back([&](auto, const Region&, auto) {
        if (std::this_thread::get_id() != caller) {
            elsewhere = true;
        }
    });
    Options options;
    options.buffer_bytes = 8192;  // 300 units
    options.threads = 4;
    options.on_calling_thread = true;
    for (const bool by_test : {true, false}) {
        Scan scan(request, options, serial);
        scan.start();
        int calls = 0;
        while (by_test && !scan.test()) {
            ++calls;
            CHECK(scan.progress() < 1);
        }
        CHECK((calls > 2) == by_test);
        check_equal(scan.wait().groups[0], in_memory(elements, select(whole({300, 1024})), {}));
    }
    CHECK_FALSE(elsewhere);
}

TEST_CASE("ranks may differ in threads, and in groups when each has an partial_result of its own") {
    World world;
    std::mt19937_64 random(5);
    const Elements elements = random_elements({20, 30}, random);
    const DatasetPtr data = affine_dataset(elements, true, 0, 0);
    const int rank = world.comm.rank();
    Options options;
    options.threads = rank == 0 ? 0 : 1;
    const Selection all = select(whole(elements.shape));
    check_equal(
        run({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm).groups[0],
        in_memory(elements, all, {}));
    options.shuffle = Options::Shuffle::ToAll;
    Grouping groups{0, std::vector<int>(20), 1 + 50 * rank};
    for (int i = 0; i < 20; ++i) {
        groups.group[static_cast<std::size_t>(i)] = i % groups.count;
    }
    const Outcome grouped =
        run({{{{data}, {}}}, {}, some_operators(), {0}, {}, {}, groups}, options, world.comm);
    REQUIRE(static_cast<int>(grouped.groups.size()) == groups.count);
    CHECK(*grouped.groups[0].at("count").at("value").as<Index>() == (rank == 0 ? 20 : 1));
}

TEST_CASE("ranks that join files in different orders are told, and so are different operators") {
    World world;
    if (world.comm.size() == 1) {
        return;
    }
    std::mt19937_64 random(6);
    const DatasetPtr a = affine_dataset(random_elements({4, 5}, random), false, 0, 0);
    const DatasetPtr b = affine_dataset(random_elements({6, 5}, random), false, 0, 0);
    const bool first = world.comm.rank() == 0;
    const Request joined{{{first ? std::vector{a, b} : std::vector{b, a}, {}}},
                         {},
                         some_operators(),
                         {},
                         {},
                         {},
                         {}};
    for (const auto shuffle : {Options::Shuffle::Common, Options::Shuffle::ToOne}) {
        Options options;
        options.shuffle = shuffle;
        CHECK_THROWS_AS(run(joined, options, world.comm), InvalidArgument);
        CHECK_THROWS_AS(run({{{{a}, {}}}, {}, some_operators(), {first ? 0 : 1}, {}, {}, {}},
                            options, world.comm),
                        InvalidArgument);
    }
}

TEST_CASE("what a decoding makes no sense of is refused before anything is read, on all ranks") {
    World world;
    std::mt19937_64 random(8);
    const DatasetPtr data = affine_dataset(random_elements({4, 5}, random), false, 0, 0);
    Decoding decoding;
    decoding.missing.push_back({std::vector<std::byte>(3)});
    Options options;
    options.aggregators = 1;
    CHECK_THROWS_AS(
        run({{{{data}, decoding}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm),
        InvalidArgument);
    Scan scan({{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}}, options, world.comm);
    scan.wait();
    CHECK_THROWS_AS(scan.wait(), InvalidArgument);
}

TEST_CASE("bad requests name the value, what is allowed and the remedy") {
    const mpi::Comm serial;
    std::mt19937_64 random(1);
    const Elements elements = random_elements({4, 5}, random);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    const auto refused = [&](Request request, Options options = {}) {
        try {
            run(std::move(request), options, serial);
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const Request good{{{{data}, {}}}, {}, some_operators(), {}, {}, {}, {}};
    CHECK(refused(good) == "accepted");
    Request bad = good;
    bad.inputs.clear();
    CHECK(refused(bad).find("0 datasets") != std::string::npos);
    bad = good;
    bad.entries.push_back(bad.entries.front());
    CHECK(refused(bad).find("'sum'") != std::string::npos);
    bad = good;
    bad.selection = Selection{{0, 0}, {4, 6}, {1, 1}};
    CHECK(refused(bad).find("selection") != std::string::npos);
    bad.selection = Selection{{0, 0}, {4, 5}, {1, Index{1} << 62}};
    CHECK(refused(bad).find("reaches past the end") != std::string::npos);
    bad = good;
    bad.weights = {{1, {1, 2}}};
    CHECK(refused(bad) ==
          "weights do not fit the selection: got 2 along axis 1; allowed: 5. Give one for each "
          "selected index");
    bad = good;
    bad.over = {0};
    bad.groups = Grouping{1, {0, 0, 0, 0, 0}, 1};
    CHECK(refused(bad).find("must be reduced") != std::string::npos);
    bad = good;
    bad.entries[0].inputs = {3};
    CHECK(refused(bad).find("number 3") != std::string::npos);
    bad = good;
    bad.inputs.push_back({{affine_dataset(random_elements({4, 6}, random), false, 0, 0)}, {}});
    CHECK(refused(bad).find("differ in shape") != std::string::npos);
    Options options;
    options.buffer_bytes = 12;
    CHECK(refused(good, options).find("buffer_bytes") != std::string::npos);
    options.buffer_bytes = 0;
    options.threads = -1;
    CHECK(refused(good, options).find("threads") != std::string::npos);
    options = {};
    options.mode = static_cast<Options::Mode>(2);
    CHECK(refused(good, options)
              .find("mode of a scan is none of its values: got number 2; "
                    "allowed: 0 to 1: Collective, Independent") == 0);
    options = {};
    options.shuffle = static_cast<Options::Shuffle>(99);
    CHECK(refused(good, options).find("Common, ToOne, ToAll") != std::string::npos);
    options = {};
    options.access = static_cast<Options::Access>(3);
    CHECK(refused(good, options).find("Chosen, Copy, InPlace") != std::string::npos);
    CHECK_THROWS_WITH_AS(compare(0, static_cast<Comparison>(6), 1.0),
                         doctest::Contains("got number 6; allowed: 0 to 5"), InvalidArgument);
}

TEST_CASE("a rank that is slow is helped, and every element counts once") {
    World world;
    const int size = world.comm.size();
    const Elements elements = random_elements({200 * size, 512}, world.random);
    const DatasetPtr data = affine_dataset(elements, false, 0, 0);
    std::vector<compute::Reduction::Entry> entries;
    for (const char* name : {"sum", "mean", "min", "max", "count"}) {
        entries.push_back({name, compute::make_operator(name, {}), {}});
    }
    const Predicate slow = [&](auto&&, auto&&, auto&&) {
        if (world.comm.rank() == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    };
    Options options;
    options.buffer_bytes = 4096;  // a row
    options.threads = 1;
    const Outcome outcome =
        run({{{{data}, {}}}, {}, entries, {}, {}, {slow}, {}}, options, world.comm);
    const Index all = 200 * size * 512;
    CHECK(outcome.groups[0].at("count").at("value").as<Index>()[0] == all);
    CHECK(world.comm.sum(outcome.stats.elements) == all);
    CHECK(world.comm.sum(outcome.stats.bytes_read) == all * 8);
    if (world.comm.rank() == 0 && size > 1) {
        CHECK(outcome.stats.elements < all / size);
    }
}
