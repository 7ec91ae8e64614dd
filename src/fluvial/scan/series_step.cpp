// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/series_step.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/record_attributes.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/scan/units.hpp"

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

void check_place(const MutableArrayView& to, DType dtype, const Region& region,
                 const std::string& name) {
    if (to.dtype != dtype || !(to.extent == region.extent)) {
        throw InvalidArgument(
            Problem{text("the place for a region of '", name, "' does not fit it"),
                    text(name_of(to.dtype), to.extent), text(name_of(dtype), region.extent), ""});
    }
}

/// The elements of a region of all parts together.
void read_joined(const JoinedFiles::Parts& parts, const Region& region,
                 const MutableArrayView& to) {
    if (parts.size() == 1) {
        parts.front()->read(region, to);
        return;
    }
    const std::vector<Index> begins = part_begins({parts, {}});
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Region part = whole(parts[i]->shape());
        part.offset[0] = begins[i];
        if (auto inside = intersect(part, region)) {
            const MutableArrayView place = subview(to, within(*inside, region));
            parts[i]->read(within(*inside, part), place);
        }
    }
}

}  // namespace

SeriesStep::SeriesStep(std::uint64_t index, std::shared_ptr<const JoinedFiles> files,
                       std::optional<Record> record)
    : index_(index),
      files_(std::move(files)),
      record_(std::move(record)),
      of_record_(record_ ? std::make_shared<OfRecord>() : nullptr) {}

SeriesStep::SeriesStep(std::uint64_t index, std::shared_ptr<const store::File> file,
                       std::optional<Record> record)
    : SeriesStep(index, std::make_shared<const JoinedFiles>(std::move(file)), std::move(record)) {}

const Attributes& SeriesStep::attributes() const {
    if (!record_) {
        return files_->first().attributes();
    }
    std::call_once(of_record_->once,
                   [&] { of_record_->attributes = record_attributes(*files_, *record_); });
    return of_record_->attributes;
}

std::vector<std::string> SeriesStep::groups() const {
    return files_->first().groups();
}

Attributes SeriesStep::group_attributes(const std::string& path) const {
    const store::File& file = files_->first();
    const std::vector<std::string>& all = file.groups();
    if (!has(path)) {
        return file.group_attributes(path);
    }
    const bool is_group = std::find(all.begin(), all.end(), path) != all.end();
    Attributes said = is_group ? file.group_attributes(path) : Attributes();
    Attributes of_dataset = dataset(path)->attributes();
    said.merge(of_dataset);
    return said;
}

const std::vector<std::string>& SeriesStep::names() const {
    return files_->first().names();
}

bool SeriesStep::has(const std::string& name) const {
    const auto& all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
}

DatasetPtr SeriesStep::dataset(const std::string& name) const {
    const JoinedFiles::Parts& parts = files_->parts_of(name);
    if (parts.size() == 1) {
        return parts.front();
    }
    const std::vector<Index> begins = part_begins({parts, {}});
    if (!record_ || record_->at >= begins.back()) {
        throw InvalidArgument(Problem{text("'", name, "' is joined of several files"),
                                      text(parts.size(), " of them"), "a dataset of one file",
                                      "Use variable(name), which has all of them"});
    }
    const auto behind = std::upper_bound(begins.begin(), begins.end(), record_->at);
    return parts[static_cast<std::size_t>(behind - begins.begin() - 1)];
}

std::optional<int> SeriesStep::axis_of_record(const store::Dataset& dataset) const {
    return record_ ? axis_along(files_->first(), dataset, record_->dimension) : std::nullopt;
}

std::optional<int> SeriesStep::axis_of_record(const std::string& name) const {
    return axis_of_record(*files_->parts_of(name).front());
}

Variable SeriesStep::variable(const std::string& name) const {
    const Variable whole(files_, name);
    const auto axis = axis_of_record(*files_->parts_of(name).front());
    if (!axis) {
        return whole;
    }
    Variable record = whole.isel(whole.dimensions()[static_cast<std::size_t>(*axis)], record_->at);
    record.record_axis_ = axis;
    return record;
}

Coordinates SeriesStep::shape(const std::string& name) const {
    const JoinedFiles::Parts& parts = files_->parts_of(name);
    const Coordinates all = joined_shape({parts, {}});
    const auto axis = axis_of_record(*parts.front());
    return axis ? without(all, *axis) : all;
}

compute::Array SeriesStep::read(const std::string& name) const {
    const Region all = whole(shape(name));
    compute::Array array(files_->parts_of(name).front()->dtype(), all.extent);
    read(name, all,
         {array.bytes.data(), array.dtype, all.extent,
          contiguous_strides(all.extent, size_of(array.dtype))});
    return array;
}

void SeriesStep::read(const std::string& name, const Region& region,
                      const MutableArrayView& to) const {
    const JoinedFiles::Parts& parts = files_->parts_of(name);
    check_inside(region, shape(name), {"a region of", name});
    check_place(to, parts.front()->dtype(), region, name);
    const auto axis = axis_of_record(*parts.front());
    if (!axis) {
        read_joined(parts, region, to);
        return;
    }
    const Coordinates extent = with(region.extent, *axis, 1);
    read_joined(parts, {with(region.offset, *axis, record_->at), extent},
                {to.data, to.dtype, extent, with(to.strides, *axis, 0)});
}

}  // namespace fluvial::scan
