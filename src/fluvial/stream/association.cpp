// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/association.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "fluvial/base/error.hpp"
#include "fluvial/base/hash.hpp"

namespace fluvial::stream {

namespace {

/// A consumer with the number of producers that it has so far.
struct Load {
    int producers = 0;
    int consumer = 0;

    friend bool operator>(const Load& a, const Load& b) {
        return a.producers != b.producers ? a.producers > b.producers : a.consumer > b.consumer;
    }
};

/// Consumers that share producers: the least loaded one first, the lower rank of two alike.
class Group {
  public:
    void add(const Load& load) { loads_.push(load); }
    /// Takes a place of the least loaded consumer; -1 when each has `load_max`.
    int place(int load_max) {
        if (loads_.empty() || loads_.top().producers >= load_max) {
            return -1;
        }
        Load least = loads_.top();
        loads_.pop();
        ++least.producers;
        loads_.push(least);
        return least.consumer;
    }

  private:
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads_;
};

int load_max_of(const std::vector<Member>& members) {
    int producers = 0;
    int consumers = 0;
    for (const Member& member : members) {
        producers += produces(member.role) ? 1 : 0;
        consumers += consumes(member.role) ? 1 : 0;
    }
    return consumers == 0 ? 0 : (producers + consumers - 1) / consumers;
}

std::span<const std::byte> key_of(std::span<const std::byte> element, const Association::Key& key) {
    Association::check_inside(key, element.size());
    return element.subspan(key.offset, key.bytes);
}

/// Of no bytes, all keys would be equal, and all elements go to one consumer.
Association::Key checked(std::size_t offset, std::size_t length) {
    if (length == 0) {
        throw InvalidArgument(Problem{"a key has no bytes", text("0 bytes from byte ", offset),
                                      "1 byte or more",
                                      "Say how many bytes of an element are the key"});
    }
    return {offset, length};
}

Association with_key(Association association, const Association::Key& key) {
    association.key = key;
    return association;
}

void check_numbers(std::size_t length, std::size_t number_bytes, std::size_t sign_at) {
    if (number_bytes == 0 || length % number_bytes != 0) {
        throw InvalidArgument(Problem{
            "a key of floating-point numbers is not a whole number of them",
            text(length, " bytes, of numbers of ", number_bytes),
            "1 byte or more for a number, and a multiple of that for the key",
            "Pass the size of one number, 8 of a double, and that of all that make the key"});
    }
    if (sign_at >= number_bytes) {
        throw InvalidArgument(Problem{"the sign of a number in a key lies outside of it",
                                      text("byte ", sign_at), text("0 to ", number_bytes - 1),
                                      "Pass the byte of each number that holds its sign: the last "
                                      "one where the lowest byte comes first"});
    }
}

}  // namespace

std::vector<int> nearest_consumers(const std::vector<Member>& members) {
    const int load_max = load_max_of(members);
    std::vector<int> consumer(members.size(), -1);
    std::vector<int> loads(members.size(), 0);
    for (std::size_t rank = 0; rank < members.size(); ++rank) {
        if (members[rank].role != Role::Both) {
            continue;
        }
        consumer[rank] = static_cast<int>(rank);
        loads[rank] = 1;
    }
    // A rank that waits for a place finds it in the group of its host, then in that of all.
    const auto place = [&](const auto& group_of) {
        std::unordered_map<int, Group> groups;
        for (std::size_t rank = 0; rank < members.size(); ++rank) {
            if (!consumes(members[rank].role)) {
                continue;
            }
            groups[group_of(members[rank])].add({loads[rank], static_cast<int>(rank)});
        }
        for (std::size_t rank = 0; rank < members.size(); ++rank) {
            if (!produces(members[rank].role) || consumer[rank] >= 0) {
                continue;
            }
            consumer[rank] = groups[group_of(members[rank])].place(load_max);
            if (consumer[rank] >= 0) {
                ++loads[static_cast<std::size_t>(consumer[rank])];
            }
        }
    };
    place([](const Member& member) { return member.host; });
    place([](const Member&) { return 0; });
    return consumer;
}

void Association::check_inside(const Key& key, std::size_t element_bytes) {
    if (key.offset > element_bytes || key.bytes > element_bytes - key.offset) {
        throw InvalidArgument(Problem{"the key leaves the element",
                                      text(key.bytes, " bytes from byte ", key.offset),
                                      text("inside its ", element_bytes, " bytes"), ""});
    }
}

Association Association::by_key(std::size_t offset, std::size_t length) {
    const Key key = checked(offset, length);
    const auto choose = [key](std::span<const std::byte> element) {
        return hash_of(key_of(element, key));
    };
    return with_key(by(choose, text("a key of ", length, " bytes at byte ", offset)), key);
}

Association Association::by_real_key(std::size_t offset, std::size_t length,
                                     std::size_t number_bytes, std::size_t sign_at) {
    check_numbers(length, number_bytes, sign_at);
    const Key place = checked(offset, length);
    const auto choose = [=](std::span<const std::byte> element) {
        const std::span<const std::byte> given = key_of(element, place);
        std::vector<std::byte> key(given.begin(), given.end());
        constexpr std::byte sign{0x80};
        for (std::size_t begin = 0; begin < length; begin += number_bytes) {
            const std::span<std::byte> number = std::span(key).subspan(begin, number_bytes);
            const std::byte last = std::exchange(number[sign_at], std::byte{0});
            const bool zero =
                std::ranges::all_of(number, [](std::byte b) { return b == std::byte{0}; });
            number[sign_at] = zero && last == sign ? std::byte{0} : last;
        }
        return hash_of(key);
    };
    return with_key(
        by(choose, text("a key of ", length, " bytes at byte ", offset, ", real numbers of ",
                        number_bytes, " bytes, sign in byte ", sign_at)),
        place);
}

}  // namespace fluvial::stream
