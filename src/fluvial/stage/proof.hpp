// SPDX-License-Identifier: Apache-2.0
/// The proof that one side of a handshake knows the key; of concern to handshake.cpp and
/// applicant.cpp.
#pragma once

#include "fluvial/stage/handshake.hpp"

namespace fluvial::stage {

enum class Side : unsigned char { Client = 'c', Server = 's' };

Nonce new_nonce();

/// Under `key`, of both sides' nonces. `side` keeps a proof of one from being played back as the
/// other's.
Proof prove(const Key& key, Side side, const Nonce& client, const Nonce& server);

/// Throws Refused unless the two are equal; takes as long whether they are or not.
void check_proof(const Proof& got, const Proof& expected);

}  // namespace fluvial::stage
