// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/shared_key.hpp"

#include <cerrno>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/trusted_user.hpp"

namespace fluvial::stage {
namespace {

constexpr const char* make_one =
    "Make one by (umask 077; openssl rand -hex 32 > FILE), and copy it to the other hosts";

/// As ssh has it: what others may read is no secret.
void check_private(const host::Descriptor& file, const std::string& path) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        throw_errno(text("cannot inspect the file of ", shared_key_variable, ", ", path), errno);
    }
    if (!S_ISREG(status.st_mode)) {
        throw InvalidArgument(Problem{text("what ", shared_key_variable, " names is no file"), path,
                                      "a regular file", make_one});
    }
    if (!host::is_trusted_user(status.st_uid)) {
        throw Refused(Problem{text("the file of ", shared_key_variable, " belongs to another user"),
                              text(path, " of ", host::user_name(status.st_uid)),
                              host::trusted_users(), make_one});
    }
    constexpr mode_t permissions = 07777;
    constexpr mode_t of_others = 077;
    if ((status.st_mode & of_others) != 0) {
        std::ostringstream mode;
        mode << std::oct << std::setw(4) << std::setfill('0') << (status.st_mode & permissions);
        throw Refused(Problem{
            text("other users may read or write the file of ", shared_key_variable),
            text(path, " (mode ", mode.str(), ")"), "mode 0600",
            "They may have the key: make another, or, if you know better, chmod 600 " + path});
    }
}

Key key_in(const host::Descriptor& file, const std::string& path) {
    char content[256];
    const ssize_t got = ::read(file.get(), content, sizeof content);
    std::string_view digits(content, got < 0 ? 0 : static_cast<std::size_t>(got));
    while (!digits.empty() && std::string_view(" \r\n").find(digits.back()) != std::string::npos) {
        digits.remove_suffix(1);
    }
    Key key;
    std::size_t bytes = 0;
    const bool good = sodium_hex2bin(key.data(), key.size(), digits.data(), digits.size(), nullptr,
                                     &bytes, nullptr) == 0 &&
                      bytes == key.size();
    const std::size_t length = digits.size();
    sodium_memzero(content, sizeof content);
    if (!good) {
        throw InvalidArgument(Problem{text("the file of ", shared_key_variable, " holds no key"),
                                      text(path, ", of ", length, " characters"),
                                      text(2 * key_bytes, " hexadecimal digits"), make_one});
    }
    return key;
}

}  // namespace

std::optional<Key> shared_key(const std::string& stream) {
    const char* path = std::getenv(shared_key_variable);
    if (path == nullptr || *path == '\0') {
        return std::nullopt;
    }
    if (sodium_init() < 0) {
        throw SystemError("libsodium cannot be initialised");
    }
    const host::Descriptor file(::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file.valid()) {
        throw_errno(text("cannot open the file of ", shared_key_variable, ", ", path), errno,
                    make_one);
    }
    check_private(file, path);
    Key all = key_in(file, path);
    Key key;
    const std::string named = "fluvial stream " + stream;
    crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(named.data()),
                       named.size(), all.data(), all.size());
    sodium_memzero(all.data(), all.size());
    return key;
}

}  // namespace fluvial::stage
