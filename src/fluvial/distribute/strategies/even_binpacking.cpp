// SPDX-License-Identifier: Apache-2.0
/// even-binpacking(tolerance): next-fit that cuts again. The chunks, in the order of their source
/// ranks, are one row of elements, which is divided into equal shares; where the border of a chunk
/// is near enough to that of a share it is taken instead, otherwise the chunk is cut there, and the
/// plane in which the border lies once more, along each axis if need be. So no reader gets more
/// than (1 + tolerance) fair shares, at most one chunk is cut a reader, and a reader meets
/// consecutive source ranks alone. (McNaughton's wrap-around rule, "Scheduling with deadlines and
/// loss functions", 1959, for boxes.)
#include <algorithm>
#include <deque>
#include <numeric>

#include "fluvial/base/terms.hpp"
#include "fluvial/distribute/cut.hpp"
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

class EvenBinpacking final : public Strategy {
  public:
    explicit EvenBinpacking(double tolerance) : tolerance_(tolerance) {}
    std::string describe() const override {
        return "even-binpacking(tolerance=" + exact(tolerance_) + ")";
    }
    Distribution assign(const Request& request) const override {
        Distribution out;
        std::deque<Piece> row = in_order_of_ranks(request);
        const std::size_t readers = request.readers.size();
        const Index elements = elements_of(request), slack = slack_of(request);
        Index done = 0;
        for (std::size_t reader = 0; reader < readers && !row.empty(); ++reader) {
            const Index border =
                static_cast<Index>(static_cast<__int128>(elements) *
                                   static_cast<Index>(reader + 1) / static_cast<Index>(readers));
            const bool last = reader + 1 == readers;
            while (!row.empty() && (last || done < border - slack)) {
                const Piece piece = row.front();
                row.pop_front();
                const Index volume = piece.region.volume();
                if (last || done + volume <= border + slack) {
                    give(out, static_cast<int>(reader), piece.region, piece.chunk);
                    done += volume;
                    continue;
                }
                const Index least = border - slack - done;
                const Halves halves =
                    cut_off(piece.region, least, std::min(volume, border + slack - done));
                for (const Region& part : halves.first) {
                    give(out, static_cast<int>(reader), part, piece.chunk);
                    done += part.volume();
                }
                for (const Region& part : halves.rest) {
                    row.push_front({part, piece.chunk});  // the last one touches the cut
                }
            }
        }
        return out;
    }
    Bounds bounds(const Request& request) const override {
        const std::size_t readers = request.readers.size();
        const int ndim = request.chunks.empty() ? 0 : request.chunks.front().region.ndim();
        return {fair_share(elements_of(request), readers) + 2 * slack_of(request),
                static_cast<Index>(request.chunks.size()) +
                    static_cast<Index>(readers - 1) * std::max(0, 2 * ndim - 1),
                Bounds::none};
    }

  private:
    /// By how many elements a share may begin or end too early or too late.
    Index slack_of(const Request& request) const {
        const double share =
            static_cast<double>(elements_of(request)) / static_cast<double>(request.readers.size());
        return static_cast<Index>(share * tolerance_ / 2);
    }
    static std::deque<Piece> in_order_of_ranks(const Request& request) {
        std::vector<std::size_t> order(request.chunks.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return request.chunks[a].rank < request.chunks[b].rank;
        });
        std::deque<Piece> row;
        for (const std::size_t i : order) {
            row.push_back({request.chunks[i].region, i});
        }
        return row;
    }

    double tolerance_;
};

}  // namespace

Registration register_even_binpacking() {
    return {"even-binpacking",
            "consecutive chunks, cut where a share ends; within 1.1 of the fair share",
            [](Arguments& arguments) -> StrategyPtr {
                return std::make_shared<EvenBinpacking>(arguments.number("tolerance", 0.1, 0, 0.5));
            },
            {"even-binpacking", "even-binpacking(tolerance=0)"}};
}

}  // namespace fluvial::distribute
