// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/joined_dimension.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "fluvial/scan/record_axis.hpp"

namespace fluvial::scan {

std::optional<std::string> first_dimension(const store::File& file, const store::Dataset& dataset) {
    const auto& names = dataset.dimensions();
    return dataset.shape().empty() ? std::nullopt
           : names.empty()         ? std::optional<std::string>("")
                                   : std::optional(path_of(file, dataset, names.front()));
}

std::optional<std::string> joined_dimension(const store::File& first) {
    std::shared_ptr<const store::Dataset> most;
    for (const std::string& name : first.names()) {
        if (!first.unreadable().contains(name)) {
            const auto dataset = first.dataset(name);
            most = !most || dataset->shape().size() > most->shape().size() ? dataset : most;
        }
    }
    const auto begin = most ? first_dimension(first, *most) : std::nullopt;
    std::vector<std::string> unlimited;
    for (const store::Dimension& dimension : first.dimensions()) {
        if (dimension.unlimited) {
            unlimited.push_back(dimension.name);
        }
    }
    const bool begins_so =
        begin && std::find(unlimited.begin(), unlimited.end(), *begin) != unlimited.end();
    return begins_so || unlimited.empty() ? begin : unlimited.front();
}

}  // namespace fluvial::scan
