// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/served_contact.hpp"

#include <algorithm>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/move/host_name.hpp"
#include "fluvial/stage/remote_messages.hpp"
#include "fluvial/stage/shared_key.hpp"
#include "fluvial/store/engines.hpp"

namespace fluvial::stage {
namespace {

constexpr std::string_view scheme = "fluvial://";
/// For one address, as for those of a contact.
constexpr double reply_timeout_s = 3;

[[noreturn]] void throw_no_address(const std::string& name, const std::string& remedy) {
    throw InvalidArgument(Problem{"this is no address of a stream", "'" + name.substr(0, 80) + "'",
                                  "'fluvial://HOST:PORT/NAME'", remedy});
}

/// On another port, or of another stream, there may be a writer that does not have this key.
[[noreturn]] void throw_other_key(const std::string& name, const std::string& at) {
    throw Refused(Problem{
        text("what answers there does not have the key of the stream '", name, "'"), at,
        text("its writer, started with the same ", shared_key_variable),
        text("Look whether the host, the port and the name are the writer's, and whether the files "
             "of ",
             shared_key_variable, " are the same on both sides")});
}

Contact served_by(move::SecureConnection& connection) {
    ByteWriter out;
    out.put(FromReader::Contact);
    connection.post(out.view());
    const Bytes reply = first_reply(connection, Deadline(reply_timeout_s));
    ByteReader in(reply);
    if (in.get<FromWriter>() != FromWriter::Contact) {
        throw Error(
            "the writer's host answers what makes no sense; install the same version of Fluvial "
            "for both jobs");
    }
    return decode_contact(in.get_vector<std::byte>());
}

}  // namespace

void take_address(std::string& name, ReaderOptions& options) {
    if (!store::names_address(name)) {
        return;
    }
    if (!options.contact.empty()) {
        throw InvalidArgument(Problem{"there are two contacts",
                                      "the option contact, and '" + name.substr(0, 80) + "'",
                                      "one of them", ""});
    }
    const auto slash = name.find('/', scheme.size());
    if (slash == std::string::npos) {
        throw_no_address(name, "Name the stream behind the port");
    }
    const std::string at = name.substr(scheme.size(), slash - scheme.size());
    try {
        move::endpoint_by_name(at);
    } catch (const InvalidArgument& error) {
        throw_no_address(name, error.what());
    }
    name.erase(0, slash + 1);
    options.contact = at;
}

bool is_served(const ReaderOptions& options) {
    if (options.contact.empty() || options.contact.find('\n') != std::string::npos) {
        return false;
    }
    try {
        move::endpoint_by_name(options.contact);
        return true;
    } catch (const InvalidArgument&) {
        return false;
    }
}

std::optional<Contact> ask_for_contact(const std::string& name, const ReaderOptions& options,
                                       std::string& why) {
    const move::Endpoint at = move::endpoint_by_name(options.contact);
    const auto key = shared_key(name);
    if (!key) {
        throw InvalidArgument(
            Problem{text("the contact of '", name, "' at ", options.contact,
                         " is given only to a process that has its key"),
                    text("no ", shared_key_variable), "the path of a file that the writer has, too",
                    "Make one by (umask 077; openssl rand -hex 32 > FILE), and copy it to all "
                    "hosts"});
    }
    Contact asked;
    asked.host = at.address;
    asked.key = *key;
    for (const move::Endpoint& endpoint : move::resolved(at, Deadline(reply_timeout_s), why)) {
        try {
            auto connection =
                connect_to(asked, options.stall_timeout_s, endpoint, Deadline(reply_timeout_s));
            Contact contact = served_by(connection);
            if (std::ranges::find(contact.endpoints, endpoint) == contact.endpoints.end()) {
                contact.endpoints = {endpoint};  // its own addresses are others from here
            }
            return contact;
        } catch (const Refused&) {
            throw_other_key(name, text_of(endpoint));
        } catch (const PeerLost& error) {
            why = error.what();
        } catch (const TimedOut&) {
            why = "no reply";
        }
    }
    return std::nullopt;
}

}  // namespace fluvial::stage
