// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/contact.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

constexpr const char* first_line = "fluvial-contact 1";

std::string hostname() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::string boot_id() {
    std::ifstream in("/proc/sys/kernel/random/boot_id");
    std::string id;
    in >> id;
    return id;
}

std::string hex(const unsigned char* bytes, std::size_t size) {
    std::string out(2 * size + 1, '\0');
    sodium_bin2hex(out.data(), out.size(), bytes, size);
    out.pop_back();
    return out;
}

std::string random_hex(std::size_t bytes) {
    std::string raw(bytes, '\0');
    randombytes_buf(raw.data(), bytes);
    return hex(reinterpret_cast<const unsigned char*>(raw.data()), bytes);
}

std::string format(const Contact& contact) {
    return text(first_line, "\nhost=", contact.host, "\nboot_id=", contact.boot_id,
                "\npid=", contact.pid, "\nsocket=", contact.socket,
                "\nkey=", hex(contact.key.data(), contact.key.size()), "\nend\n");
}

/// None while the file is not complete.
std::optional<Contact> parse(const std::string& path, const std::string& content) {
    std::istringstream in(content);
    std::string line;
    std::map<std::string, std::string> fields;
    if (!std::getline(in, line)) {
        return std::nullopt;
    }
    if (line != first_line) {
        throw Error(Problem{"this is not a contact file of this version of Fluvial", path,
                            first_line, "Remove it, or install the same version for both jobs"});
    }
    bool complete = false;
    while (!complete && std::getline(in, line)) {
        complete = line == "end";
        const auto equals = line.find('=');
        if (equals != std::string::npos) {
            fields[line.substr(0, equals)] = line.substr(equals + 1);
        }
    }
    if (!complete) {
        return std::nullopt;
    }
    Contact contact;
    contact.host = fields["host"];
    contact.boot_id = fields["boot_id"];
    contact.pid = std::atoi(fields["pid"].c_str());
    contact.socket = fields["socket"];
    std::size_t bytes = 0;
    const std::string& key = fields["key"];
    if (sodium_hex2bin(contact.key.data(), key_bytes, key.data(), key.size(), nullptr, &bytes,
                       nullptr) != 0 ||
        bytes != key_bytes) {
        throw Refused(Problem{"the contact file holds no usable key", path,
                              text(2 * key_bytes, " hexadecimal digits"),
                              "Ask the writer's owner for the original file"});
    }
    return contact;
}

std::string read_all(int fd) {
    std::string content;
    char block[1024];
    for (ssize_t got = 0;
         (got = ::pread(fd, block, sizeof block, static_cast<off_t>(content.size()))) > 0;) {
        content.append(block, static_cast<std::size_t>(got));
        if (content.size() > 65536) {
            break;  // no contact file is that long
        }
    }
    return content;
}

bool same_file(int fd, const std::string& path) {
    struct stat opened{};
    struct stat named{};
    return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Readers test the lock for an instant; a writer that collides with one tries again.
bool lock_for_writing(int fd) {
    for (int attempt = 0; attempt < 50; ++attempt) {
        if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        const timespec pause{0, 4'000'000};
        ::nanosleep(&pause, nullptr);
    }
    return false;
}

void start_sodium() {
    if (sodium_init() < 0) {
        throw SystemError("libsodium cannot be initialised");
    }
}

}  // namespace

std::string contact_path(const std::string& directory, const std::string& name) {
    std::string folder = directory;
    for (const char* variable : {"FLUVIAL_DIRECTORY", "XDG_RUNTIME_DIR"}) {
        const char* value = std::getenv(variable);
        if (folder.empty() && value != nullptr && value[0] != '\0' && ::access(value, F_OK) == 0) {
            folder = value;
        }
    }
    return (folder.empty() ? "." : folder) + "/" + name + ".fluvial";
}

Contact new_contact() {
    start_sodium();
    Contact contact;
    contact.host = hostname();
    contact.boot_id = boot_id();
    contact.pid = ::getpid();
    contact.socket = "fluvial-" + random_hex(16);
    randombytes_buf(contact.key.data(), contact.key.size());
    return contact;
}

PublishedContact::PublishedContact(const std::string& path, const Contact& contact) : path_(path) {
    do {  // the file may be removed by a writer that just ends, between our opening and our locking
          // it
        lock_ =
            move::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!lock_.valid()) {
            throw_errno(
                "cannot create the contact file " + path, errno,
                "Choose a folder that exists and that you may write to as the option directory");
        }
        if (!lock_for_writing(lock_.get())) {
            const auto owner = parse(path, read_all(lock_.get()));
            throw InvalidArgument(
                Problem{"this stream is already being written", path,
                        text("one writer a name; process ", owner ? owner->pid : 0, " has it"),
                        "Choose another name or directory, or end the other writer"});
        }
    } while (!same_file(lock_.get(), path));
    const std::string content = format(contact);
    if (::fchmod(lock_.get(), 0600) != 0 || ::ftruncate(lock_.get(), 0) != 0 ||
        ::pwrite(lock_.get(), content.data(), content.size(), 0) !=
            static_cast<ssize_t>(content.size())) {
        throw_errno("cannot write the contact file " + path, errno);
    }
}

PublishedContact::~PublishedContact() {
    if (same_file(lock_.get(), path_)) {
        ::unlink(path_.c_str());
    }
}

std::optional<Contact> read_contact(const std::string& path) {
    start_sodium();
    const move::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
        if (errno == ENOENT) {
            return std::nullopt;
        }
        if (errno == EACCES) {
            throw Refused(Problem{"the contact file may not be read by this user", path,
                                  "its owner", "Run both jobs as the same user"});
        }
        throw_errno("cannot read the contact file " + path, errno);
    }
    const auto contact = parse(path, read_all(file.get()));
    if (!contact) {
        return std::nullopt;
    }
    if (contact->boot_id != boot_id() && contact->host != hostname()) {
        throw Error(Problem{"the writer runs on another host", contact->host, hostname(),
                            "Start the reader on the writer's host: this version stages through "
                            "shared memory only"});
    }
    if (contact->boot_id != boot_id() || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
        if (!same_file(file.get(), path)) {
            return std::nullopt;  // an orderly end removed it just now
        }
        throw StaleContact(
            Problem{"the contact file was left behind by a writer that is dead",
                    text(path, " of process ", contact->pid), "",
                    "Start the writer again (it takes the file over), or remove the file"});
    }
    return contact;
}

}  // namespace fluvial::stage
