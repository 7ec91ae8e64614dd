// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/coordinate_values.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "fluvial/base/error.hpp"
#include "fluvial/base/terms.hpp"
#include "fluvial/compute/decode.hpp"
#include "fluvial/scan/time_units.hpp"

namespace fluvial::scan {
namespace {

bool says_the_same(const DatasetPtr& one, const DatasetPtr& other, const char* name) {
    return text_of(one->attributes(), name) == text_of(other->attributes(), name);
}

/// Whether one needs no more than to be told as the other counts.
bool both_count_times(const DatasetPtr& one, const DatasetPtr& other) {
    const auto mine = TimeUnits::of(one->attributes()), its = TimeUnits::of(other->attributes());
    return mine && its && mine->fits(*its);
}

}  // namespace

std::vector<double> decoded_values(const store::Dataset& dataset) {
    std::vector<std::string> ignored;
    const Decoding decoding =
        cf_decoding(dataset.attributes(), dataset.dtype(), dataset.name(), ignored);
    const DType dtype = decoding.stored(dataset.dtype());
    if (is_complex(dtype)) {
        throw InvalidArgument(Problem{text("'", dataset.name(), "' cannot be a coordinate"),
                                      std::string(name_of(dtype)), "integers and real numbers",
                                      ""});
    }
    compute::Array stored(dataset.dtype(), dataset.shape());
    dataset.read(whole(dataset.shape()),
                 {stored.bytes.data(), dataset.dtype(), dataset.shape(), stored.view().strides});
    compute::MissingValues missing(dtype);
    for (const StoredValue& value : decoding.missing) {
        missing.add(value.bytes);
    }
    const auto count = static_cast<std::size_t>(volume_of(dataset.shape()));
    std::vector<double> values(count);
    std::vector<std::uint8_t> included(count);
    compute::decode({stored.bytes.data(), dtype, dataset.shape()}, missing, true, decoding.scale,
                    decoding.offset,
                    {reinterpret_cast<std::byte*>(values.data()), DType::Float64, dataset.shape(),
                     contiguous_strides(dataset.shape(), sizeof(double))},
                    included.data());
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = included[i] != 0 ? values[i] : std::numeric_limits<double>::quiet_NaN();
    }
    return values;
}

std::string differing_units(const std::vector<DatasetPtr>& parts) {
    for (const DatasetPtr& part : parts) {
        const DatasetPtr& first = parts.front();
        for (const char* const name : {"units", "calendar"}) {
            if (!says_the_same(part, first, name) && !both_count_times(part, first)) {
                return text(name, " '", text_of(part->attributes(), name), "' in '",
                            part->bytes().path(), "' beside '", text_of(first->attributes(), name),
                            "' in '", first->bytes().path(), "'");
            }
        }
    }
    return "";
}

std::vector<double> joined_values(const std::vector<DatasetPtr>& parts) {
    const DatasetPtr& first = parts.front();
    if (const std::string said = differing_units(parts); !said.empty()) {
        throw InvalidArgument(Problem{text("'", first->name(), "' counts otherwise in each file"),
                                      said, "units and a calendar that fit",
                                      "Select by isel, or reduce the files one by one"});
    }
    std::vector<double> all;
    for (const DatasetPtr& part : parts) {
        std::vector<double> values = decoded_values(*part);
        if (!says_the_same(part, first, "units") || !says_the_same(part, first, "calendar")) {
            const auto mine = TimeUnits::of(part->attributes());
            const auto wanted = TimeUnits::of(first->attributes());
            for (double& value : values) {
                value = mine->in(*wanted, value);
            }
        }
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

void check_same_values(const store::Dataset& dataset, const std::vector<double>& values,
                       const store::Dataset& first) {
    const auto refuse = [&](const std::string& seen, const std::string& wanted) {
        throw InvalidArgument(Problem{text("the files differ in coordinate '", dataset.name(), "'"),
                                      text(seen, " in '", dataset.bytes().path(), "'"),
                                      text(wanted, " as in '", first.bytes().path(), "'"),
                                      "Open files of one grid together"});
    };
    const std::vector<double> found = decoded_values(dataset);
    if (!(dataset.shape() == first.shape())) {
        refuse(text("shape ", dataset.shape()), text(first.shape()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (found[i] != values[i] && !(std::isnan(found[i]) && std::isnan(values[i]))) {
            refuse(text(exact(found[i]), " at ", i), exact(values[i]));
        }
    }
}

}  // namespace fluvial::scan
