// SPDX-License-Identifier: Apache-2.0
/// blocks: consecutive source ranks to each reader, whole chunks. Of w source ranks and n readers,
/// no reader meets more than w / n, rounded up; where there are fewer source ranks than readers
/// they go to readers evenly spread. Balance is that of the writers.
#include <algorithm>

#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

std::vector<int> ranks_of(const Request& request) {  // ascending, each once
    std::vector<int> ranks;
    for (const WrittenChunk& chunk : request.chunks) {
        ranks.push_back(chunk.rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

class Blocks final : public Strategy {
  public:
    std::string describe() const override { return "blocks"; }
    Distribution assign(const Request& request) const override {
        Distribution out;
        const std::vector<int> ranks = ranks_of(request);
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            const auto found = std::lower_bound(ranks.begin(), ranks.end(), request.chunks[i].rank);
            const auto number = static_cast<std::size_t>(found - ranks.begin());
            give(out, static_cast<int>(number * request.readers.size() / ranks.size()),
                 request.chunks[i].region, i);
        }
        return out;
    }
    Bounds bounds(const Request& request) const override {
        return {Bounds::none, static_cast<Index>(request.chunks.size()),
                fair_share(static_cast<Index>(ranks_of(request).size()), request.readers.size())};
    }
};

}  // namespace

Registration register_blocks() {
    return {"blocks",
            "consecutive source ranks, whole chunks",
            [](Arguments&) -> StrategyPtr { return std::make_shared<Blocks>(); },
            {"blocks"}};
}

}  // namespace fluvial::distribute
