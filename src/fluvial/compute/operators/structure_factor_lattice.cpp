// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "fluvial/base/assert.hpp"

namespace fluvial::compute {
namespace {

/// Vectors at exactly q_max belong to the sphere, whatever the rounding.
constexpr double rim = 1 + 1e-12;

double length(const Vector3& v) {
    return std::hypot(v[0], v[1], v[2]);
}

}  // namespace

double Lattice::sphere_size(const std::array<Vector3, 3>& basis, double q_max) {
    // The half sphere, enlarged by one cell all round, bounds the number of lattice points in it.
    double points = 2 * std::numbers::pi / 3;
    for (const Vector3& b : basis) {
        points *= q_max / length(b) + 1;
    }
    return points;
}

Lattice Lattice::sphere(const std::array<Vector3, 3>& basis, double q_max) {
    Lattice lattice;
    // The axis with the most indices becomes l, along which the kernels' vectors run.
    std::sort(lattice.axis_.begin(), lattice.axis_.end(),
              [&](int a, int b) { return length(basis[a]) > length(basis[b]); });
    std::array<double, 3> step;
    for (int a = 0; a < 3; ++a) {
        lattice.basis_[a] = basis[lattice.axis_[a]];
        step[a] = length(lattice.basis_[a]);
    }
    const double limit = q_max * rim;
    const auto longest = [](double radius2, double s) {
        return static_cast<int>(std::floor(std::sqrt(std::max(0.0, radius2)) / s));
    };
    const int h_max = longest(limit * limit, step[0]);
    for (int h = 0; h <= h_max; ++h) {
        const double left_h = limit * limit - h * step[0] * h * step[0];
        const int k_max = longest(left_h, step[1]);
        for (int k = 0; k <= k_max; ++k) {
            lattice.add_line(h, k, longest(left_h - k * step[1] * k * step[1], step[2]));
        }
    }
    lattice.sort_rows();
    return lattice;
}

Lattice Lattice::plane(const std::array<Vector3, 2>& basis, std::array<int, 2> count) {
    Lattice lattice;
    lattice.origin_ = true;
    lattice.axis_ = {0, 2, 1};
    if (count[0] > count[1]) {
        lattice.axis_ = {1, 2, 0};
    }
    lattice.basis_ = {basis[lattice.axis_[0]], Vector3{}, basis[lattice.axis_[2]]};
    for (int h = 0; h <= count[lattice.axis_[0]]; ++h) {
        lattice.add_line(h, 0, count[lattice.axis_[2]]);
    }
    lattice.sort_rows();
    return lattice;
}

/// Calls visit(line, sign of k, first l) for every run of l = first … line.longest, in the order of
/// the amplitudes. Of q and -q the one with h > 0, or h = 0 and k > 0, or h = k = 0 and l >= 0 is
/// taken.
template <class F>
void Lattice::for_each_run(F&& visit) const {
    for (const Line& line : lines_) {
        if (line.h == 0 && line.k == 0) {
            visit(line, 1, origin_ ? 0 : 1);
            continue;
        }
        visit(line, 1, -line.longest);
        if (line.h > 0 && line.k > 0) {
            visit(line, -1, -line.longest);
        }
    }
}

void Lattice::add_line(int h, int k, int longest) {
    Line line{h, k, longest, {-1, -1, -1, -1}};
    for (int i = 0; i < 4; ++i) {
        const bool sine[2] = {i / 2 == 1, i % 2 == 1};
        if ((h == 0 && sine[0]) || (k == 0 && sine[1])) {
            continue;
        }
        line.row[i] = static_cast<int>(rows_.size());
        rows_.push_back({{h, k}, {sine[0], sine[1]}});
        row_lengths_.push_back(longest);
    }
    count_[0] = std::max(count_[0], h);
    count_[1] = std::max(count_[1], k);
    count_[2] = std::max(count_[2], longest);
    lines_.push_back(line);
}

void Lattice::sort_rows() {
    std::vector<int> order(rows_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return row_lengths_[a] > row_lengths_[b]; });
    std::vector<int> place(order.size());
    std::vector<LatticeRow> rows;
    std::vector<int> lengths;
    for (const int i : order) {
        place[i] = static_cast<int>(rows.size());
        rows.push_back(rows_[i]);
        lengths.push_back(row_lengths_[i]);
    }
    rows_ = std::move(rows);
    row_lengths_ = std::move(lengths);
    for (Line& line : lines_) {
        for (int& row : line.row) {
            row = row < 0 ? -1 : place[row];
        }
    }
    for_each_run([&](const Line& line, int, int first) {
        size_ += static_cast<std::size_t>(line.longest - first + 1);
    });
}

std::vector<std::array<std::int32_t, 3>> Lattice::indices() const {
    std::vector<std::array<std::int32_t, 3>> all;
    all.reserve(size_);
    for_each_run([&](const Line& line, int sign, int first) {
        for (int l = first; l <= line.longest; ++l) {
            std::array<std::int32_t, 3> hkl;
            hkl[axis_[0]] = line.h;
            hkl[axis_[1]] = sign * line.k;
            hkl[axis_[2]] = l;
            all.push_back(hkl);
        }
    });
    return all;
}

LatticeTiles Lattice::tiles(int lanes, int rows_a_group) const {
    LatticeTiles tiles;
    for (int a = 0; a < 3; ++a) {
        tiles.count[a] = count_[a];
        for (int i = 0; i < 3; ++i) {
            tiles.turns[a][i] = basis_[a][i] / (2 * std::numbers::pi);
        }
    }
    tiles.rows = rows_;
    const auto group = static_cast<std::size_t>(rows_a_group);
    tiles.rows.resize((rows_.size() + group - 1) / group * group, LatticeRow{{0, 0}, {true, true}});
    for (std::size_t first = 0; first < tiles.rows.size(); first += group) {
        const int columns = (2 * (row_lengths_[first] + 1) + lanes - 1) / lanes;
        tiles.groups.push_back({static_cast<int>(first), columns, tiles.sums});
        tiles.sums += group * static_cast<std::size_t>(columns * lanes);
    }
    return tiles;
}

void Lattice::unfold(const LatticeTiles& tiles, int lanes, const double* sums,
                     double* amplitudes) const {
    const int rows_a_group = static_cast<int>(tiles.rows.size() / tiles.groups.size());
    const std::vector<double> zeros(static_cast<std::size_t>(count_[2] + 1) * 2, 0.0);
    const auto row_sums = [&](int row) {
        if (row < 0) {
            return zeros.data();
        }
        const RowGroup& group = tiles.groups[static_cast<std::size_t>(row / rows_a_group)];
        return sums + group.offset +
               static_cast<std::size_t>(row % rows_a_group) * (group.columns * lanes);
    };
    double* out = amplitudes;
    for_each_run([&](const Line& line, int sign, int first) {
        const double* cc = row_sums(line.row[0]);
        const double* cs = row_sums(line.row[1]);
        const double* sc = row_sums(line.row[2]);
        const double* ss = row_sums(line.row[3]);
        // (cos hx + i sin hx)(cos ky + i sign sin ky) = (cc - sign ss) + i (sc + sign cs), then
        // times the l factor.
        for (int l = first; l <= line.longest; ++l, out += 2) {
            const int c = 2 * std::abs(l);
            const int s = c + 1;
            const double mirror = l < 0 ? -1 : 1;
            out[0] += cc[c] - sign * ss[c] - mirror * (sc[s] + sign * cs[s]);
            out[1] += sc[c] + sign * cs[c] + mirror * (cc[s] - sign * ss[s]);
        }
    });
    FLUVIAL_ASSERT(out == amplitudes + 2 * size_, size_);
}

}  // namespace fluvial::compute
