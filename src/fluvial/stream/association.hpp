// SPDX-License-Identifier: Apache-2.0
/// Which consumer gets which element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/host/file_place.hpp"
#include "fluvial/host/process.hpp"

namespace fluvial::stream {

/// What a rank of a channel does there.
enum class Role : std::uint8_t { None = 0, Producer = 1, Consumer = 2, Both = 3 };
inline bool produces(Role role) {
    return (static_cast<int>(role) & 1) != 0;
}
inline bool consumes(Role role) {
    return (static_cast<int>(role) & 2) != 0;
}

/// What all ranks know of a rank of a channel.
struct Member {
    Role role = Role::None;
    int host = 0;                ///< ranks of one host share memory
    host::Process process;       ///< on that host
    bool traces = false;         ///< was asked for a trace; the first rank's word counts
    host::FilePlace beats = {};  ///< where its heartbeats are
};

/// The consumer (rank in the channel) of each producer; -1 for ranks that produce nothing.
/// Balanced: no consumer gets more than the number of producers over that of consumers, rounded up;
/// within that a producer is served on its own host, and by itself where it is both. Pure: the same
/// on every rank. O(P log P).
std::vector<int> nearest_consumers(const std::vector<Member>& members);

/// Equal on all ranks but for the functions, which must agree in effect.
struct Association {
    enum class Kind : std::uint8_t { Nearest, RoundRobin, MostRoom, Choice };
    /// The number of a consumer (0 to their number - 1; larger values are taken modulo that) from
    /// the bytes of an element.
    using Choose = std::function<std::uint64_t(std::span<const std::byte> element)>;

    /// Each producer has one consumer, nearest_consumers(). The default, and the fastest.
    static Association nearest() { return {}; }
    /// A producer's elements go to all consumers in turn.
    static Association round_robin() { return {Kind::RoundRobin}; }
    /// Each element goes to a consumer whose buffer has room, starting with the one that took the
    /// last: uneven producers and slow consumers balance.
    static Association most_room() { return {Kind::MostRoom}; }
    /// By a hash of `length` bytes of the element from `offset` on: elements with equal keys meet
    /// on one consumer. Throws InvalidArgument for a key of no bytes; a stream is not attached
    /// whose elements do not hold the key.
    static Association by_key(std::size_t offset, std::size_t length);
    /// The same for keys of floating-point numbers of `number_bytes` each, whose sign is the
    /// highest bit of byte `sign_at` of each: -0 equals 0. Throws InvalidArgument unless the key is
    /// whole numbers, one at least, and the sign lies inside of each.
    static Association by_real_key(std::size_t offset, std::size_t length, std::size_t number_bytes,
                                   std::size_t sign_at);
    /// By a function of the element, which ranks know by its name and version.
    static Association by(Choose choose, std::string declared = "a function") {
        return {Kind::Choice, std::move(choose), std::move(declared)};
    }

    /// Where the key lies in an element; of no bytes: there is none.
    struct Key {
        std::size_t offset = 0;
        std::size_t bytes = 0;
    };
    /// Throws InvalidArgument where the key leaves an element of so many bytes.
    static void check_inside(const Key& key, std::size_t element_bytes);

    Kind kind = Kind::Nearest;
    Choose choose = {};
    std::string declared = {};  ///< of Choice: what the function is, in words that ranks compare
    Key key = {};
};

}  // namespace fluvial::stream
