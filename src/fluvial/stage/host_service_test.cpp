// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/host_service.hpp"

#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/open_descriptors_fixture.hpp"
#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/host_service_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;
using host::open_descriptors;

TEST_CASE("a process with the contact attaches and is sent the control block and the arenas") {
    const Host host;
    Attachment got = host.attach_reader(host.contact);
    CHECK(got.reply.cell == 0);
    CHECK(got.reply.group == 0);
    REQUIRE(got.descriptors.size() == 2);
    const ControlBlock control =
        ControlBlock::adopt(host::MemoryFile::adopt(std::move(got.descriptors[0])));
    CHECK(std::string(control.header().name) == "test");
    CHECK(control.reader(0).pid == 42);
    CHECK(host::MemoryFile::adopt(std::move(got.descriptors[1])).size() ==
          host.arena.file().size());
}

TEST_CASE("a writer without a free descriptor says so to waiting clients, and serves them later") {
    const Host host;
    const auto before = open_descriptors();
    host.attach_reader(host.contact);
    // The writer's end of that connection is about to be closed, and would be a free descriptor.
    wait_until([&] { return open_descriptors() <= before; }, Deadline(10),
               "a client did not leave");
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const int status = [&] {  // the client in a process of its own, which has descriptors
        int go[2];
        REQUIRE(::pipe(go) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            char byte = 0;
            (void)!::read(go[0], &byte, 1);
            try {
                host.attach_reader(host.contact);
            } catch (const SystemError& error) {
                const std::string what = error.what();
                ::_exit(what.find("the writer") != std::string::npos &&
                                what.find("Too many open files") != std::string::npos
                            ? 0
                            : 1);
            } catch (const Error&) {
                ::_exit(2);
            }
            ::_exit(3);
        }
        std::vector<host::Descriptor> all;
        const rlimit low{64, limit.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
        for (int fd = 0; (fd = ::dup(STDERR_FILENO)) >= 0;) {
            all.emplace_back(fd);
        }
        REQUIRE(::write(go[1], "x", 1) == 1);
        int ended = 0;
        ::waitpid(child, &ended, 0);
        all.clear();
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
        ::close(go[0]);
        ::close(go[1]);
        return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    }();
    CHECK(status == 0);
    CHECK_NOTHROW(host.attach_reader(host.contact));
}

TEST_CASE("requests that make no sense are refused, though their client knows the key") {
    const Host host;
    CHECK_THROWS_AS(host.attach_reader(host.contact, 2, 2), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, -1, 2), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, 0, 0), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, 0, 1, groups_max), InvalidArgument);
    CHECK_THROWS_AS(host.attach_reader(host.contact, 1, 2, 3),
                    PeerLost);  // no reader opened that group
    CHECK(host.nobody_attached());
}

TEST_CASE("each writer rank attaches once, with its arena, before any reader") {
    const Host host(2);
    CHECK_THROWS_WITH_AS(host.attach_reader(host.contact), doctest::Contains("not complete yet"),
                         Error);
    const Arena arena("other", 1 << 21, 1 << 20);
    const auto attach_writer = [&](int rank) {
        return attach(host.contact, {Role::WriterRank, rank, 2, -1, Start::Oldest, 1},
                      arena.file().descriptor(), Deadline(10));
    };
    CHECK_THROWS_AS(attach_writer(0), Error);
    CHECK_THROWS_AS(attach_writer(2), Error);
    CHECK(attach_writer(1).descriptors.size() == 1);
    CHECK_THROWS_WITH_AS(attach_writer(1), doctest::Contains("rank 1"), Error);
    Attachment got = host.attach_reader(host.contact);
    REQUIRE(got.descriptors.size() == 3);
    CHECK(host::MemoryFile::adopt(std::move(got.descriptors[2])).size() == arena.file().size());
}

TEST_CASE("a reader job for which there is no rank cell leaves no place occupied") {
    const Host host;
    for (int i = 0; i < readers_max; ++i) {
        host.stream.control.reader(i).state = MemberState::Active;
    }
    CHECK_THROWS_WITH_AS(host.attach_reader(host.contact), doctest::Contains("1024 at a time"),
                         Error);
    const ControlLock lock(host.stream.control);
    CHECK(host.stream.control.group(0).state == GroupState::Free);
    for (int i = 0; i < readers_max; ++i) {
        host.stream.control.reader(i).state = MemberState::Free;
    }
}

TEST_CASE("the service looks after the dead by itself") {
    const Host host;
    {
        const ControlLock lock(host.stream.control);
        host.stream.control.writer(0).state = MemberState::Active;  // without an alive lock: dead
    }
    const auto failed = [&] {
        const ControlLock lock(host.stream.control);
        return host.stream.control.header().failure.set == 1;
    };
    const Deadline deadline(10);
    while (!failed() && !deadline.passed()) {
        ::usleep(10'000);
    }
    CHECK(failed());
}
