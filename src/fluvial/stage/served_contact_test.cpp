// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/served_contact.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/event.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/shared_key.hpp"
#include "fluvial/stage/written_steps_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// A file of FLUVIAL_KEY, for as long as this lives.
struct KeyFile {
    explicit KeyFile(const std::string& content, mode_t mode = 0600)
        : path("/tmp/fluvial_key_test." + std::to_string(::getpid())) {
        std::ofstream(path) << content;
        ::chmod(path.c_str(), mode);
        ::setenv(shared_key_variable, path.c_str(), 1);
    }
    ~KeyFile() {
        ::unlink(path.c_str());
        ::unsetenv(shared_key_variable);
    }
    KeyFile(const KeyFile&) = delete;
    KeyFile& operator=(const KeyFile&) = delete;
    std::string path;
};

const std::string digits(64, 'a');

/// A writer's host that serves readers elsewhere, in the process of the test.
struct Serving {
    Serving() { contact.endpoints = service.endpoints(); }
    ReaderOptions options() const {
        return {.contact = text("localhost:", service.endpoints().at(0).port)};
    }
    WrittenSteps steps{WriterOptions{.queue_steps = 4, .queue_bytes = 1 << 20}};
    host::Event bell;
    Contact contact = [] {
        Contact made = new_contact();
        made.key = *shared_key("test");
        return made;
    }();
    RemoteService service{contact.key,
                          {&steps.stream.control, nullptr, mapped(steps.arena), false},
                          {{"127.0.0.1"}, {"127.0.0.1"}},
                          {},
                          bell};
};

}  // namespace

TEST_CASE("an address in a name") {
    std::string name = "fluvial://node17:40000/run";
    ReaderOptions options;
    take_address(name, options);
    CHECK(name == "run");
    CHECK(options.contact == "node17:40000");
    CHECK(is_served(options));
    for (const char* bad : {"fluvial://", "fluvial://node17/run", "fluvial://node17:40000",
                            "fluvial://node 17:1/run", "fluvial://:1/run"}) {
        std::string called = bad;
        ReaderOptions none;
        CHECK_THROWS_WITH_AS(take_address(called, none),
                             doctest::Contains("'fluvial://HOST:PORT/NAME'"), InvalidArgument);
    }
    std::string twice = "fluvial://node17:40000/run";
    CHECK_THROWS_WITH_AS(take_address(twice, options), doctest::Contains("two contacts"),
                         InvalidArgument);
    for (const char* none : {"", "garbage", "node17", "fluvial-contact 2\nhost=a:1\n"}) {
        CHECK(!is_served({.contact = none}));
    }
}

TEST_CASE("a key that is shared is each stream's own, and only this user's") {
    CHECK(!shared_key("test"));
    {
        const KeyFile file(digits + "\n");
        CHECK(shared_key("test") == shared_key("test"));
        CHECK(shared_key("test") != shared_key("other"));
    }
    {
        const KeyFile readable(digits, 0644);
        CHECK_THROWS_WITH_AS(shared_key("test"), doctest::Contains("mode 0644); allowed: mode 06"),
                             Refused);
    }
    for (const std::string& bad :
         {std::string(), digits + "a", digits.substr(1), digits + "\n-", std::string(64, 'x')}) {
        const KeyFile file(bad);
        CHECK_THROWS_WITH_AS(shared_key("test"), doctest::Contains("64 hexadecimal digits"),
                             InvalidArgument);
    }
    ::setenv(shared_key_variable, "/nowhere/key", 1);
    CHECK_THROWS_WITH_AS(shared_key("test"), doctest::Contains("/nowhere/key"), SystemError);
    ::setenv(shared_key_variable, "/tmp", 1);
    CHECK_THROWS_WITH_AS(shared_key("test"), doctest::Contains("names is no file"),
                         InvalidArgument);
    ::unsetenv(shared_key_variable);
}

TEST_CASE("the contact is given to a reader with the key, once it is known") {
    const KeyFile file(digits);
    Serving serving;
    std::string why;
    CHECK(!ask_for_contact("test", serving.options(), why));  // not all ranks are together
    CHECK(!why.empty());
    serving.service.serve_contact(format_contact(serving.contact));
    const auto given = ask_for_contact("test", serving.options(), why);
    REQUIRE(given);
    CHECK(given->socket == serving.contact.socket);
    CHECK(given->key == serving.contact.key);
    CHECK(given->endpoints == serving.contact.endpoints);
    CHECK_THROWS_WITH_AS(ask_for_contact("other", serving.options(), why),
                         doctest::Contains("does not have the key of the stream 'other'"), Refused);
}

TEST_CASE("through another network the address that answers is the one to take") {
    const KeyFile file(digits);
    Serving serving;
    serving.contact.endpoints = {{"203.0.113.7", 1}};
    serving.service.serve_contact(format_contact(serving.contact));
    std::string why;
    const auto given = ask_for_contact("test", serving.options(), why);
    REQUIRE(given);
    CHECK(given->endpoints == serving.service.endpoints());
}

TEST_CASE("nobody has the contact without the key, and nobody serves it where none listens") {
    ReaderOptions options{.contact = "localhost:1"};
    std::string why;
    CHECK_THROWS_WITH_AS(ask_for_contact("test", options, why), doctest::Contains("no FLUVIAL_KEY"),
                         InvalidArgument);
    const KeyFile file(digits);
    CHECK(!ask_for_contact("test", options, why));
    CHECK(why == "Connection refused");
}
