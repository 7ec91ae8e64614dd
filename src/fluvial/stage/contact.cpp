// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/contact.hpp"

#include <cerrno>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/process.hpp"
#include "fluvial/move/host_name.hpp"

namespace fluvial::stage {
namespace {

constexpr const char* first_line = "fluvial-contact 2";

constexpr const char* mount_proc = "Raise the limit on open files (ulimit -n), or mount /proc";

/// Never empty: a reader without a free descriptor would else take a living writer for one of
/// another host.
std::string boot_id() {
    constexpr const char* path = "/proc/sys/kernel/random/boot_id";
    const host::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    char id[64];
    const ssize_t got = file.valid() ? ::read(file.get(), id, sizeof id) : -1;
    if (got <= 0) {
        throw_errno(text("cannot read ", path), errno, mount_proc);
    }
    return {id, static_cast<std::size_t>(got - (id[got - 1] == '\n' ? 1 : 0))};
}

/// "net:[4026531840]"
std::string network_namespace() {
    constexpr const char* path = "/proc/self/ns/net";
    char name[64];
    const ssize_t got = ::readlink(path, name, sizeof name);
    if (got <= 0) {
        throw_errno(text("cannot read ", path), errno, mount_proc);
    }
    return {name, static_cast<std::size_t>(got)};
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

/// The prefix of the fields of a further host.
std::string prefix_of(int other) {
    return text("host", other, '.');
}

move::Endpoint endpoint_in(const std::string& path, const std::string& said) {
    try {
        return move::endpoint_by_name(said);
    } catch (const InvalidArgument&) {
        throw InvalidArgument(
            Problem{path + " names what is no address of a network", "'" + said + "'",
                    "\"10.77.0.1:40123\", \"[fd00::1]:40123\" or \"node17:40123\"",
                    "The contact is damaged: start the writer again, or get the "
                    "original from its owner"});
    }
}

[[noreturn]] void throw_damaged(const std::string& path, const std::string& seen) {
    constexpr std::size_t most = 60;
    throw Error(Problem{path + " is damaged", seen.substr(0, most),
                        "what the writer wrote, which its property contact says",
                        "Get the original from its owner, whole"});
}

/// The lines of a contact: each is there once, and there are no others.
class Fields {
  public:
    explicit Fields(const std::string& path) : path_(path) {}
    void add(const std::string& line) {
        const auto equals = line.find('=');
        if (equals == std::string::npos ||
            !values_.emplace(line.substr(0, equals), line.substr(equals + 1)).second) {
            add_strange(line);
        }
    }
    void add_strange(const std::string& line) { strange_.push_back(line); }
    bool has(const std::string& name) const { return values_.count(name) != 0; }
    std::string take(const std::string& name) {
        const auto found = values_.extract(name);
        if (found.empty()) {
            throw_damaged(path_, "no line '" + name + "='");
        }
        return found.mapped();
    }
    void check_none_left() const {
        if (!strange_.empty()) {
            throw_damaged(path_, "'" + strange_.front() + "'");
        }
        if (!values_.empty()) {
            throw_damaged(path_, "'" + values_.begin()->first + "='");
        }
    }

  private:
    const std::string& path_;
    std::map<std::string, std::string> values_;
    std::vector<std::string> strange_;
};

Contact host_of(Fields& fields, const std::string& prefix, const std::string& path) {
    Contact contact;
    contact.host = fields.take(prefix + "host");
    contact.boot_id = fields.take(prefix + "boot_id");
    contact.network_namespace = fields.take(prefix + "network_namespace");
    contact.pid = std::atoi(fields.take(prefix + "pid").c_str());
    contact.socket = fields.take(prefix + "socket");
    std::istringstream endpoints(fields.take(prefix + "addresses"));
    for (std::string endpoint; std::getline(endpoints, endpoint, ',');) {
        move::Endpoint said = endpoint_in(path, endpoint);
        auto& list = move::is_host_name(said.address) ? contact.names : contact.endpoints;
        list.push_back(std::move(said));
    }
    std::istringstream ranks(fields.take(prefix + "ranks"));
    for (std::string rank; std::getline(ranks, rank, ',');) {
        contact.ranks.push_back(std::atoi(rank.c_str()));
    }
    return contact;
}

std::string fields_of(const Contact& contact, const std::string& prefix) {
    std::string endpoints, ranks;
    for (const auto* list : {&contact.endpoints, &contact.names}) {
        for (const move::Endpoint& endpoint : *list) {
            endpoints += text(endpoints.empty() ? "" : ",", text_of(endpoint));
        }
    }
    for (const int rank : contact.ranks) {
        ranks += text(ranks.empty() ? "" : ",", rank);
    }
    return text(prefix, "host=", contact.host, '\n', prefix, "boot_id=", contact.boot_id, '\n',
                prefix, "network_namespace=", contact.network_namespace, '\n', prefix,
                "pid=", contact.pid, '\n', prefix, "socket=", contact.socket, '\n', prefix,
                "addresses=", endpoints, '\n', prefix, "ranks=", ranks, '\n');
}

std::optional<Contact> parse(const std::string& path, const std::string& content) {
    std::istringstream in(content);
    std::string line;
    Fields fields(path);
    if (!std::getline(in, line)) {
        return std::nullopt;
    }
    if (line != first_line) {
        throw Error(Problem{"this is not a contact file of this version of Fluvial", path,
                            first_line, "Remove it, or install the same version for both jobs"});
    }
    bool complete = false;
    while (std::getline(in, line)) {
        if (line == "end" && !complete) {
            complete = true;
        } else if (!line.empty()) {
            complete ? fields.add_strange("behind the end: " + line) : fields.add(line);
        }
    }
    if (!complete) {
        return std::nullopt;
    }
    Contact contact = host_of(fields, "", path);
    for (int other = 1; fields.has(prefix_of(other) + "host"); ++other) {
        contact.others.push_back(host_of(fields, prefix_of(other), path));
    }
    std::size_t bytes = 0;
    const std::string key = fields.take("key");
    fields.check_none_left();
    if (sodium_hex2bin(contact.key.data(), key_bytes, key.data(), key.size(), nullptr, &bytes,
                       nullptr) != 0 ||
        bytes != key_bytes) {
        throw Refused(Problem{"the contact file holds no usable key", path,
                              text(2 * key_bytes, " hexadecimal digits"),
                              "Ask the writer's owner for the original file"});
    }
    for (Contact& other : contact.others) {
        other.key = contact.key;
    }
    return contact;
}

std::string content_of(int fd) {
    std::string content;
    char block[1024];
    for (ssize_t got = 0;
         (got = ::pread(fd, block, sizeof block, static_cast<off_t>(content.size()))) > 0;) {
        content.append(block, static_cast<std::size_t>(got));
        if (content.size() > (std::size_t{16} << 20)) {
            break;  // no contact file is that long
        }
    }
    return content;
}

/// The kernel knows, whatever killed the writer. On a file system of a network it may not.
bool is_locked(const host::Descriptor& file, const std::string& path) {
    if (::flock(file.get(), LOCK_SH | LOCK_NB) == 0) {
        return false;
    }
    if (errno != EWOULDBLOCK) {
        throw_errno("cannot ask for the lock on the contact file " + path, errno,
                    "Choose a folder on another file system as the option directory");
    }
    return true;
}

/// This host's folder XDG_RUNTIME_DIR may be that of a login that is gone, or, after `su`, that of
/// another user. FLUVIAL_DIRECTORY is the user's word: where it is wrong, nothing else is taken,
/// which jobs on other hosts would not find.
bool is_usable(const char* variable, const char* folder) {
    struct stat status{};
    return std::string_view(variable) != "XDG_RUNTIME_DIR" ||
           (::stat(folder, &status) == 0 && status.st_uid == ::geteuid());
}

void start_sodium() {
    if (sodium_init() < 0) {
        throw SystemError("libsodium cannot be initialised");
    }
}

}  // namespace

std::string hostname() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

std::string contact_path(const std::string& directory, const std::string& name) {
    std::string folder = directory;
    for (const char* variable : {"FLUVIAL_DIRECTORY", "XDG_RUNTIME_DIR"}) {
        const char* value = std::getenv(variable);
        if (folder.empty() && value != nullptr && value[0] != '\0' && is_usable(variable, value)) {
            folder = value;
        }
    }
    return (folder.empty() ? "." : folder) + "/" + name + ".fluvial";
}

bool is_on_this_host(const Contact& contact) {
    return contact.boot_id == boot_id() &&
           (contact.network_namespace.empty() || contact.network_namespace == network_namespace());
}

bool is_listening(const Contact& contact) {
    return !contact.endpoints.empty() || !contact.names.empty();
}

void check_reachable(const Contact& contact) {
    constexpr const char* remedy =
        "Give the writer a network (option network, or FLUVIAL_NETWORK), or start the reader on "
        "the writer's host";
    if (is_listening(contact) || is_on_this_host(contact)) {
        return;
    }
    const std::string booted = boot_id();
    if (contact.boot_id != booted) {
        throw Error(Problem{"the writer runs on another host, and listens on no network",
                            text(contact.host, " (boot ", contact.boot_id.substr(0, 8), ")"),
                            text(hostname(), " (boot ", booted.substr(0, 8), ")"), remedy});
    }
    throw Error(Problem{
        "the writer runs in another network namespace (another container) of this host, and "
        "listens on no network",
        text(contact.network_namespace, " of process ", contact.pid, " on ", contact.host),
        text(network_namespace(), ", this process's"), remedy});
}

Contact new_contact() {
    start_sodium();
    Contact contact;
    contact.host = hostname();
    contact.boot_id = boot_id();
    contact.network_namespace = network_namespace();
    contact.pid = ::getpid();
    contact.socket = "fluvial-" + random_hex(16);
    randombytes_buf(contact.key.data(), contact.key.size());
    return contact;
}

std::string format_contact(const Contact& contact) {
    std::string all = text(first_line, '\n', fields_of(contact, ""));
    int number = 0;
    for (const Contact& other : contact.others) {
        all += fields_of(other, prefix_of(++number));
    }
    return text(all, "key=", hex(contact.key.data(), contact.key.size()), "\nend\n");
}

Contact contact_from_text(const std::string& words) {
    start_sodium();
    std::string lines = words;
    std::erase(lines, '\r');  // of a text from another system
    try {
        const bool several = lines.find('\n') != std::string::npos;
        if (auto contact = several ? parse("the option contact", lines) : std::nullopt) {
            return std::move(*contact);
        }
    } catch (const Error& error) {
        throw InvalidArgument(error.what());
    }
    throw InvalidArgument(
        Problem{"this is no contact of a writer", words.substr(0, 40),
                "what the writer's property contact says, whole, or HOST:PORT, where a "
                "writer with the same FLUVIAL_KEY gives it",
                ""});
}

Bytes encode_contact(const Contact& contact) {
    const std::string all = format_contact(contact);
    const auto bytes = std::as_bytes(std::span(all));
    return {bytes.begin(), bytes.end()};
}

Contact decode_contact(std::span<const std::byte> bytes) {
    const auto* first = reinterpret_cast<const char*>(bytes.data());
    return *parse("the contact of another rank", std::string(first, bytes.size()));
}

std::optional<Contact> parse_contact(const std::string& path, const host::Descriptor& file) {
    return parse(path, content_of(file.get()));
}

std::optional<Contact> read_contact(const std::string& path) {
    start_sodium();
    const auto folder = ContactFolder::of(path);
    const auto file = folder ? folder->open_file(OwnedBy::ThisUserOrRoot, O_RDONLY) : std::nullopt;
    if (!file) {
        return std::nullopt;
    }
    const auto contact = parse_contact(path, *file);
    const bool locked = is_locked(*file, path);
    if (!folder->names(*file)) {
        return std::nullopt;  // an orderly end removed it just now
    }
    if (locked && contact) {
        return contact;
    }
    if (locked) {
        return std::nullopt;  // a writer of another version is about to write it
    }
    if (!contact) {
        throw StaleContact(Problem{"the contact file is empty or cut short, and no writer has it",
                                   path, "",
                                   "Start the writer again (it takes the file over), or remove "
                                   "the file"});
    }
    if (contact->boot_id != boot_id() && contact->host != hostname()) {
        return contact;  // a lock on another host need not be known here
    }
    if (contact->boot_id == boot_id() && host::runs(contact->pid)) {
        return contact;  // a copy of a living writer's file; if it is another process, none answers
    }
    throw StaleContact(
        Problem{"the contact file was left behind by a writer that is dead",
                text(path, " of process ", contact->pid), "",
                "Start the writer again (it takes the file over), or remove the file"});
}

}  // namespace fluvial::stage
