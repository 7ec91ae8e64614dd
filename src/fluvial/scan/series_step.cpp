// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/series_step.hpp"

#include <algorithm>

#include "fluvial/scan/record_axis.hpp"

namespace fluvial::scan {
namespace {

Coordinates without(const Coordinates& all, int axis) {
    Coordinates others(all.size() - 1, 0);
    for (int i = 0; i < others.size(); ++i) {
        others[i] = all[i < axis ? i : i + 1];
    }
    return others;
}

Coordinates with(const Coordinates& others, int axis, Index one) {
    Coordinates all(others.size() + 1, one);
    for (int i = 0; i < others.size(); ++i) {
        all[i < axis ? i : i + 1] = others[i];
    }
    return all;
}

}  // namespace

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

Coordinates SeriesStep::shape(const std::string& name) const {
    const DatasetPtr dataset = file_->dataset(name);
    const auto axis = axis_of_record(*dataset);
    return axis ? without(dataset->shape(), *axis) : dataset->shape();
}

compute::Array SeriesStep::read(const std::string& name) const {
    const Region all = whole(shape(name));
    compute::Array array(file_->dataset(name)->dtype(), all.extent);
    read(name, all,
         {array.bytes.data(), array.dtype, all.extent,
          contiguous_strides(all.extent, size_of(array.dtype))});
    return array;
}

void SeriesStep::read(const std::string& name, const Region& region,
                      const MutableArrayView& to) const {
    const DatasetPtr dataset = file_->dataset(name);
    const auto axis = axis_of_record(*dataset);
    if (!axis) {
        dataset->read(region, to);
        return;
    }
    check_inside(region, without(dataset->shape(), *axis), {"a region of", name});
    const Coordinates extent = with(region.extent, *axis, 1);
    dataset->read({with(region.offset, *axis, record_->at), extent},
                  {to.data, to.dtype, extent, with(to.strides, *axis, 0)});
}

}  // namespace fluvial::scan
