// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/contact.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/fluvial-contact-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string file() const { return path_ / "melt.fluvial"; }
    std::string path() const { return path_; }

  private:
    std::filesystem::path path_;
};

std::string content_of(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::trunc) << content;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.push_back(entry.path().filename());
    }
    return names;
}

/// A process that has published `path` and waits to be killed.
pid_t publishing_child(const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
        const PublishedContact published(path, new_contact());
        std::ofstream(path + ".up") << "up";
        while (true) {
            ::pause();
        }
    }
    const Deadline deadline(20);
    while (::access((path + ".up").c_str(), F_OK) != 0 && !deadline.passed()) {
        ::usleep(1000);
    }
    REQUIRE_FALSE(deadline.passed());
    return child;
}

int exit_code(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void kill_and_wait(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("the file is for its owner only, says all, and goes with the writer") {
    const Folder folder;
    const Contact contact = new_contact();
    overwrite(folder.file(), "left by somebody, readable for all");
    ::chmod(folder.file().c_str(), 0666);
    {
        const PublishedContact published(folder.file(), contact);
        struct stat status{};
        REQUIRE(::stat(folder.file().c_str(), &status) == 0);
        CHECK((status.st_mode & 07777) == 0600);
        CHECK(names_in(folder.path()) == std::vector<std::string>{"melt.fluvial"});
        const auto read = read_contact(folder.file());
        REQUIRE(read.has_value());
        CHECK(read->host == contact.host);
        CHECK(read->boot_id == contact.boot_id);
        CHECK(read->pid == ::getpid());
        CHECK(read->socket == contact.socket);
        CHECK(read->key == contact.key);
    }
    CHECK_FALSE(std::filesystem::exists(folder.file()));
    CHECK_FALSE(read_contact(folder.file()).has_value());
}

TEST_CASE("each contact has its own key and address") {
    CHECK(new_contact().key != new_contact().key);
    CHECK(new_contact().socket != new_contact().socket);
}

TEST_CASE("the file of a killed writer is stale at once, and the next writer takes it over") {
    const Folder folder;
    const pid_t child = publishing_child(folder.file());
    REQUIRE(read_contact(folder.file()).has_value());
    kill_and_wait(child);
    REQUIRE(std::filesystem::exists(folder.file()));
    const std::int64_t begin_ns = now_ns();
    CHECK_THROWS_WITH_AS(read_contact(folder.file()),
                         doctest::Contains(text("process ", child).c_str()), StaleContact);
    CHECK(now_ns() - begin_ns < 5'000'000'000);
    const PublishedContact published(folder.file(), new_contact());
    CHECK(read_contact(folder.file())->pid == ::getpid());
}

TEST_CASE("a name in use is refused with the process that uses it") {
    const Folder folder;
    const pid_t child = publishing_child(folder.file());
    CHECK_THROWS_WITH_AS(PublishedContact(folder.file(), new_contact()),
                         doctest::Contains(text("process ", child, " has it").c_str()),
                         InvalidArgument);
    CHECK(read_contact(folder.file())->pid == child);  // and the file is as it was
    kill_and_wait(child);
}

TEST_CASE("a stopped writer is not a dead one") {
    const Folder folder;
    const pid_t child = publishing_child(folder.file());
    ::kill(child, SIGSTOP);
    CHECK(read_contact(folder.file()).has_value());
    kill_and_wait(child);
}

TEST_CASE("a file that is empty or cut short, and that no writer has, is stale at once") {
    const Folder folder;
    std::string content;
    {
        const PublishedContact published(folder.file(), new_contact());
        content = content_of(folder.file());
    }
    REQUIRE(content.size() > 100);
    for (std::size_t bytes = 18; bytes + 4 < content.size(); ++bytes) {
        CAPTURE(bytes);
        overwrite(folder.file(), content.substr(0, bytes));
        CHECK_THROWS_AS(read_contact(folder.file()), StaleContact);
    }
    overwrite(folder.file(), "");
    CHECK_THROWS_WITH_AS(read_contact(folder.file()), doctest::Contains("empty or cut short"),
                         StaleContact);
    const PublishedContact published(folder.file(), new_contact());
    CHECK(read_contact(folder.file()).has_value());
}

TEST_CASE("garbage and files of other versions are named") {
    const Folder folder;
    for (const char* content : {"garbage\n", "fluvial-contact 3\nhost=a\nend\n", "\n",
                                "\x7f"
                                "ELF\x01\x02\n"}) {
        overwrite(folder.file(), content);
        CHECK_THROWS_WITH_AS(read_contact(folder.file()), doctest::Contains(folder.file().c_str()),
                             Error);
    }
    overwrite(folder.file(), std::string(200000, 'x'));
    CHECK_THROWS_AS(read_contact(folder.file()), Error);
    CHECK_NOTHROW(PublishedContact(folder.file(),
                                   new_contact()));  // its lock is free: the writer takes it over
}

TEST_CASE("a key that is none is refused") {
    const Folder folder;
    const PublishedContact published(folder.file(), new_contact());
    const std::string content = content_of(folder.file());
    const auto key = content.find("key=") + 4;
    for (const std::string& bad :
         {std::string("12ab"), std::string(64, 'z'), std::string(66, 'a'), std::string()}) {
        std::ofstream(folder.file(), std::ios::trunc) << content.substr(0, key) << bad << "\nend\n";
        CHECK_THROWS_WITH_AS(read_contact(folder.file()),
                             doctest::Contains("64 hexadecimal digits"), Refused);
    }
}

TEST_CASE("a writer on another host is told apart from a dead one") {
    const Folder folder;
    Contact contact = new_contact();
    contact.host = "elsewhere";
    contact.boot_id = "0000";
    const auto found = [&] {
        const auto read = read_contact(folder.file());
        REQUIRE(read);
        CHECK_FALSE(is_on_this_host(*read));
        CHECK_THROWS_WITH_AS(check_reachable(*read),
                             doctest::Contains("no network: got elsewhere (boot 0000)"), Error);
    };
    {
        const PublishedContact published(folder.file(), contact);
        found();
    }
    overwrite(folder.file(), format_contact(contact));  // the lock need not be known here
    found();
}

TEST_CASE("a writer elsewhere is reached at the addresses that its file names") {
    const Folder folder;
    Contact contact = new_contact();
    CHECK(is_on_this_host(contact));
    CHECK_NOTHROW(check_reachable(contact));
    contact.boot_id = "0000";
    contact.endpoints = {{"10.77.0.1", 40123}, {"fd00::1", 40123}};
    contact.names = {{"node17.cluster.org", 40123}};
    const PublishedContact published(folder.file(), contact);
    const auto read = read_contact(folder.file());
    REQUIRE(read);
    CHECK(read->endpoints == contact.endpoints);
    CHECK(read->names == contact.names);
    CHECK(content_of(folder.file()).find("10.77.0.1:40123,[fd00::1]:40123,node17.cluster.org") !=
          std::string::npos);
    CHECK_NOTHROW(check_reachable(*read));
}

TEST_CASE("addresses that are none are refused") {
    const Folder folder;
    const PublishedContact published(folder.file(), new_contact());
    const std::string content = content_of(folder.file());
    const auto addresses = content.find("addresses=") + 10;
    for (const char* bad : {"10.77.0.1", "10.77.0.1:0", "10.77.0.1:70000", "host:0",
                            "[fd00::1:40123", ":40123", ""}) {
        std::string changed = content;
        changed.insert(addresses, text(bad, ",10.77.0.1:40123,"));
        std::ofstream(folder.file(), std::ios::trunc) << changed;
        CHECK_THROWS_WITH_AS(
            read_contact(folder.file()),
            doctest::Contains(text(folder.file(), " names what is no address of a network: got '",
                                   bad, "'; allowed: ")
                                  .c_str()),
            InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(contact_from_text(content.substr(0, addresses) + std::string(1000, 'a') +
                                           content.substr(addresses)),
                         doctest::Contains("the option contact names what"), InvalidArgument);
}

TEST_CASE("a text that is not all of a contact, or more than one, is refused") {
    Contact contact = new_contact();
    contact.others = {new_contact()};
    contact.ranks = {0};
    contact.others.front().ranks = {1};
    const std::string words = format_contact(contact);
    CHECK(contact_from_text(words).ranks == contact.ranks);
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string other = words;
        const auto at = other.find(from);
        REQUIRE(at != std::string::npos);
        return other.replace(at, from.size(), to);
    };
    for (const auto& [text, seen] : std::vector<std::pair<std::string, std::string>>{
             {changed("\nhost=", "\ngost="), "no line 'host='"},
             {changed("\nhost1.ranks=1", ""), "no line 'host1.ranks='"},
             {changed("\nhost1.host=", "\nhost2.host="), "'host1.addresses='"},
             {changed("\nkey=", "\nmore=1\nkey="), "'more='"},
             {changed("\nkey=", "\nno sense\nkey="), "'no sense'"},
             {changed("\npid=", "\npid=1\npid="), "'pid="},
             {changed("\nkey=", "\nkez="), "no line 'key='"},
             {words + "x=1\n", "'behind the end: x=1'"},
             {words + words, "'behind the end: fluvial-contact 2'"}}) {
        CHECK_THROWS_WITH_AS(
            contact_from_text(text),
            doctest::Contains(("the option contact is damaged: got " + seen).c_str()),
            InvalidArgument);
    }
    CHECK(contact_from_text(words + "\n\n").others.size() == 1);
}

TEST_CASE("a living writer on another host of the same name is not one from before a reboot") {
    const Folder folder;
    Contact contact = new_contact();
    contact.boot_id = "0000";
    const PublishedContact published(folder.file(), contact);
    const auto read = read_contact(folder.file());
    REQUIRE(read);
    CHECK_THROWS_WITH_AS(check_reachable(*read), doctest::Contains("another host"), Error);
}

TEST_CASE("a living writer in another network namespace is not one that has ended") {
    const Folder folder;
    const PublishedContact published(folder.file(), new_contact());
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWNET) != 0) {
            ::_exit(77);  // not root
        }
        int status = 1;
        try {
            check_reachable(*read_contact(folder.file()));
        } catch (const StaleContact&) {
            status = 2;
        } catch (const Error& error) {
            const std::string what = error.what();
            status = what.find("another network namespace") != std::string::npos &&
                             what.find(text("process ", ::getppid())) != std::string::npos
                         ? 0
                         : 3;
        }
        ::_exit(status);
    }
    const int status = exit_code(child);
    if (status == 77) {
        MESSAGE("not run: only root can make a network namespace");
        return;
    }
    CHECK(status == 0);
}

TEST_CASE("a file from before the reboot is stale, although no process can be asked") {
    const Folder folder;
    Contact contact = new_contact();
    contact.boot_id = "0000";
    overwrite(folder.file(), format_contact(contact));
    CHECK_THROWS_AS(read_contact(folder.file()), StaleContact);
}

TEST_CASE("a link is not followed, and a missing folder is named") {
    const Folder folder;
    std::filesystem::create_symlink("/tmp/fluvial-must-not-appear", folder.file());
    CHECK_THROWS_WITH_AS(PublishedContact(folder.file(), new_contact()),
                         doctest::Contains("a symbolic link"), Refused);
    CHECK_FALSE(std::filesystem::exists("/tmp/fluvial-must-not-appear"));
    CHECK_THROWS_WITH_AS(PublishedContact(folder.path() + "/no/melt.fluvial", new_contact()),
                         doctest::Contains("as the option directory"), SystemError);
}

TEST_CASE("where the file lies: the option, FLUVIAL_DIRECTORY, XDG_RUNTIME_DIR, here") {
    const Folder mine;
    const Folder other;
    ::setenv("FLUVIAL_DIRECTORY", mine.path().c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", other.path().c_str(), 1);
    CHECK(contact_path("/some", "melt") == "/some/melt.fluvial");
    CHECK(contact_path("", "melt") == mine.file());
    ::setenv("FLUVIAL_DIRECTORY", "/nowhere/at/all", 1);  // to be told of, and not replaced
    CHECK(contact_path("", "melt") == "/nowhere/at/all/melt.fluvial");
    ::unsetenv("FLUVIAL_DIRECTORY");
    CHECK(contact_path("", "melt") == other.file());
    if (::chown(other.path().c_str(), 2, 2) == 0) {  // after `su`: that of another user
        CHECK(contact_path("", "melt") == "./melt.fluvial");
    }
    ::setenv("XDG_RUNTIME_DIR", "/nowhere/at/all", 1);  // set by a login that is gone
    CHECK(contact_path("", "melt") == "./melt.fluvial");
    ::unsetenv("XDG_RUNTIME_DIR");
    CHECK(contact_path("", "melt") == "./melt.fluvial");
}
