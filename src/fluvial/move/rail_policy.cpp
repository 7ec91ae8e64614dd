// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rail_policy.hpp"

#include <algorithm>
#include <bit>

namespace fluvial::move {
namespace {

/// One rail must be so much faster to be taken alone: the others would help when it becomes slower.
constexpr double gain_needed = 0.95;
constexpr unsigned pause_min = 32;
constexpr unsigned pause_max = 1024;
/// One rail has had a chance when all would have brought that part, and it was not only kept
/// waiting for a core, and is hopeless when it is so many times slower.
constexpr double chance = 0.25;
constexpr double chance_s_min = 0.010;
constexpr double clearly = 1.75;

}  // namespace

/// The median: single reads take twice as long as others now and then.
double RailPolicy::Way::typical() const {
    std::array<double, remembered> sorted = s_per_byte;
    const std::size_t known = std::min(count, remembered);
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return sorted[known / 2];
}

RailPolicy::Over RailPolicy::chosen(const Size& size) {
    return size.one.typical() < gain_needed * size.all.typical() ? Over::One : Over::All;
}

RailPolicy::Over RailPolicy::next(std::uint64_t bytes) {
    Size& size = sizes_[static_cast<std::size_t>(std::bit_width(bytes))];
    if (size.one.count < std::min(size.all.count, remembered)) {
        return Over::One;
    }
    if (size.all.count < remembered) {
        return Over::All;
    }
    const Over best = chosen(size);
    size.pause = std::max(size.pause, pause_min);
    if (++size.reads <= size.pause) {
        return best;
    }
    size.reads = 0;
    size.pause = std::min(2 * size.pause, pause_max);
    return best == Over::All ? Over::One : Over::All;
}

bool RailPolicy::hopeless(std::uint64_t bytes, std::uint64_t brought, double seconds) const {
    const Size& size = sizes_[static_cast<std::size_t>(std::bit_width(bytes))];
    if (size.all.count == 0) {
        return false;
    }
    const double all_s = static_cast<double>(bytes) * size.all.typical();
    const bool had_its_chance =
        seconds > std::max((brought > 0 ? chance : clearly) * all_s, chance_s_min);
    return had_its_chance && static_cast<double>(brought) * size.all.typical() * clearly < seconds;
}

void RailPolicy::took(Over over, std::uint64_t bytes, std::uint64_t brought, double seconds) {
    Size& size = sizes_[static_cast<std::size_t>(std::bit_width(bytes))];
    const bool known = size.all.count > 0 && size.one.count > 0;
    const Over before = known ? chosen(size) : over;
    Way& way = over == Over::All ? size.all : size.one;
    const double s_per_byte = seconds / static_cast<double>(std::max<std::uint64_t>(brought, 1));
    if (brought < bytes && way.count == 0) {
        way.s_per_byte.fill(s_per_byte);
        way.count = remembered;
    } else {
        way.s_per_byte[way.count++ % remembered] = s_per_byte;
    }
    if (known && chosen(size) != before) {
        size.reads = 0;
        size.pause = pause_min;
    }
}

}  // namespace fluvial::move
