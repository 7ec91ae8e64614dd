// SPDX-License-Identifier: Apache-2.0
/// Seals the messages of one direction of a connection, so that they cannot be read, changed, left
/// out, repeated or moved without being noticed. Each direction of each connection has a new key.
///
/// | cipher             | where                                    | from                    |
/// |--------------------|------------------------------------------|-------------------------|
/// | AES-256-GCM        | both CPUs have instructions for it, and  | OpenSSL's libcrypto     |
/// |                    | both sides are built with OpenSSL        |                         |
/// | XChaCha20-Poly1305 | else                                     | libsodium, secretstream |
///
/// A nonce of AES-256-GCM is the number of the message, so that none is used twice under one key;
/// after 64 GiB the key is replaced by a hash of itself. secretstream does as much by itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fluvial::move {

/// Bytes as libsodium and OpenSSL take them.
inline const unsigned char* unsigned_chars(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* unsigned_chars(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

/// Bits of what a side offers; the larger one that both offer is used.
enum class Cipher : std::uint8_t { XChaCha20 = 1, Aes256Gcm = 2 };

/// Those that this process can use, by the CPU and by what it was built with.
std::uint8_t offered_ciphers();
/// The one to use among those that both sides offer. Throws Error where there is none.
Cipher chosen_cipher(std::uint8_t offered_here, std::uint8_t offered_there);
/// "AES-256-GCM", "XChaCha20-Poly1305".
const char* name_of(Cipher cipher);

using CipherKey = std::array<unsigned char, 32>;
/// What the side that seals says beside its key, once.
inline constexpr std::size_t cipher_head_bytes = 24;
using CipherHead = std::array<unsigned char, cipher_head_bytes>;
/// How much longer a message is when it is sealed.
inline constexpr std::size_t seal_bytes = 17;
/// After so many a key of AES-256-GCM is replaced.
inline constexpr std::uint64_t bytes_of_key_max = std::uint64_t{64} << 30;

class MessageCipher {
  public:
    virtual ~MessageCipher() = default;
    /// Writes message.size() + seal_bytes bytes.
    virtual void seal(std::span<const std::byte> message, std::byte* to) = 0;
    /// Writes sealed.size() - seal_bytes bytes; false where the message is not the one that comes
    /// next, as it was sealed.
    virtual bool open(std::span<const std::byte> sealed, std::byte* to) = 0;
};

/// Of the side that sends; makes the head.
std::unique_ptr<MessageCipher> make_sealing(Cipher cipher, const CipherKey& key, CipherHead& head,
                                            std::uint64_t bytes_max = bytes_of_key_max);
/// Of the side that receives. Throws Error for a head that makes no sense.
std::unique_ptr<MessageCipher> make_opening(Cipher cipher, const CipherKey& key,
                                            const CipherHead& head,
                                            std::uint64_t bytes_max = bytes_of_key_max);

}  // namespace fluvial::move
