// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/proof.hpp"

#include <algorithm>

#include <sodium.h>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {

static_assert(key_bytes == crypto_auth_KEYBYTES);
static_assert(proof_bytes == crypto_auth_BYTES);

Nonce new_nonce() {
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

Proof prove(const Key& key, Side side, const Nonce& client, const Nonce& server) {
    std::array<unsigned char, 1 + 2 * nonce_bytes> message{};
    message[0] = static_cast<unsigned char>(side);
    std::copy(client.begin(), client.end(), message.begin() + 1);
    std::copy(server.begin(), server.end(), message.begin() + 1 + nonce_bytes);
    Proof proof;
    crypto_auth(proof.data(), message.data(), message.size(), key.data());
    return proof;
}

void check_proof(const Proof& got, const Proof& expected) {
    if (sodium_memcmp(got.data(), expected.data(), got.size()) != 0) {
        throw Refused(
            Problem{"the key of the contact file is not the writer's", "a wrong proof", "",
                    "The file was changed, or belongs to an earlier writer: read it again"});
    }
}

}  // namespace fluvial::stage
