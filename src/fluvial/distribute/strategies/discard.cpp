// SPDX-License-Identifier: Apache-2.0
/// discard: nothing gets a reader, on purpose; Distribution::discarded says what that was.
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class Discard final : public Strategy {
  public:
    std::string describe() const override { return "discard"; }
    Distribution assign(const Request& request) const override {
        Distribution out;
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            out.discarded.push_back({request.chunks[i].region, i});
        }
        return out;
    }
    Bounds bounds(const Request&) const override { return {0, 0, 0}; }
};

}  // namespace

Registration register_discard() {
    return {"discard",
            "what is left is dropped, and reported as such",
            [](Arguments&) -> StrategyPtr { return std::make_shared<Discard>(); },
            {"discard", "by-host(by-socket(binpacking, fallback=discard), fallback=fail)"},
            false};
}

}  // namespace fluvial::distribute
