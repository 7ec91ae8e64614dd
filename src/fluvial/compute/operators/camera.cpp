// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/camera.hpp"

#include <cmath>
#include <numbers>
#include <string>

#include "fluvial/base/error.hpp"

namespace fluvial::compute {
namespace {

/// Sine of the least angle between directions that are told apart.
constexpr double parallel = 1e-6;

void check_length(double value, const char* what) {
    if (!(value > 0) || !std::isfinite(value)) {
        throw InvalidArgument(Problem{text("structure factor: the ", what, " is out of range"),
                                      text(value), "finite and above 0",
                                      "The wavelength is in the unit of the positions, distance "
                                      "and pixels are in one unit of their own"});
    }
}

Vector3 unit(const Vector3& v, const char* what) {
    const double length = std::hypot(v[0], v[1], v[2]);
    if (!(length > 0) || !std::isfinite(length)) {
        throw InvalidArgument(Problem{text("structure factor: the ", what, " has no direction"),
                                      text("(", v[0], ", ", v[1], ", ", v[2], ")"),
                                      "three finite numbers, not all 0",
                                      "Pass (0, 0, 1) for the z axis"});
    }
    return {v[0] / length, v[1] / length, v[2] / length};
}

Vector3 cross(const Vector3& a, const Vector3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

void check_area(const Vector3& beam, const std::array<Vector3, 2>& sides) {
    const Vector3 normal = cross(sides[0], sides[1]);
    const double through = normal[0] * beam[0] + normal[1] * beam[1] + normal[2] * beam[2];
    if (std::abs(through) < parallel) {
        throw InvalidArgument(
            Problem{"structure factor: the beam does not hit the plane of the detector",
                    text("beam, rows and columns span a volume of ", through),
                    "directions that do not lie in one plane",
                    "Rows along y and columns along x face a beam along z"});
    }
}

}  // namespace

std::vector<Vector3> q_of_pixels(const Camera& camera) {
    check_length(camera.wavelength, "wavelength");
    check_length(camera.distance, "distance of the detector");
    check_length(camera.pixel[0], "height of a pixel");
    check_length(camera.pixel[1], "width of a pixel");
    if (camera.pixels[0] < 1 || camera.pixels[1] < 1) {
        throw InvalidArgument(Problem{"structure factor: the detector has no pixels",
                                      text("(", camera.pixels[0], ", ", camera.pixels[1], ")"),
                                      "1 or more rows and columns", "pixels=(512, 512)"});
    }
    if (!std::isfinite(camera.beam_at[0] + camera.beam_at[1])) {
        throw InvalidArgument(Problem{"structure factor: the beam hits no pixel",
                                      text("(", camera.beam_at[0], ", ", camera.beam_at[1], ")"),
                                      "finite numbers, which may be outside of the detector",
                                      "Leave it out for the middle"});
    }
    const Vector3 beam = unit(camera.beam, "beam");
    const std::array<Vector3, 2> sides{unit(camera.sides[0], "direction of rows"),
                                       unit(camera.sides[1], "direction of columns")};
    check_area(beam, sides);
    const double k = 2 * std::numbers::pi / camera.wavelength;
    std::vector<Vector3> q;
    q.reserve(static_cast<std::size_t>(camera.pixels[0]) *
              static_cast<std::size_t>(camera.pixels[1]));
    for (int row = 0; row < camera.pixels[0]; ++row) {
        const double along_rows = (row - camera.beam_at[0]) * camera.pixel[0];
        for (int column = 0; column < camera.pixels[1]; ++column) {
            const double along_columns = (column - camera.beam_at[1]) * camera.pixel[1];
            Vector3 place{};
            for (std::size_t i = 0; i < 3; ++i) {
                place[i] = camera.distance * beam[i] + along_rows * sides[0][i] +
                           along_columns * sides[1][i];
            }
            const double length = std::hypot(place[0], place[1], place[2]);
            q.push_back({k * (place[0] / length - beam[0]), k * (place[1] / length - beam[1]),
                         k * (place[2] / length - beam[2])});
        }
    }
    return q;
}

}  // namespace fluvial::compute
