// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/agree.hpp"

#include <span>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/failure.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

TEST_CASE("agreeing on success costs nothing but a message") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    int ran = 0;
    agree(comm, [&] { ++ran; });
    agree(comm, [&] { ++ran; }, Deadline(30));
    CHECK(ran == 2);
    comm.close();
}

TEST_CASE("an error on any one rank is the same error on all") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int size = comm.size();
    for (int failing = 0; failing < size; ++failing) {
        const auto validate = [&] {
            if (comm.rank() == failing) {
                throw PeerStalled(text("nothing heard by ", failing));
            }
        };
        const std::string message = text(size > 1 ? text("rank ", failing, " of ", size, ": ") : "",
                                         "nothing heard by ", failing);
        CHECK_THROWS_WITH_AS(agree(comm, validate), message.c_str(), PeerStalled);
        CHECK_THROWS_WITH_AS(agree(comm, validate, Deadline(30)), message.c_str(), PeerStalled);
    }
    CHECK(comm.sum(1) == size);  // and no rank is left behind
    comm.close();
}

TEST_CASE("of several failures the first rank's is told and the others are counted") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int size = comm.size();
    const auto all_but_the_first = [&] {
        if (comm.rank() == 1) {
            throw InvalidArgument("one");
        }
        if (comm.rank() > 1) {
            throw TimedOut("more");
        }
    };
    if (size == 1) {
        agree(comm, all_but_the_first);
    }
    if (size == 2) {
        CHECK_THROWS_WITH_AS(agree(comm, all_but_the_first), "rank 1 of 2: one", InvalidArgument);
    }
    if (size == 3) {
        CHECK_THROWS_WITH_AS(agree(comm, all_but_the_first),
                             "rank 1 of 3: one (1 further rank failed too)", InvalidArgument);
    }
    if (size == 4) {
        CHECK_THROWS_WITH_AS(agree(comm, all_but_the_first),
                             "rank 1 of 4: one (2 further ranks failed too)", InvalidArgument);
    }
    comm.close();
}

TEST_CASE("foreign exceptions cross ranks as Error") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    if (comm.size() > 1) {
        CHECK_THROWS_WITH_AS(agree(comm,
                                   [&] {
                                       if (comm.rank() == 1) {
                                           throw std::out_of_range("far");
                                       }
                                   }),
                             text("rank 1 of ", comm.size(), ": far").c_str(), Error);
        CHECK_THROWS_WITH_AS(agree(comm,
                                   [&] {
                                       if (comm.rank() == 1) {
                                           throw 42;
                                       }
                                   }),
                             doctest::Contains("not a std::exception"), Error);
    } else {
        CHECK_THROWS_AS(agree(comm, [] { throw std::out_of_range("far"); }), std::out_of_range);
    }
    comm.close();
}

TEST_CASE("a rank that does not come to agree is a time-out for the others") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Comm signal = Comm::duplicate(MPI_COMM_WORLD);
    if (comm.size() > 1 && comm.rank() != 0) {
        CHECK_THROWS_AS(agree(comm, [] {}, Deadline(0.05)), TimedOut);
    }
    signal.barrier();
    comm.barrier();
    signal.close();
    comm.close();
}

TEST_CASE("every rank sees whether all bytes are the same") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto equal = [&](const std::string& mine) {
        return all_equal(comm, std::as_bytes(std::span(mine)));
    };
    CHECK(equal(""));
    CHECK(equal(std::string(100, 'x')));
    const bool last = comm.rank() == comm.size() - 1;
    CHECK(equal(last ? "one" : "two") == (comm.size() == 1));
    CHECK(equal(std::string(comm.rank() == 0 ? 8 : 9, '\0')) == (comm.size() == 1));
    comm.close();
}

TEST_CASE("ranks that say different things are all told the values, and the ranks that gave them") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int size = comm.size();
    const auto nothing = [] {};
    const auto say = [&](const std::string& value) {
        return [value](Terms& terms) { terms.add("the operator of 'x'", value); };
    };
    agree_on(comm, nothing, say("mean"));
    for (int odd = 0; odd < size && size > 1; ++odd) {
        const std::string mine = comm.rank() == odd ? "sum" : "mean";
        const std::string message =
            text("the ranks differ in the operator of 'x': got ", odd == 0 ? "mean" : "sum",
                 " on rank ", odd == 0 ? 1 : odd, "; allowed: ", odd == 0 ? "sum" : "mean",
                 " as on rank 0. Call it with equal arguments on every rank");
        CHECK_THROWS_WITH_AS(agree_on(comm, nothing, say(mine)), message.c_str(), InvalidArgument);
    }
    CHECK(comm.sum(1) == size);
    comm.close();
}

TEST_CASE("what fails on a rank is told before what differs") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const bool last = comm.rank() == comm.size() - 1;
    const auto validate = [&] {
        if (last) {
            throw TimedOut("late");
        }
    };
    const auto say = [&](Terms& terms) { terms.add("the rank", exact(comm.rank())); };
    CHECK_THROWS_WITH_AS(agree_on(comm, validate, say), doctest::Contains("late"), TimedOut);
    if (comm.size() > 1) {
        CHECK_THROWS_WITH_AS(agree_on(
                                 comm, [] {},
                                 [&](Terms&) {
                                     if (last) {
                                         throw TimedOut("silent");
                                     }
                                 }),
                             doctest::Contains("silent"), TimedOut);
    }
    comm.close();
}

TEST_CASE("only ranks that say something must say the same") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto say_on = [&](int first, const std::string& value) {
        return [&comm, first, value](Terms& terms) {
            terms.add("the name", "one");
            if (comm.rank() >= first) {
                terms.add_where_known("the operation", value);
            }
        };
    };
    agree_on(comm, [] {}, say_on(comm.size(), ""));
    agree_on(comm, [] {}, say_on(comm.size() - 1, "sum"));
    const std::string mine = comm.rank() == comm.size() - 1 ? "max" : "sum";
    agree_on(comm, [] {}, say_on(comm.size() - 1, mine));
    if (comm.size() > 2) {
        const std::string message = text("the ranks differ in the operation: got max on rank ",
                                         comm.size() - 1, "; allowed: sum as on rank 1.");
        CHECK_THROWS_WITH_AS(agree_on(
                                 comm, [] {}, say_on(1, mine)),
                             doctest::Contains(message.c_str()), InvalidArgument);
    }
    comm.close();
}

TEST_CASE("what all ranks throw alike counts as agreed, and what one throws does not") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto was_agreed_of = [&](const std::function<void()>& call) {
        try {
            call();
        } catch (const InvalidArgument&) {
            return was_agreed(std::current_exception(), comm.size());
        }
        return false;
    };
    const auto refuse = [] { throw InvalidArgument("not here"); };
    CHECK(was_agreed_of([&] { throw_alike(comm, refuse); }));
    CHECK_FALSE(was_agreed_of(refuse));
    comm.close();
}

TEST_CASE("a failure survives the way through bytes") {
    const Failure failure{"StaleContact", "the writer\nis gone", 3};
    const Failure again = Failure::from_bytes(failure.to_bytes());
    CHECK_THROWS_WITH_AS(again.raise(7), "rank 3 of 7: the writer\nis gone", StaleContact);
    CHECK_FALSE(failure_of(0, [] {}).has_value());
}
