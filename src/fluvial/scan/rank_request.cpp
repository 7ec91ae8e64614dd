// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/rank_request.hpp"

#include <algorithm>
#include <numeric>

namespace fluvial::scan {
namespace {

void put(ByteWriter& out, const Coordinates& coordinates) {
    out.put_vector(std::vector<Index>(coordinates.begin(), coordinates.end()));
}

Coordinates get(ByteReader& in) {
    return Coordinates(std::span<const Index>(in.get_vector<Index>()));
}

}  // namespace

void encode(ByteWriter& out, const RankRequest& rank_request) {
    put(out, rank_request.selection.start);
    put(out, rank_request.selection.count);
    put(out, rank_request.selection.stride);
    out.put<std::uint64_t>(rank_request.weights.size());
    for (const AxisWeights& weights : rank_request.weights) {
        out.put(weights.axis);
        out.put_vector(weights.factor);
    }
    out.put<std::uint8_t>(rank_request.groups.has_value());
    if (rank_request.groups) {
        out.put(rank_request.groups->axis);
        out.put(rank_request.groups->count);
        out.put_vector(rank_request.groups->group);
    }
    out.put_vector(rank_request.backwards);
}

RankRequest decode_rank_request(ByteReader& in) {
    RankRequest rank_request;
    rank_request.selection.start = get(in);
    rank_request.selection.count = get(in);
    rank_request.selection.stride = get(in);
    const auto weights = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < weights; ++i) {
        const int axis = in.get<int>();
        rank_request.weights.push_back({axis, in.get_vector<double>()});
    }
    if (in.get<std::uint8_t>() != 0) {
        Grouping groups;
        groups.axis = in.get<int>();
        groups.count = in.get<int>();
        groups.group = in.get_vector<int>();
        rank_request.groups = std::move(groups);
    }
    rank_request.backwards = in.get_vector<int>();
    return rank_request;
}

std::vector<OperatorSet> operator_sets(const Request& request) {
    const int available = static_cast<int>(request.inputs.size());
    std::vector<OperatorSet> sets;
    for (const compute::Reduction::Entry& entry : request.entries) {
        std::vector<int> inputs = entry.inputs;
        if (inputs.empty()) {
            inputs.resize(static_cast<std::size_t>(entry.op->inputs()));
            std::iota(inputs.begin(), inputs.end(), 0);
        }
        for (const int input : inputs) {
            if (input < 0 || input >= available) {
                throw InvalidArgument(
                    Problem{text("'", entry.name, "' reads a dataset that is not there"),
                            text("number ", input), text("0 to ", available - 1),
                            text(entry.op->name(), " takes ", entry.op->inputs())});
            }
        }
        auto found = std::find_if(sets.begin(), sets.end(),
                                  [&](const OperatorSet& set) { return set.inputs == inputs; });
        if (found == sets.end()) {
            sets.push_back({inputs, {}, {}});
            found = sets.end() - 1;
            for (const int input : inputs) {
                const Input& data = request.inputs[static_cast<std::size_t>(input)];
                found->dtypes.push_back(data.decoding.decoded(data.parts.front()->dtype()));
            }
        }
        std::vector<int> within(inputs.size());
        std::iota(within.begin(), within.end(), 0);
        found->entries.push_back({entry.name, entry.op, std::move(within)});
    }
    return sets;
}

}  // namespace fluvial::scan
