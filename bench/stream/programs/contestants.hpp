// SPDX-License-Identifier: Apache-2.0
/// The contestants by name.
#pragma once

#include <memory>
#include <string>

#include "bare_messages.hpp"
#include "bare_ring.hpp"
#include "past_caches.hpp"
#include "plain.hpp"
#include "seed_scheme.hpp"
#include "with_fluvial.hpp"
#include "words.hpp"

/// The bytes of NAME/KIBIBYTES.
inline std::size_t kibibytes_behind_slash(const std::string& name) {
    return std::stoul(name.substr(name.find('/') + 1)) << 10;
}

inline std::unique_ptr<Contestant> make_contestant(const std::string& name, const Roles& roles,
                                                   const Words& words) {
    if (name == "seed") {
        return std::make_unique<SeedScheme>(roles);
    }
    if (name == "send-recv") {
        return std::make_unique<SendRecv>(roles);
    }
    if (name == "windowed") {
        return std::make_unique<Windowed>(roles, false);
    }
    if (name == "windowed-worked") {
        return std::make_unique<Windowed>(roles, true);
    }
    if (name == "ping-pong") {
        return std::make_unique<PingPong>(roles);
    }
    if (name == "memcpy") {
        return std::make_unique<Memcpy>(roles);
    }
    if (name == "limit") {
        return std::make_unique<Limit>(roles);
    }
    if (name == "past-caches") {
        return std::make_unique<PastCaches>(roles);
    }
    // A bare exchange has its memory in KiB behind the slash.
    if (name.starts_with("bare-messages/")) {
        return std::make_unique<BareMessages>(roles, kibibytes_behind_slash(name));
    }
    if (name.starts_with("bare-ring/")) {
        return std::make_unique<BareRing>(roles, kibibytes_behind_slash(name));
    }
    // GIVING-TAKING or GIVING-TAKING/messages
    const std::size_t slash = std::min(name.find('/'), name.size());
    const std::size_t dash = std::min(name.find('-'), slash);
    const std::string giving = name.substr(0, dash);
    const std::string taking = name.substr(std::min(dash + 1, slash), slash - dash - 1);
    const std::string rest = name.substr(slash);
    const bool known = (giving == "put" || giving == "many" || giving == "place") &&
                       (taking == "each" || taking == "batch") &&
                       (rest.empty() || rest == "/messages");
    if (known) {
        return std::make_unique<WithFluvial>(roles,
                                             giving == "put"    ? Giving::One
                                             : giving == "many" ? Giving::Many
                                                                : Giving::InPlace,
                                             taking == "each" ? Taking::Each : Taking::Batch,
                                             rest.empty(), words);
    }
    throw std::invalid_argument("no contestant '" + name + "'");
}
