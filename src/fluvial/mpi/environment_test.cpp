// SPDX-License-Identifier: Apache-2.0
// One process without a launcher and without MPI at first: the cases run in this order and share
// MPI's one life.
#include "fluvial/mpi/environment.hpp"

#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/tree_merge.hpp"
#include "fluvial/mpi/window.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

std::vector<std::byte> bytes_of(const std::string& s) {
    const auto all = std::as_bytes(std::span(s));
    return {all.begin(), all.end()};
}

/// Every operation of a serial Comm, which must do without MPI whatever MPI's state is.
void use_serial_comm() {
    Comm comm;
    CHECK(comm.serial());
    CHECK(comm.rank() == 0);
    CHECK(comm.size() == 1);
    CHECK(comm.handle() == MPI_COMM_NULL);
    comm.barrier();
    comm.barrier(Deadline(0));
    CHECK(comm.bcast(bytes_of("abc"), 0) == bytes_of("abc"));
    CHECK_THROWS_WITH_AS(comm.bcast({}, 1), "root is not a rank: got 1; allowed: 0 to 0",
                         InvalidArgument);
    CHECK(comm.allgather(bytes_of("abc")) == std::vector<std::vector<std::byte>>{bytes_of("abc")});
    CHECK(comm.exscan_sum(7) == 0);
    CHECK(comm.sum(7) == 7);
    CHECK(comm.min(7) == 7);
    CHECK(comm.max(7) == 7);
    CHECK_FALSE(comm.all(false));
    CHECK(comm.any(true));
    CHECK(comm.ranks_on_this_host() == 1);
    CHECK(comm.split(0, 0).serial());
    CHECK_THROWS_AS(comm.split(-1, 0), InvalidArgument);
    CHECK_THROWS_AS(comm.send({}, 0, 0), InvalidArgument);
    CHECK_THROWS_AS(comm.recv(0, 0), InvalidArgument);
    CHECK_THROWS_WITH_AS(agree(comm, [] { throw TimedOut("late"); }), "late", TimedOut);
    const Merge never = [](std::vector<std::byte>,
                           std::span<const std::byte>) -> std::vector<std::byte> {
        throw Error("nothing to merge");
    };
    CHECK(tree_merge(comm, bytes_of("x"), never) == bytes_of("x"));

    Window window = Window::allocate_shared(comm, 8);
    window.memory(0)[3] = std::byte{42};
    CHECK(window.memory(0)[3] == std::byte{42});
    window.close();
    comm.close();
    CHECK(comm.sum(7) == 7);
}

}  // namespace

TEST_CASE("without MPI a serial communicator works and the others say what is missing") {
    CHECK_FALSE(initialized());
    CHECK_FALSE(running());
    use_serial_comm();
    CHECK_FALSE(initialized());
    CHECK_THROWS_AS(thread_level(), SystemError);
    CHECK_THROWS_WITH_AS(Comm::duplicate(MPI_COMM_WORLD),
                         doctest::Contains("MPI is not running: got no MPI_Init yet"),
                         InvalidArgument);
    CHECK_THROWS_AS(Comm::from_fortran(0), InvalidArgument);
}

TEST_CASE("the library's version is one line that names the vendor") {
    const std::string version = library_version();
    CAPTURE(version);
    CHECK((version.find("Open MPI v") == 0 || version.find("MPICH Version: ") == 0));
    CHECK(version.find_first_of("\n\t") == std::string::npos);
    CHECK(version.find("  ") == std::string::npos);
    CHECK(version.size() < 60);
}

TEST_CASE("an environment initialises once, and the outermost one finalises") {
    std::optional<Environment> outer(std::in_place, ThreadLevel::Multiple);
    CHECK(running());
    CHECK(thread_level() == ThreadLevel::Multiple);
    {
        const Environment inner;
    }
    CHECK(running());

    Comm comm = Comm::duplicate(MPI_COMM_SELF);
    Comm forgotten_until_later = Comm::duplicate(MPI_COMM_SELF);
    CHECK_FALSE(comm.serial());
    CHECK(comm.size() == 1);
    comm.close();
    use_serial_comm();

    outer.reset();
    CHECK(finalized());
    CHECK_FALSE(running());
    forgotten_until_later.close();  // must not touch MPI any more
    use_serial_comm();
    CHECK_THROWS_WITH_AS(Comm::duplicate(MPI_COMM_WORLD),
                         doctest::Contains("MPI_Finalize was called"), InvalidArgument);
    CHECK_THROWS_WITH_AS(Environment(), doctest::Contains("cannot be initialised again"),
                         SystemError);
}
