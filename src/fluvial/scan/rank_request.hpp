// SPDX-License-Identifier: Apache-2.0
/// What one rank wants to know, without the data and the operators, which are the same for all: it
/// travels to the ranks that read.
#pragma once

#include "fluvial/base/bytes.hpp"
#include "fluvial/scan/request.hpp"

namespace fluvial::scan {

struct RankRequest {
    Selection selection;
    std::vector<AxisWeights> weights;
    std::optional<Grouping> groups;
    std::vector<int> backwards;
};

void encode(ByteWriter& out, const RankRequest& rank_request);
RankRequest decode_rank_request(ByteReader& in);

/// Operators that work on the same inputs, which therefore share a walk and a mask.
struct OperatorSet {
    std::vector<int> inputs;                         ///< of the request
    std::vector<compute::Reduction::Entry> entries;  ///< their inputs count in `inputs`
    std::vector<DType> dtypes;                       ///< of `inputs`, decoded
};

/// The request's operators by the inputs that they read. Throws InvalidArgument for inputs that are
/// not there.
std::vector<OperatorSet> operator_sets(const Request& request);

}  // namespace fluvial::scan
