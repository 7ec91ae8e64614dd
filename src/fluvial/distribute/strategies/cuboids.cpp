// SPDX-License-Identifier: Apache-2.0
/// cuboids(grid): like hyperslabs, along all axes: boxes with short edges, so that a reader meets
/// few writers where both decompose the space. The grid (written 4x2x1) has as many boxes as there
/// are readers; unless it is given, the prime factors of their number, largest first, each divide
/// the axis along which the boxes are longest.
#include <charconv>
#include <vector>

#include "fluvial/distribute/grid.hpp"
#include "fluvial/distribute/registry.hpp"

namespace fluvial::distribute {
namespace {

std::vector<Index> prime_factors(Index number) {  // ascending
    std::vector<Index> factors;
    for (Index p = 2; p * p <= number; ++p) {
        for (; number % p == 0; number /= p) {
            factors.push_back(p);
        }
    }
    if (number > 1) {
        factors.push_back(number);
    }
    return factors;
}

Coordinates grid_for(const Coordinates& extent, Index readers) {
    Coordinates cells(extent.size(), 1);
    const auto factors = prime_factors(readers);
    for (auto factor = factors.rbegin(); factor != factors.rend() && !extent.empty(); ++factor) {
        int longest = 0;
        for (int axis = 1; axis < extent.size(); ++axis) {
            if (static_cast<__int128>(extent[axis]) * cells[longest] >
                static_cast<__int128>(extent[longest]) * cells[axis]) {
                longest = axis;
            }
        }
        cells[longest] *= *factor;
    }
    return cells;
}

class Cuboids final : public Strategy {
  public:
    explicit Cuboids(std::optional<Coordinates> grid) : grid_(std::move(grid)) {}
    std::string describe() const override {
        return grid_ ? "cuboids(grid=" + words_of(*grid_) + ")" : "cuboids";
    }
    Distribution assign(const Request& request) const override {
        return assign_cells(request, cells(request));
    }
    Bounds bounds(const Request& request) const override {
        return bounds_of_cells(request, cells(request));
    }

  private:
    static std::string words_of(const Coordinates& grid) {
        std::string words;
        for (const Index n : grid) {
            words += text(words.empty() ? "" : "x", n);
        }
        return words;
    }
    Coordinates cells(const Request& request) const {
        const Region box = bounding_box(request);
        const Index readers = static_cast<Index>(request.readers.size());
        if (!grid_ || request.chunks.empty()) {
            return grid_for(box.extent, readers);
        }
        if (grid_->size() != box.ndim() || volume_of(*grid_) != readers) {
            throw InvalidArgument(
                Problem{"cuboids: the grid does not fit", words_of(*grid_),
                        text("as many numbers as the chunks have dimensions (", box.ndim(),
                             "), whose product is the number of readers (", readers, ")"),
                        "Leave the grid out to have one chosen"});
        }
        return *grid_;
    }

    std::optional<Coordinates> grid_;
};

std::optional<Coordinates> grid_of(const std::string& words) {
    Coordinates grid;
    const char* at = words.data();
    const char* const end = at + words.size();
    while (grid.size() < ndim_max) {
        Index value = 0;
        const auto [stopped, error] = std::from_chars(at, end, value);
        if (error != std::errc() || value < 1) {
            break;
        }
        grid.push_back(value);
        if (stopped == end) {
            return grid;
        }
        if (*stopped != 'x') {
            break;
        }
        at = stopped + 1;
    }
    return std::nullopt;
}

StrategyPtr make_cuboids(Arguments& arguments) {
    const auto words = arguments.word_if_given("grid");
    const auto grid = words ? grid_of(*words) : std::nullopt;
    if (words && !grid) {
        throw InvalidArgument(Problem{"cuboids: the grid cannot be read", "'" + *words + "'",
                                      "numbers from 1, with x between them, such as 4x2x1", ""});
    }
    return std::make_shared<Cuboids>(grid);
}

}  // namespace

Registration register_cuboids() {
    return {"cuboids", "equal boxes of a grid", make_cuboids, {"cuboids"}};
}

}  // namespace fluvial::distribute
