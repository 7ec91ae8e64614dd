// SPDX-License-Identifier: Apache-2.0
/// What all ranks have put into one step of files, as one: agreed, whole, each element once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/store/output.hpp"

namespace fluvial::stage {

/// One rank's part of a step, without its elements: datasets have a chunk for each put.
struct RankPuts {
    std::uint64_t number = 0;
    Attributes attributes;  ///< of the step
    Attributes of_series;
    std::vector<DatasetDescription> datasets;

    Bytes encode() const;
    static RankPuts decode(std::span<const std::byte> bytes);
};

/// By rank. Local, and the same on all ranks that are given the same. Throws InvalidArgument where
/// ranks differ, or where elements are missing or were put twice.
store::StepContents merged(const std::vector<RankPuts>& of_all);

}  // namespace fluvial::stage
