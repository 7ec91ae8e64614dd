// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/variable.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/compute/decode.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {
namespace {

/// All elements of a 1-D dataset, decoded, as float64; NaN where there is no value.
std::vector<double> read_decoded(const store::Dataset& dataset) {
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

}  // namespace

Variable Variable::open(const std::vector<std::string>& paths, const std::string& name) {
    Variable variable;
    for (const std::string& path : paths) {
        variable.files_.push_back(store::open_file(path));
        variable.parts_.push_back(variable.files_.back()->dataset(name));
    }
    if (paths.empty()) {
        throw InvalidArgument(Problem{"no file to open", "an empty list", "one path or more", ""});
    }
    const store::Dataset& first = *variable.parts_.front();
    Coordinates shape = first.shape();
    if (!shape.empty()) {
        shape[0] = part_begins({variable.parts_, {}}).back();
    }
    variable.selection_ = select(whole(shape));
    for (int axis = 0; axis < shape.size(); ++axis) {
        const auto& names = first.dimensions();
        const auto i = static_cast<std::size_t>(axis);
        const bool named = i < names.size() && !names[i].empty();
        variable.dimensions_.push_back(named ? names[i] : text(axis));
    }
    return variable;
}

int Variable::axis_of(const std::string& dimension) const {
    const auto found = std::find(dimensions_.begin(), dimensions_.end(), dimension);
    if (found == dimensions_.end()) {
        std::string names;
        for (const std::string& name : dimensions_) {
            names += (names.empty() ? "" : ", ") + name;
        }
        throw UnknownName(Problem{text("'", parts_.front()->name(), "' has no such dimension"),
                                  dimension, names, did_you_mean(dimension, dimensions_)});
    }
    return static_cast<int>(found - dimensions_.begin());
}

std::vector<double> Variable::coordinate(const std::string& dimension) const {
    const int axis = axis_of(dimension);
    std::vector<double> all;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const auto found = files_[i]->dataset(dimension);
        if (found->shape().size() != 1) {
            throw InvalidArgument(Problem{text("'", dimension, "' is no coordinate"),
                                          text("shape ", found->shape()), "one dimension", ""});
        }
        const std::vector<double> part = read_decoded(*found);
        all.insert(all.end(), part.begin(), part.end());
        if (axis != 0) {
            break;  // files are joined along axis 0; the others are the same in each
        }
    }
    const Index last =
        selection_.start[axis] + (selection_.count[axis] - 1) * selection_.stride[axis];
    if (selection_.count[axis] > 0 && last >= static_cast<Index>(all.size())) {
        throw InvalidArgument(Problem{text("the coordinate '", dimension, "' is too short"),
                                      text(all.size()), text("more than ", last), ""});
    }
    std::vector<double> selected;
    for (Index i = 0; i < selection_.count[axis]; ++i) {
        selected.push_back(
            all[static_cast<std::size_t>(selection_.start[axis] + i * selection_.stride[axis])]);
    }
    return selected;
}

Variable Variable::selecting(int axis, Index begin, Index count, Index stride) const {
    Variable other = *this;
    other.selection_.start[axis] += begin * selection_.stride[axis];
    other.selection_.stride[axis] = count > 1 ? selection_.stride[axis] * stride : 1;
    other.selection_.count[axis] = count;
    for (AxisWeights& weights : other.weights_) {
        if (weights.axis == axis) {
            std::vector<double> kept;
            for (Index i = 0; i < count; ++i) {
                kept.push_back(weights.factor[static_cast<std::size_t>(begin + i * stride)]);
            }
            weights.factor = std::move(kept);
        }
    }
    return other;
}

Variable Variable::isel(const std::string& dimension, Index index) const {
    const int axis = axis_of(dimension);
    const Index extent = selection_.count[axis];
    if (index < -extent || index >= extent) {
        throw InvalidArgument(Problem{text("index out of range along '", dimension, "'"),
                                      text(index), text(-extent, " to ", extent - 1), ""});
    }
    return selecting(axis, index < 0 ? index + extent : index, 1, 1);
}

Variable Variable::isel(const std::string& dimension, Index begin, Index end, Index stride) const {
    const int axis = axis_of(dimension);
    const Index extent = selection_.count[axis];
    if (begin < 0 || end > extent || begin > end || stride < 1) {
        throw InvalidArgument(
            Problem{text("cannot select along '", dimension, "'"),
                    text(begin, " to ", end, ", every ", stride),
                    text("a range within 0 to ", extent, ", a stride of 1 or more"), ""});
    }
    return selecting(axis, begin, begin == end ? 0 : (end - begin - 1) / stride + 1, stride);
}

Variable Variable::sel(const std::string& dimension, double from, double to) const {
    const std::vector<double> values = coordinate(dimension);
    const bool ascends = std::is_sorted(values.begin(), values.end());
    if (!ascends && !std::is_sorted(values.rbegin(), values.rend())) {
        throw InvalidArgument(Problem{text("cannot select along '", dimension, "' by coordinate"),
                                      "values that go up and down", "ascending or descending ones",
                                      "Use isel"});
    }
    const auto before = [&](double a, double b) { return ascends ? a < b : a > b; };
    const auto first = std::lower_bound(values.begin(), values.end(), from, before);
    const auto end = std::upper_bound(first, values.end(), to, before);
    return selecting(axis_of(dimension), first - values.begin(), std::max<Index>(end - first, 0),
                     1);
}

Variable Variable::where(Comparison comparison, double bound) const {
    Variable other = *this;
    other.where_.push_back(compare(0, comparison, bound));
    return other;
}

Variable Variable::weighted(const std::string& dimension, std::vector<double> factor) const {
    const int axis = axis_of(dimension);
    if (static_cast<Index>(factor.size()) != selection_.count[axis]) {
        throw InvalidArgument(Problem{text("weights along '", dimension, "' do not fit"),
                                      text(factor.size()), text(selection_.count[axis]),
                                      "Give one for each selected index"});
    }
    Variable other = *this;
    other.weights_.push_back({axis, std::move(factor)});
    return other;
}

Variable Variable::weighted_by_cosine(const std::string& dimension) const {
    std::vector<double> factor = coordinate(dimension);
    for (double& degrees : factor) {
        degrees = std::cos(degrees * std::numbers::pi / 180);
    }
    return weighted(dimension, std::move(factor));
}

Variable Variable::raw() const {
    Variable other = *this;
    other.raw_ = true;
    return other;
}

Request Variable::request(const std::vector<std::string>& operators,
                          const std::vector<std::string>& over, bool skipna,
                          std::vector<std::string>& warnings) const {
    Request request;
    Input input{parts_, {}};
    for (std::size_t i = 0; i < parts_.size() && !raw_; ++i) {
        const store::Dataset& part = *parts_[i];
        const Decoding decoding =
            cf_decoding(part.attributes(), part.dtype(), part.name(), warnings);
        if (i > 0 && !(decoding == input.decoding)) {
            throw InvalidArgument(
                Problem{text("'", part.name(), "' is packed or filled differently in two files"),
                        part.bytes().path(), "what " + parts_.front()->bytes().path() + " has",
                        "Reduce the files one by one, or raw()"});
        }
        input.decoding = decoding;
    }
    request.inputs.push_back(std::move(input));
    request.selection = selection_;
    request.weights = weights_;
    request.where = where_;
    for (const std::string& name : operators) {
        request.entries.push_back({name, compute::make_operator(name, {{"skipna", skipna}}), {}});
    }
    for (const std::string& dimension : over) {
        request.over.push_back(axis_of(dimension));
    }
    return request;
}

void Variable::keep_coordinates(const std::vector<std::string>& over, Reduced& reduced) const {
    const auto& names = files_.front()->names();
    for (std::size_t axis = 0; axis < dimensions_.size() && !over.empty(); ++axis) {
        const std::string& dimension = dimensions_[axis];
        if (std::find(over.begin(), over.end(), dimension) != over.end()) {
            continue;
        }
        reduced.dimensions.push_back(dimension);
        const bool there = std::find(names.begin(), names.end(), dimension) != names.end();
        if (there && files_.front()->dataset(dimension)->shape().size() == 1) {
            reduced.coordinates[dimension] = coordinate(dimension);
        }
    }
}

Reduced Variable::reduce(const std::vector<std::string>& operators,
                         const std::vector<std::string>& over, const mpi::Comm& comm,
                         const Options& options, bool skipna) const {
    Reduced reduced;
    Request wanted;
    const auto prepare = [&] {
        wanted = request(operators, over, skipna, reduced.warnings);
        keep_coordinates(over, reduced);
    };
    if (options.mode == Options::Mode::Collective) {
        mpi::agree(comm, prepare);
    } else {
        prepare();
    }
    Outcome outcome = run(std::move(wanted), options, comm);
    reduced.results = std::move(outcome.groups.front());
    reduced.stats = outcome.stats;
    return reduced;
}

}  // namespace fluvial::scan
