// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/series_step.hpp"

#include <algorithm>

#include "fluvial/scan/record_axis.hpp"

namespace fluvial::scan {

const Attributes& SeriesStep::attributes() const {
    static const Attributes none;
    return record_ ? none : file_->attributes();
}

bool SeriesStep::has(const std::string& name) const {
    const auto& all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
}

std::optional<int> SeriesStep::axis_of_record(const store::Dataset& dataset) const {
    return record_ ? axis_along(dataset, record_->dimension) : std::nullopt;
}

Variable SeriesStep::variable(const std::string& name) const {
    const Variable whole = Variable::of(file_, name);
    const auto axis = axis_of_record(*file_->dataset(name));
    return axis ? whole.isel(whole.dimensions()[static_cast<std::size_t>(*axis)], record_->at)
                : whole;
}

compute::Array SeriesStep::read(const std::string& name) const {
    const DatasetPtr dataset = file_->dataset(name);
    Region region = whole(dataset->shape());
    Coordinates shape = dataset->shape();
    if (const auto axis = axis_of_record(*dataset)) {
        region.offset[*axis] = record_->at;
        region.extent[*axis] = 1;
        shape = Coordinates(dataset->shape().size() - 1, 0);
        for (int i = 0; i < shape.size(); ++i) {
            shape[i] = dataset->shape()[i < *axis ? i : i + 1];
        }
    }
    compute::Array array(dataset->dtype(), shape);
    dataset->read(region, {array.bytes.data(), array.dtype, region.extent,
                           contiguous_strides(region.extent, size_of(array.dtype))});
    return array;
}

}  // namespace fluvial::scan
