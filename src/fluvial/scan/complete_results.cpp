// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/complete_results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>

#include "fluvial/compute/registry.hpp"

namespace fluvial::scan {
namespace {

/// Ranks compare the names of entries, and with them what they want of missing elements.
std::string count_name_of(int input) {
    return text("fluvial: elements that count of input ", input, ", of which all are required");
}

std::vector<int> inputs_of(const compute::Reduction::Entry& entry) {
    if (!entry.inputs.empty()) {
        return entry.inputs;
    }
    std::vector<int> first(static_cast<std::size_t>(entry.op->inputs()));
    std::iota(first.begin(), first.end(), 0);
    return first;
}

/// Elements of the selection that go into one result of each group.
std::vector<Index> required_of(const Request& request) {
    const Coordinates& count = request.selection->count;
    std::vector<int> over = request.over;
    if (over.empty()) {
        over.resize(static_cast<std::size_t>(count.size()));
        std::iota(over.begin(), over.end(), 0);
    }
    Index others = 1;
    for (const int axis : over) {
        if (!request.groups || axis != request.groups->axis) {
            others *= count[axis];
        }
    }
    if (!request.groups) {
        return {others};
    }
    std::vector<Index> required(static_cast<std::size_t>(request.groups->count), 0);
    for (const int group : request.groups->group) {
        if (group >= 0) {
            required[static_cast<std::size_t>(group)] += others;
        }
    }
    return required;
}

/// A value with a NaN: integers have none.
void to_real(compute::Array& array) {
    if (!is_integer(array.dtype)) {
        return;
    }
    compute::Array real(DType::Float64, array.shape);
    dispatch(array.dtype, [&]<class T>() {
        if constexpr (std::is_integral_v<T>) {
            std::transform(array.as<T>(), array.as<T>() + volume_of(array.shape), real.as<double>(),
                           [](T value) { return static_cast<double>(value); });
        }
    });
    array = std::move(real);
}

void set_nan(compute::Array& array, Index at) {
    dispatch(array.dtype, [&]<class T>() {
        if constexpr (!std::is_integral_v<T>) {
            array.as<T>()[at] = T(std::numeric_limits<float>::quiet_NaN());
        }
    });
}

void mark(compute::Result& result, const std::vector<bool>& missing, bool several) {
    const auto found = result.find("value");
    if (found == result.end()) {
        return;
    }
    const auto kept = static_cast<Index>(missing.size());
    const Index values = volume_of(found->second.shape);
    if (kept == 0 || values % kept != 0 || (values != kept && !several)) {
        return;
    }
    const Index each = values / kept;
    to_real(found->second);
    const auto places = result.find("coordinates");
    for (Index at = 0; at < kept; ++at) {
        if (!missing[static_cast<std::size_t>(at)]) {
            continue;
        }
        for (Index i = 0; i < each; ++i) {
            set_nan(found->second, at * each + i);
        }
        if (places != result.end()) {
            const Index ndim = volume_of(places->second.shape) / kept;
            std::fill_n(places->second.as<std::int64_t>() + at * ndim, ndim, -1);
        }
    }
}

}  // namespace

CompleteResults::CompleteResults(Request& request) : required_(required_of(request)) {
    std::set<int> used;
    for (const auto& entry : request.entries) {
        Entry own{entry.name, {}, entry.op->name().find("quantile") != std::string::npos};
        for (const int input : inputs_of(entry)) {
            own.counts.push_back(count_name_of(input));
            used.insert(input);
        }
        entries_.push_back(std::move(own));
    }
    for (const int input : used) {
        request.entries.push_back({count_name_of(input), compute::make_operator("count"), {input}});
    }
}

void CompleteResults::apply(std::vector<Results>& groups) const {
    for (std::size_t group = 0; group < groups.size() && !entries_.empty(); ++group) {
        Results& results = groups[group];
        for (const Entry& entry : entries_) {
            std::vector<bool> missing;
            for (const std::string& name : entry.counts) {
                const compute::Array& count = results.at(name).at("value");
                missing.resize(static_cast<std::size_t>(volume_of(count.shape)));
                for (std::size_t at = 0; at < missing.size(); ++at) {
                    missing[at] = missing[at] || count.as<std::int64_t>()[at] < required_[group];
                }
            }
            mark(results.at(entry.name), missing, entry.several);
        }
        for (const Entry& entry : entries_) {
            for (const std::string& name : entry.counts) {
                results.erase(name);
            }
        }
    }
}

}  // namespace fluvial::scan
