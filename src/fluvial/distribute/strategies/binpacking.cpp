// SPDX-License-Identifier: Apache-2.0
/// binpacking: chunks cut to slices of at most a fair share, and those put by next-fit into bins of
/// a fair share each: fewer than twice as many bins as readers, so that each reader empties at most
/// two of them and gets at most twice its fair share (Poeschel et al. 2021, section 3.2; Johnson,
/// "Near-optimal bin packing algorithms", 1973). even-binpacking comes within 1.1.
#include <algorithm>

#include "fluvial/distribute/cut.hpp"
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class Binpacking final : public Strategy {
  public:
    std::string describe() const override { return "binpacking"; }
    Distribution assign(const Request& request) const override {
        Distribution out;
        const Index share = std::max<Index>(1, share_of(request));
        std::size_t bin = 0;
        Index room = share;
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            for (const Region& slice : cut_to_size(request.chunks[i].region, share)) {
                const Index elements = slice.volume();
                if (elements > room) {
                    ++bin;
                    room = share;
                }
                room -= elements;
                give(out, static_cast<int>(bin % request.readers.size()), slice, i);
            }
        }
        return out;
    }
    Bounds bounds(const Request& request) const override {
        const Index share = share_of(request);
        return {share > Bounds::none / 2 ? Bounds::none : 2 * share,
                static_cast<Index>(request.chunks.size() + 3 * request.readers.size()),
                Bounds::none};
    }

  private:
    static Index share_of(const Request& request) {
        return fair_share(elements_of(request), request.readers.size());
    }
};

}  // namespace

Registration register_binpacking() {
    return {"binpacking",
            "slices of at most a fair share, by next-fit; at most twice the fair share",
            [](Arguments&) -> StrategyPtr { return std::make_shared<Binpacking>(); },
            {"binpacking"}};
}

}  // namespace fluvial::distribute
