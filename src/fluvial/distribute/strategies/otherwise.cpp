// SPDX-License-Identifier: Apache-2.0
/// otherwise(first, then): what the first strategy leaves is distributed by the second.
#include "fluvial/distribute/registry.hpp"
#include "fluvial/distribute/subset.hpp"

namespace fluvial::distribute {
namespace {

class Otherwise final : public Strategy {
  public:
    Otherwise(StrategyPtr first, StrategyPtr then)
        : first_(std::move(first)), then_(std::move(then)) {}
    std::string describe() const override {
        return "otherwise(" + first_->describe() + ", " + then_->describe() + ")";
    }
    Distribution assign(const Request& request) const override {
        return complete(request, first_->assign(request), *then_);
    }

  private:
    StrategyPtr first_, then_;
};

}  // namespace

Registration register_otherwise() {
    return {"otherwise",
            "what one strategy leaves, by another",
            [](Arguments& arguments) -> StrategyPtr {
                const std::string example = "otherwise(by-host(blocks), discard)";
                StrategyPtr first = arguments.strategy("first", example);
                return std::make_shared<Otherwise>(std::move(first),
                                                   arguments.strategy("then", example));
            },
            {"otherwise(by-host(binpacking), round-robin)"}};
}

}  // namespace fluvial::distribute
