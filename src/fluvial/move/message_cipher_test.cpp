// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/message_cipher.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/connection_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;
using Side = SecureConnection::Side;

namespace {

std::vector<Cipher> ciphers_here() {
    std::vector<Cipher> found;
    for (const Cipher cipher : {Cipher::XChaCha20, Cipher::Aes256Gcm}) {
        if ((offered_ciphers() & static_cast<unsigned>(cipher)) != 0) {
            found.push_back(cipher);
        }
    }
    return found;
}

constexpr std::uint8_t bits(Cipher cipher) {
    return static_cast<std::uint8_t>(cipher);
}

/// Both ends of one direction.
struct Ends {
    explicit Ends(Cipher cipher, std::uint64_t bytes_max = bytes_of_key_max) {
        CipherKey key{};
        key[3] = 7;
        CipherHead head;
        sealing = make_sealing(cipher, key, head, bytes_max);
        opening = make_opening(cipher, key, head, bytes_max);
    }
    Bytes seal(const Bytes& message) const {
        Bytes sealed(message.size() + seal_bytes);
        sealing->seal(message, sealed.data());
        return sealed;
    }
    /// What was sealed, or nothing where it is refused.
    std::optional<Bytes> open(const Bytes& sealed) const {
        Bytes message(sealed.size() - seal_bytes);
        return opening->open(sealed, message.data()) ? std::optional(message) : std::nullopt;
    }
    std::unique_ptr<MessageCipher> sealing, opening;
};

}  // namespace

TEST_CASE("messages are opened in the order in which they were sealed, and are not seen before") {
    for (const Cipher cipher : ciphers_here()) {
        CAPTURE(name_of(cipher));
        const Ends ends(cipher);
        for (const std::size_t bytes : {0, 1, 15, 16, 17, 1000, 300'000, 0, 5}) {
            const Bytes message(bytes, std::byte{5});
            const Bytes sealed = ends.seal(message);
            CHECK(ends.open(sealed) == message);
            CHECK((bytes < 16 || !std::equal(message.begin(), message.end(), sealed.begin())));
            const Bytes again = ends.seal(message);
            CHECK(again != sealed);
            CHECK(ends.open(again) == message);
        }
    }
}

TEST_CASE("what was changed, repeated, left out or sealed under another key is not opened") {
    for (const Cipher cipher : ciphers_here()) {
        CAPTURE(name_of(cipher));
        const Bytes message(40, std::byte{1});
        for (std::size_t bit = 0; bit < 8 * (message.size() + seal_bytes); ++bit) {
            const Ends ends(cipher);
            Bytes sealed = ends.seal(message);
            sealed[bit / 8] ^= std::byte(1 << bit % 8);
            CHECK_FALSE(ends.open(sealed));
        }
        {
            const Ends ends(cipher);
            const Bytes first = ends.seal(message), second = ends.seal(message);
            CHECK_FALSE(ends.open(second));
        }
        {
            const Ends ends(cipher);
            const Bytes first = ends.seal(message);
            CHECK(ends.open(first));
            CHECK_FALSE(ends.open(first));
        }
        {
            const Ends ends(cipher);
            Bytes sealed = ends.seal(message);
            sealed.erase(sealed.begin());
            CHECK_FALSE(ends.open(sealed));
        }
        const Ends one(cipher), other(cipher);  // of one key, but with heads of their own
        CHECK_FALSE(other.open(one.seal(message)));
    }
}

TEST_CASE("keys are replaced on both sides after so many bytes") {
    for (const Cipher cipher : ciphers_here()) {
        const Ends ends(cipher, 1000);
        for (int i = 0; i < 100; ++i) {
            const Bytes message(static_cast<std::size_t>(37 * i), static_cast<std::byte>(i));
            REQUIRE(ends.open(ends.seal(message)) == message);
        }
    }
}

TEST_CASE(
    "two sides use the faster cipher that both have, and none of them is changed on the way") {
    CHECK(chosen_cipher(3, 3) == Cipher::Aes256Gcm);
    CHECK(chosen_cipher(3, 1) == Cipher::XChaCha20);
    CHECK(chosen_cipher(1, 0xff) == Cipher::XChaCha20);
    CHECK_THROWS_AS(static_cast<void>(chosen_cipher(1, 2)), Error);
    for (const std::uint8_t here : {bits(Cipher::XChaCha20), offered_ciphers()}) {
        for (const std::uint8_t there : {bits(Cipher::XChaCha20), offered_ciphers()}) {
            Sockets sockets;
            SecureConnection client(std::move(sockets.client), a_key(), Side::Client, here);
            SecureConnection server(std::move(sockets.server), a_key(), Side::Server, there);
            shake_hands(client, server);
            CHECK(client.cipher() == chosen_cipher(here, there));
            CHECK(server.cipher() == client.cipher());
            const Bytes message(1000, std::byte{3});
            client.post(message);
            server.post(message);
            CHECK(next_message(client, server) == message);
            CHECK(next_message(server, client) == message);
        }
    }
    // Somebody between them takes the faster one out of the offer.
    Sockets outer, inner;
    SecureConnection client(std::move(outer.client), a_key(), Side::Client, 3);
    SecureConnection server(std::move(inner.server), a_key(), Side::Server, 3);
    client.flush();
    Bytes said(1000);
    const auto pass_on = [&](TcpSocket& from, TcpSocket& to, bool change) {
        wait_until(
            [&] {
                server.take();  // and answers
                const std::size_t got = from.read_some(said);
                if (got > 0) {
                    constexpr std::size_t offer_at = 8;
                    if (change) {
                        said[offer_at] = std::byte{1};
                    }
                    to.write_some(std::span(said).first(got));
                }
                return got > 0;
            },
            Deadline(10), "nothing was said");
    };
    pass_on(outer.server, inner.client, true);
    pass_on(inner.client, outer.server, false);
    CHECK_THROWS_AS(wait_until(
                        [&] {
                            client.take();
                            return false;
                        },
                        Deadline(10), "not refused"),
                    Refused);
}
