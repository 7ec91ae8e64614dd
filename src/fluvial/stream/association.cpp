// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/association.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/base/hash.hpp"

namespace fluvial::stream {

namespace {

/// Consumers with the number of producers that they have so far.
class Loads {
  public:
    explicit Loads(const std::vector<Member>& members) : members_(members) {
        int producers = 0;
        for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
            if (consumes(members[static_cast<std::size_t>(rank)].role)) consumers_.push_back(rank);
            producers += produces(members[static_cast<std::size_t>(rank)].role) ? 1 : 0;
        }
        loads_.assign(consumers_.size(), 0);
        const int n = static_cast<int>(consumers_.size());
        load_max_ = n == 0 ? 0 : (producers + n - 1) / n;
    }

    /// Gives the producer to the least loaded consumer that `serves` and has a place left; -1 when
    /// there is none.
    template <class Serves>
    int place(const Serves& serves) {
        std::size_t best = consumers_.size();
        for (std::size_t i = 0; i < consumers_.size(); ++i) {
            if (loads_[i] >= load_max_ || !serves(consumers_[i])) continue;
            if (best == consumers_.size() || loads_[i] < loads_[best]) best = i;
        }
        if (best == consumers_.size()) return -1;
        ++loads_[best];
        return consumers_[best];
    }

  private:
    const std::vector<Member>& members_;
    std::vector<int> consumers_;
    std::vector<int> loads_;
    int load_max_ = 0;
};

}  // namespace

std::vector<int> nearest_consumers(const std::vector<Member>& members) {
    Loads loads(members);
    std::vector<int> consumer(members.size(), -1);
    const auto each_unplaced = [&](const auto& serves) {
        for (std::size_t rank = 0; rank < members.size(); ++rank) {
            if (!produces(members[rank].role) || consumer[rank] >= 0) continue;
            consumer[rank] =
                loads.place([&](int at) { return serves(static_cast<int>(rank), at); });
        }
    };
    each_unplaced([](int producer, int at) { return producer == at; });
    each_unplaced([&](int producer, int at) {
        return members[static_cast<std::size_t>(producer)].host ==
               members[static_cast<std::size_t>(at)].host;
    });
    each_unplaced([](int, int) { return true; });
    return consumer;
}

Association Association::by_key(std::size_t offset, std::size_t length) {
    return {Kind::Choice, [offset, length](std::span<const std::byte> element) {
                if (offset > element.size() || length > element.size() - offset) {
                    throw InvalidArgument(Problem{
                        "the key leaves the element", text(length, " bytes from byte ", offset),
                        text("inside its ", element.size(), " bytes"), ""});
                }
                return hash_of(element.subspan(offset, length));
            }};
}

}  // namespace fluvial::stream
