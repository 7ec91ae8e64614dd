// SPDX-License-Identifier: Apache-2.0
/// The contact file: how a reader finds a stream by its name, and the key without which no process
/// can attach. Mode 0600.
///
/// The writer holds a lock on the file as long as it lives, so a file that is not locked is stale,
/// whatever killed its writer: no time-out is needed to know it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/host/memory_file.hpp"
#include "fluvial/move/tcp_socket.hpp"
#include "fluvial/stage/contact_folder.hpp"

namespace fluvial::stage {

inline constexpr std::size_t key_bytes = 32;
using Key = std::array<unsigned char, key_bytes>;

struct Contact {
    std::string host;
    std::string boot_id;  ///< of the host's kernel: tells two hosts of one name, or a reboot, apart
    /// To which the socket belongs: it cannot be reached from another one.
    std::string network_namespace;
    int pid = 0;
    std::string socket;  ///< address of the writer's abstract socket
    Key key{};
    /// Where readers on other hosts may connect; none: nowhere.
    std::vector<move::Endpoint> endpoints{};
    /// The same by the host's name, for where these addresses are not, or no longer, its own.
    std::vector<move::Endpoint> names{};
    /// The writer's ranks on that host; empty: all of them.
    std::vector<int> ranks{};
    /// Of a writer on several hosts: the others.
    std::vector<Contact> others{};
};

/// "DIRECTORY/NAME.fluvial"; `directory` empty: FLUVIAL_DIRECTORY, XDG_RUNTIME_DIR or ".", the
/// first that is set.
std::string contact_path(const std::string& directory, const std::string& name);

/// Of this host; what Contact::host is on it.
std::string hostname();

/// A fresh contact with random socket address and key for this process on this host.
Contact new_contact();

/// The published file; removed on destruction. It appears under its name complete and locked, or
/// not at all: what cannot be written leaves nothing behind. The file of a dead writer of this user
/// is replaced; for one of a living writer this is an InvalidArgument that names the process, also
/// when several writers come at the same time. Refused when the folder, or what has the file's
/// name, is another user's.
class PublishedContact {
  public:
    PublishedContact(const std::string& path, const Contact& contact);
    ~PublishedContact();
    PublishedContact(const PublishedContact&) = delete;
    PublishedContact& operator=(const PublishedContact&) = delete;

  private:
    ContactFolder folder_;
    host::Descriptor lock_;
};

/// The contact of a writer that lives, as far as that is known on this host; none when there is no
/// file (yet). Throws StaleContact when the file's writer is dead, Refused when this user may not
/// read the file or should not trust it.
std::optional<Contact> read_contact(const std::string& path);

/// This process can share memory with the writer's ranks on the first host.
bool is_on_this_host(const Contact& contact);
/// The writer's ranks there can be reached over a network.
bool is_listening(const Contact& contact);
/// Throws Error, which says what there is instead, when the writer can be reached neither through
/// memory nor over a network.
void check_reachable(const Contact& contact);

/// Of format_contact's words. Throws InvalidArgument when they are none.
Contact contact_from_text(const std::string& words);
/// Between ranks of the writer, with the key.
Bytes encode_contact(const Contact& contact);
Contact decode_contact(std::span<const std::byte> bytes);

/// What a contact file says; none when it is empty or cut short. Throws Error, naming `path`, for
/// anything else.
std::optional<Contact> parse_contact(const std::string& path, const host::Descriptor& file);
std::string format_contact(const Contact& contact);

}  // namespace fluvial::stage
