// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/task_library.hpp"

#include <map>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

Bytes text_bytes(const std::string& content) {
    ByteWriter out;
    out.put<std::int64_t>(static_cast<std::int64_t>(content.size()));
    Bytes bytes = out.take();
    for (const char c : content) {
        bytes.push_back(static_cast<std::byte>(c));
    }
    return bytes;
}

Bytes call(const std::string& name, const Bytes& inputs, const mpi::Comm& team = {}) {
    return call_exported(team, exported_name(TASKS, name), inputs);
}

}  // namespace

TEST_CASE("a library says which functions it has, of which types") {
    std::map<std::string, std::string> found;
    const auto tasks = exported_by(TASKS);
    for (const fluvial_exported_task& task : tasks.value()) {
        found[task.name] = text(task.inputs, ":", task.outputs, task.parallel != 0 ? "+" : "");
    }
    const std::map<std::string, std::string> expected{{"scaled", "ifb:f"},   {"joined", "ss:s"},
                                                      {"backwards", "x:ix"}, {"negated", "b:b"},
                                                      {"refuse", "s:"},      {"ranks", "i:i+"}};
    CHECK(found == expected);
    Dl_info mpi;
    REQUIRE(dladdr(reinterpret_cast<void*>(&MPI_Comm_size), &mpi) != 0);
    CHECK_FALSE(exported_by(mpi.dli_fname).has_value());
    CHECK_THROWS_AS(exported_by("/nowhere/libnothing.so"), NoSuchFile);
}

TEST_CASE("inputs of all types come as they were sent, and outputs go back") {
    ByteWriter numbers;
    numbers.put<std::int64_t>(3);
    numbers.put<double>(1.5);
    numbers.put<std::int64_t>(1);
    CHECK(ByteReader(call("scaled", numbers.take())).get<double>() == -4.5);

    Bytes two = text_bytes("one");
    const Bytes second = text_bytes("");
    two.insert(two.end(), second.begin(), second.end());
    CHECK(call("joined", two) == text_bytes("one"));

    Bytes backwards = text_bytes("cba");
    ByteWriter three;
    three.put<std::int64_t>(3);
    Bytes expected = three.take();
    expected.insert(expected.end(), backwards.begin(), backwards.end());
    CHECK(call("backwards", text_bytes("abc")) == expected);
}

TEST_CASE("what is thrown, a name that is none and messages that are cut off are errors") {
    CHECK_THROWS_WITH_AS(call("refuse", text_bytes("no reason")), "no reason", Error);
    CHECK_THROWS_AS(call("scale", {}), UnknownName);
    Bytes cut = text_bytes("abc");
    cut.pop_back();
    CHECK_THROWS_AS(call("backwards", cut), InvalidArgument);
    CHECK_THROWS_AS(call("scaled", text_bytes("")), InvalidArgument);
    Bytes longer = text_bytes("abc");
    longer.push_back(std::byte{0});
    CHECK_THROWS_AS(call("backwards", longer), InvalidArgument);
}

TEST_CASE("a parallel function gets its team; a serial one does not run on several ranks") {
    mpi::Comm world = mpi::Comm::duplicate(MPI_COMM_WORLD);
    ByteWriter ten;
    ten.put<std::int64_t>(10);
    const Bytes inputs = ten.take();
    CHECK(ByteReader(call("ranks", inputs, world)).get<std::int64_t>() == 10 + world.size());
    CHECK(ByteReader(call("ranks", inputs)).get<std::int64_t>() == 11);
    if (world.size() > 1) {
        CHECK_THROWS_AS(call("refuse", text_bytes("never"), world), InvalidArgument);
    }
    world.close();
}
