// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/message_cipher.hpp"

#include <algorithm>
#include <cstring>

#include <sodium.h>
#ifdef FLUVIAL_WITH_OPENSSL
#include <openssl/evp.h>
#endif

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

static_assert(cipher_head_bytes == crypto_secretstream_xchacha20poly1305_HEADERBYTES);
static_assert(seal_bytes == crypto_secretstream_xchacha20poly1305_ABYTES);
static_assert(CipherKey().size() == crypto_secretstream_xchacha20poly1305_KEYBYTES);

class XChaCha20 final : public MessageCipher {
  public:
    XChaCha20(const CipherKey& key, CipherHead& head) {
        crypto_secretstream_xchacha20poly1305_init_push(&state_, head.data(), key.data());
    }
    XChaCha20(const CipherKey& key, const CipherHead& head) {
        if (crypto_secretstream_xchacha20poly1305_init_pull(&state_, head.data(), key.data()) !=
            0) {
            throw Error("the head of another side's cipher makes no sense");
        }
    }
    XChaCha20(const XChaCha20&) = delete;
    XChaCha20& operator=(const XChaCha20&) = delete;
    ~XChaCha20() override { sodium_memzero(&state_, sizeof state_); }

    void seal(std::span<const std::byte> message, std::byte* to) override {
        crypto_secretstream_xchacha20poly1305_push(&state_, unsigned_chars(to), nullptr,
                                                   unsigned_chars(message), message.size(), nullptr,
                                                   0, 0);
    }
    bool open(std::span<const std::byte> sealed, std::byte* to) override {
        unsigned char tag = 0;
        return crypto_secretstream_xchacha20poly1305_pull(&state_, unsigned_chars(to), nullptr,
                                                          &tag, unsigned_chars(sealed),
                                                          sealed.size(), nullptr, 0) == 0;
    }

  private:
    crypto_secretstream_xchacha20poly1305_state state_{};
};

#ifdef FLUVIAL_WITH_OPENSSL

class Aes256Gcm final : public MessageCipher {
  public:
    enum class Way { Seal, Open };

    Aes256Gcm(const CipherKey& key, const CipherHead& head, Way way, std::uint64_t bytes_max)
        : key_(key), way_(way), bytes_max_(bytes_max), context_(EVP_CIPHER_CTX_new()) {
        check(context_ != nullptr ? 1 : 0);
        std::copy_n(head.begin(), prefix_bytes, nonce_.begin());
        use_key();
    }
    Aes256Gcm(const Aes256Gcm&) = delete;
    Aes256Gcm& operator=(const Aes256Gcm&) = delete;
    ~Aes256Gcm() override { sodium_memzero(key_.data(), key_.size()); }

    void seal(std::span<const std::byte> message, std::byte* to) override {
        begin(message.size());
        std::byte* const tag = crypt(message, to);
        int none = 0;
        check(EVP_EncryptFinal_ex(context_.get(), unsigned_chars(tag), &none));
        check(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, tag_bytes, tag));
        tag[tag_bytes] = std::byte{0};  // seals of all ciphers are of one length
    }
    bool open(std::span<const std::byte> sealed, std::byte* to) override {
        const auto message = sealed.first(sealed.size() - seal_bytes);
        std::array<std::byte, tag_bytes> tag;
        std::copy_n(sealed.data() + message.size(), tag_bytes, tag.begin());
        if (sealed.back() != std::byte{0}) {
            return false;
        }
        begin(message.size());
        std::byte* const end = crypt(message, to);
        check(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_SET_TAG, tag_bytes, tag.data()));
        int none = 0;
        return EVP_DecryptFinal_ex(context_.get(), unsigned_chars(end), &none) == 1;
    }

  private:
    static constexpr int tag_bytes = 16;
    static constexpr std::size_t prefix_bytes = 4, nonce_bytes = 12;
    static constexpr std::uint64_t messages_of_key_max = std::uint64_t{1} << 32;

    struct Free {
        void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
    };
    static void check(int result) {
        if (result != 1) {
            throw Error("OpenSSL cannot encrypt by AES-256-GCM");
        }
    }
    void use_key() {
        check(EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, key_.data(), nullptr,
                                way_ == Way::Seal ? 1 : 0));
    }
    /// With the nonce of the next message.
    void begin(std::size_t bytes) {
        if (bytes_ > bytes_max_ || messages_ == messages_of_key_max) {
            CipherKey next;
            crypto_generichash(next.data(), next.size(), key_.data(), key_.size(), nullptr, 0);
            key_ = next;
            sodium_memzero(next.data(), next.size());
            bytes_ = messages_ = 0;
            use_key();
        }
        std::memcpy(nonce_.data() + prefix_bytes, &messages_, sizeof messages_);
        check(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce_.data(), -1));
        bytes_ += bytes;
        ++messages_;
    }
    /// In pieces that an int can count; where the last byte ends.
    std::byte* crypt(std::span<const std::byte> from, std::byte* to) {
        constexpr std::size_t at_a_time = std::size_t{1} << 30;
        while (!from.empty()) {
            const std::size_t bytes = std::min(from.size(), at_a_time);
            int done = 0;
            check(EVP_CipherUpdate(context_.get(), unsigned_chars(to), &done, unsigned_chars(from),
                                   static_cast<int>(bytes)));
            from = from.subspan(bytes);
            to += bytes;
        }
        return to;
    }

    CipherKey key_;
    Way way_;
    std::uint64_t bytes_max_;
    std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
    std::array<unsigned char, nonce_bytes> nonce_{};
    std::uint64_t messages_ = 0, bytes_ = 0;  ///< under this key
};

#endif

}  // namespace

std::uint8_t offered_ciphers() {
    auto offered = static_cast<std::uint8_t>(Cipher::XChaCha20);
#ifdef FLUVIAL_WITH_OPENSSL
    if (crypto_aead_aes256gcm_is_available() != 0) {
        offered |= static_cast<std::uint8_t>(Cipher::Aes256Gcm);
    }
#endif
    return offered;
}

Cipher chosen_cipher(std::uint8_t offered_here, std::uint8_t offered_there) {
    const unsigned both = unsigned{offered_here} & offered_there;
    for (const Cipher cipher : {Cipher::Aes256Gcm, Cipher::XChaCha20}) {
        if ((both & static_cast<unsigned>(cipher)) != 0) {
            return cipher;
        }
    }
    throw Error(Problem{"the two sides have no cipher in common", text(int{offered_there}),
                        text(int{offered_here}), "Install the same version for both"});
}

const char* name_of(Cipher cipher) {
    return cipher == Cipher::Aes256Gcm ? "AES-256-GCM" : "XChaCha20-Poly1305";
}

std::unique_ptr<MessageCipher> make_sealing(Cipher cipher, const CipherKey& key, CipherHead& head,
                                            [[maybe_unused]] std::uint64_t bytes_max) {
#ifdef FLUVIAL_WITH_OPENSSL
    if (cipher == Cipher::Aes256Gcm) {
        randombytes_buf(head.data(), head.size());
        return std::make_unique<Aes256Gcm>(key, head, Aes256Gcm::Way::Seal, bytes_max);
    }
#endif
    static_cast<void>(cipher);
    return std::make_unique<XChaCha20>(key, head);
}

std::unique_ptr<MessageCipher> make_opening(Cipher cipher, const CipherKey& key,
                                            const CipherHead& head,
                                            [[maybe_unused]] std::uint64_t bytes_max) {
#ifdef FLUVIAL_WITH_OPENSSL
    if (cipher == Cipher::Aes256Gcm) {
        return std::make_unique<Aes256Gcm>(key, head, Aes256Gcm::Way::Open, bytes_max);
    }
#endif
    static_cast<void>(cipher);
    return std::make_unique<XChaCha20>(key, head);
}

}  // namespace fluvial::move
