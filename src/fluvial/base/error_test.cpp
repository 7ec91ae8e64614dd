// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/error.hpp"

#include <cerrno>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"

using namespace fluvial;

TEST_CASE("a problem names value, allowed range and remedy") {
    const InvalidArgument error(
        Problem{"queue_steps is out of range", "0", "1 to 1024", "Pass queue_steps=4"});
    CHECK(std::string(error.what()) ==
          "queue_steps is out of range: got 0; allowed: 1 to 1024. Pass queue_steps=4");
}

TEST_CASE("an error keeps its class when it is rethrown from its kind") {
    const auto rethrown_as = [](const Error& error) {
        try {
            throw_error(error.kind(), error.what());
        } catch (const Error& caught) {
            CHECK(std::string(caught.what()) == error.what());
            return std::string(caught.kind());
        }
    };
    CHECK(rethrown_as(Error("x")) == "Error");
    CHECK(rethrown_as(InvalidArgument("x")) == "InvalidArgument");
    CHECK(rethrown_as(TimedOut("x")) == "TimedOut");
    CHECK(rethrown_as(PeerLost("x")) == "PeerLost");
    CHECK(rethrown_as(PeerStalled("x")) == "PeerStalled");
    CHECK(rethrown_as(Refused("x")) == "Refused");
    CHECK(rethrown_as(StaleContact("x")) == "StaleContact");
    CHECK(rethrown_as(DamagedMessage("x")) == "DamagedMessage");
    CHECK(rethrown_as(OutOfRange("x")) == "OutOfRange");
    CHECK(rethrown_as(WrongType("x")) == "WrongType");
    CHECK(rethrown_as(UnknownName("x")) == "UnknownName");
    CHECK(rethrown_as(OutOfBounds("x")) == "OutOfBounds");
    CHECK(rethrown_as(NoSuchFile("x")) == "NoSuchFile");
    CHECK(rethrown_as(NotPermitted("x")) == "NotPermitted");
    CHECK(rethrown_as(DamagedFile("x")) == "DamagedFile");
    CHECK(rethrown_as(SystemError("x")) == "SystemError");
}

TEST_CASE("a long value is shortened in the middle, between characters") {
    CHECK(shortened("abcdefghij", 10) == "abcdefghij");
    CHECK(shortened("abcdefghijk", 10) == "abcdef…ijk");
    CHECK(shortened("ääääääääää", 10) == "ääääääääää");
    CHECK(shortened("äbäbäbäbäbä", 10) == "äbäbäb…äbä");
    const InvalidArgument error(
        Problem{"no such name", "'" + std::string(1000, 'x') + "'", "", "Correct it"});
    CHECK(std::string(error.what()).size() < 130);
    CHECK(std::string(error.what()).ends_with("x'. Correct it"));
}

TEST_CASE("a message is one line, and nothing that a terminal obeys") {
    const InvalidArgument error(Problem{"no '\x1B[2J'", "'a\nb\t\x7F'", "", ""});
    CHECK(std::string(error.what()) == R"(no '\x1b[2J': got 'a\nb\x09\x7f')");
}

TEST_CASE("errno becomes a readable message") {
    CHECK_THROWS_WITH_AS(
        throw_errno("cannot open the contact file", ENOENT, "Start the writer first"),
        "cannot open the contact file: got No such file or directory (errno 2). Start the writer "
        "first",
        NoSuchFile);
    CHECK_THROWS_AS(throw_errno("cannot open it", EACCES), NotPermitted);
    CHECK_THROWS_AS(throw_errno("cannot open it", EMFILE), SystemError);
}
