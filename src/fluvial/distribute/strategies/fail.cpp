// SPDX-License-Identifier: Apache-2.0
/// fail: nothing gets a reader, so that assign() throws when anything reaches it. A fallback that
/// says what would be without one, too.
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class Fail final : public Strategy {
  public:
    std::string describe() const override { return "fail"; }
    Distribution assign(const Request& request) const override {
        Distribution out;
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            out.left.push_back({request.chunks[i].region, i});
        }
        return out;
    }
    Bounds bounds(const Request&) const override { return {0, 0, 0}; }
};

}  // namespace

Registration register_fail() {
    return {"fail",
            "an error if anything is left",
            [](Arguments&) -> StrategyPtr { return std::make_shared<Fail>(); },
            {"fail"},
            false};
}

}  // namespace fluvial::distribute
