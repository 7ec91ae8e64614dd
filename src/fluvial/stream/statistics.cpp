// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/statistics.hpp"

#include <array>
#include <iomanip>
#include <sstream>

namespace fluvial::stream {

namespace {

std::string amount(std::uint64_t bytes) {
    static constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    std::ostringstream out;
    out << std::fixed << std::setprecision(unit == 0 ? 0 : 1) << value << ' ' << units[unit];
    return out.str();
}

std::string seconds(std::int64_t ns) {
    std::ostringstream out;
    out << std::setprecision(3) << 1e-9 * static_cast<double>(ns) << " s";
    return out.str();
}

}  // namespace

std::string Statistics::text() const {
    std::ostringstream out;
    out << stream << ", rank " << rank << ":\n";
    if (sent_bytes > 0 || stalls > 0) {
        out << "  sent " << sent_elements << " elements (" << amount(sent_bytes) << "), stalled "
            << stalls << " times for " << seconds(stalled_ns) << '\n';
    }
    if (memory_bytes > 0 || batches > 0 || idle_ns > 0) {
        out << "  processed " << elements << " elements (" << amount(bytes) << ") in " << batches
            << " batches for " << seconds(processing_ns) << ", idle " << seconds(idle_ns) << ", "
            << amount(depth_bytes) << " waiting (" << amount(depth_bytes_max) << " at most) in "
            << amount(memory_bytes);
        if (queries_answered > 0) {
            out << ", " << queries_answered << " queries answered";
        }
        out << '\n';
    }
    return out.str();
}

}  // namespace fluvial::stream
