// SPDX-License-Identifier: Apache-2.0
/// round-robin: chunk i goes to reader i mod n, whole. Alignment is perfect; balance and locality
/// are left to chance (Poeschel et al. 2021, section 3.2).
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class RoundRobin final : public Strategy {
  public:
    std::string describe() const override { return "round-robin"; }
    Distribution assign(const Request& request) const override {
        Distribution out;
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            give(out, static_cast<int>(i % request.readers.size()), request.chunks[i].region, i);
        }
        return out;
    }
    Bounds bounds(const Request& request) const override {
        const Index chunks = static_cast<Index>(request.chunks.size());
        return {Bounds::none, chunks, fair_share(chunks, request.readers.size())};
    }
};

}  // namespace

Registration register_round_robin() {
    return {"round-robin",
            "chunks in turn, whole",
            [](Arguments&) -> StrategyPtr { return std::make_shared<RoundRobin>(); },
            {"round-robin"}};
}

}  // namespace fluvial::distribute
