// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/comm.hpp"

#include <cstdio>
#include <string>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

/// What `work` writes to stderr.
template <class Work>
std::string stderr_of(Work&& work) {
    const int file = memfd_create("stderr", 0);
    std::fflush(stderr);
    const int before = dup(2);
    dup2(file, 2);
    work();
    std::fflush(stderr);
    dup2(before, 2);
    std::string written(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), ' ');
    const auto got = pread(file, written.data(), written.size(), 0);
    written.resize(static_cast<std::size_t>(got));
    close(file);
    close(before);
    return written;
}

}  // namespace

TEST_CASE("a duplicate is the user's communicator again, apart from it") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    int rank = -1;
    int size = -1;
    int relation = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_compare(MPI_COMM_WORLD, comm.handle(), &relation);
    CHECK(comm.rank() == rank);
    CHECK(comm.size() == size);
    CHECK_FALSE(comm.serial());
    CHECK(relation == MPI_CONGRUENT);

    Comm same = Comm::from_fortran(MPI_Comm_c2f(MPI_COMM_WORLD));
    CHECK(MPI_Comm_f2c(static_cast<MPI_Fint>(same.to_fortran())) == same.handle());
    CHECK(same.size() == size);
    same.close();

    Comm moved = std::move(comm);
    CHECK(comm.serial());
    CHECK(moved.size() == size);
    moved.close();
    moved.close();
    CHECK_THROWS_WITH_AS(moved.sum(1), doctest::Contains("the communicator is closed"),
                         InvalidArgument);
    CHECK_THROWS_AS(moved.barrier(), InvalidArgument);
}

TEST_CASE("what is not an intra-communicator is refused") {
    CHECK_THROWS_WITH_AS(Comm::duplicate(MPI_COMM_NULL), doctest::Contains("MPI_COMM_NULL"),
                         InvalidArgument);
    CHECK_THROWS_AS(Comm::from_fortran(MPI_Comm_c2f(MPI_COMM_NULL)), InvalidArgument);
    CHECK_THROWS_AS(Comm::from_fortran(long{1} << 40), InvalidArgument);

    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    if (comm.size() > 1) {
        Comm half = comm.split(comm.rank() % 2, 0);
        MPI_Comm inter = MPI_COMM_NULL;
        MPI_Intercomm_create(half.handle(), 0, comm.handle(), 1 - comm.rank() % 2, 5, &inter);
        CHECK_THROWS_WITH_AS(Comm::duplicate(inter), doctest::Contains("inter-communicator"),
                             InvalidArgument);
        MPI_Comm_free(&inter);
        half.close();
    }
    comm.close();
}

TEST_CASE("duplicating leaves the user's error handler in place") {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    MPI_Errhandler after = MPI_ERRHANDLER_NULL;
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
    MPI_Comm_get_errhandler(comm.handle(), &own);
    CHECK(after == before);
    CHECK(own == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&before);
    MPI_Errhandler_free(&after);
    MPI_Errhandler_free(&own);
    comm.close();
}

TEST_CASE("three thousand communicators come and go") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    // MPICH has 2048 context ids: a leak of one each time shows. One or two ranks are enough to
    // show it.
    const int rounds = comm.size() <= 2 ? 3000 : 200;
    for (int i = 0; i < rounds; ++i) {
        Comm next = Comm::duplicate(comm.handle());
        comm.close();
        comm = std::move(next);
    }
    CHECK(comm.sum(1) == comm.size());
    comm.close();
}

TEST_CASE("a later communicator does not receive what an earlier one has left on its way") {
    for (const bool all_know : {true, false}) {
        CAPTURE(all_know);
        Comm world = Comm::duplicate(MPI_COMM_WORLD);
        Comm before = Comm::duplicate(MPI_COMM_WORLD);
        const int last = world.size() - 1;
        const bool sends = world.rank() == last;
        const bool receives = world.rank() == 0 && last > 0;
        if (sends && last > 0) {
            before.isend({std::byte{1}}, 0, 5).wait();
        }
        if (all_know || receives || sends) {
            before.leave_messages();
        }
        before.barrier();
        CHECK(stderr_of([&] { before.close(); }) == "");
        CHECK_THROWS_AS(before.barrier(), InvalidArgument);

        Comm after = Comm::duplicate(MPI_COMM_WORLD);
        if (sends && last > 0) {
            after.isend({std::byte{2}}, 0, 5).wait();
        }
        if (receives) {
            CHECK(after.recv(last, 5) == std::vector{std::byte{2}});
        }
        after.close();
        world.close();
    }
}

TEST_CASE("a communicator that was not closed is reported on stderr") {
    const std::string said = stderr_of([] { Comm::duplicate(MPI_COMM_WORLD); });
    CHECK(said.find("was destroyed without close()") != std::string::npos);
    const std::string silence = stderr_of([] { Comm::duplicate(MPI_COMM_WORLD).close(); });
    CHECK(silence == "");
}

TEST_CASE("a barrier gives up at its deadline, and the late rank still meets it") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Comm signal = Comm::duplicate(MPI_COMM_WORLD);
    const int late = comm.size() - 1;
    comm.barrier(Deadline(30));
    if (comm.size() > 1 && comm.rank() != late) {
        const std::int64_t begin_ns = now_ns();
        CHECK_THROWS_WITH_AS(comm.barrier(Deadline(0.1)),
                             doctest::Contains("MPI did not pass a barrier of"), TimedOut);
        const double waited_s = static_cast<double>(now_ns() - begin_ns) * 1e-9;
        CHECK(waited_s >= 0.1);
        CHECK(waited_s < 10);
        CHECK_THROWS_AS(comm.barrier(Deadline(0)), TimedOut);
    }
    signal.barrier();  // the late rank comes when all others have given up
    if (comm.rank() % 2 == 0) {
        comm.barrier();
    }
    if (comm.rank() % 2 == 1) {
        comm.barrier(Deadline(30));
    }
    CHECK(comm.sum(1) == comm.size());
    signal.close();
    comm.close();
}

TEST_CASE("after a barrier that never completes, close() comes back") {
    Comm outer = Comm::duplicate(MPI_COMM_WORLD);
    {
        Comm comm = Comm::duplicate(MPI_COMM_WORLD);
        if (comm.size() == 1 || comm.rank() != 0) {
            if (comm.size() > 1) {
                CHECK_THROWS_AS(comm.barrier(Deadline(0.05)), TimedOut);
            }
            CHECK(stderr_of([&] { comm.close(); }) == "");
        }
        outer.barrier();
        // Rank 0 must not free collectively what the others have given up.
        stderr_of([&] { comm = Comm(); });
    }
    CHECK(outer.sum(1) == outer.size());
    outer.close();
}

TEST_CASE("nothing follows an exchange that was broken off") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    comm.break_off();
    CHECK_THROWS_WITH_AS(comm.sum(1), doctest::Contains("was broken off"), InvalidArgument);
    comm.close();
    Comm().break_off();
}

TEST_CASE("communicators split by color and by host") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int size = comm.size();
    CHECK(comm.ranks_on_this_host() == size);  // the tests run on one host
    Comm host = comm.split_by_host();
    CHECK(host.rank() == comm.rank());
    host.close();

    Comm odd_even = comm.split(comm.rank() % 2, -comm.rank());
    const int mine = comm.rank() % 2 == 0 ? (size + 1) / 2 : size / 2;
    CHECK(odd_even.size() == mine);
    CHECK(odd_even.rank() == mine - 1 - comm.rank() / 2);  // descending keys
    odd_even.close();

    const int color = comm.rank() == size - 1 ? -3 : 0;
    CHECK_THROWS_WITH_AS(comm.split(color, 0), "a color is negative: got -3; allowed: 0 or more",
                         InvalidArgument);
    comm.close();
}
