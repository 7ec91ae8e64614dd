// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/variable.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/stored_alike.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {
namespace {

/// So many a grouping may have where fewer indices are put into groups.
constexpr Index group_numbers = Index{1} << 20;

bool has_empty_group(const std::optional<Grouping>& groups) {
    if (!groups) {
        return false;
    }
    std::vector<bool> has(static_cast<std::size_t>(groups->count));
    for (const int number : groups->group) {
        if (number >= 0) {
            has[static_cast<std::size_t>(number)] = true;
        }
    }
    return std::find(has.begin(), has.end(), false) != has.end();
}

/// Integers become float64, which has a value for nothing: as in xarray.
void make_real(Input& input) {
    if (is_integer(input.decoding.decoded(input.parts.front()->dtype()))) {
        input.decoding.packed = true;  // by factor 1 and offset 0
    }
}

}  // namespace

Variable Variable::open(const store::FileNames& names, const std::string& name) {
    return {std::make_shared<const JoinedFiles>(names), name};
}

Variable Variable::of(std::shared_ptr<const store::File> file, const std::string& name) {
    return {std::make_shared<const JoinedFiles>(std::move(file)), name};
}

Variable::Variable(Files files, const std::string& name)
    : files_(std::move(files)), parts_(files_->parts_of(name)) {
    const store::Dataset& first = *parts_.front();
    const Coordinates shape = joined_shape({parts_, {}});
    selection_ = select(whole(shape));
    for (int axis = 0; axis < shape.size(); ++axis) {
        const auto& names = first.dimensions();
        const auto i = static_cast<std::size_t>(axis);
        const bool named = i < names.size() && !names[i].empty();
        dimensions_.push_back(named ? names[i] : text(axis));
    }
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

Variable Variable::selecting(int axis, Index begin, Index count, Index stride) const {
    Variable other = *this;
    if (count > 0) {  // of nothing the place does not matter, and may lie outside
        other.selection_.start[axis] += begin * selection_.stride[axis];
    }
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
    if (other.groups_ && other.groups_->axis == axis) {
        std::vector<int> kept;
        for (Index i = 0; i < count; ++i) {
            kept.push_back(other.groups_->group[static_cast<std::size_t>(begin + i * stride)]);
        }
        other.groups_->group = std::move(kept);
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
    if (std::isnan(from) || std::isnan(to)) {
        throw InvalidArgument(
            Problem{text("cannot select along '", dimension, "'"), "NaN", "numbers", ""});
    }
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

Predicate Variable::comparison_with(int input, const Variable& of, Comparison comparison,
                                    double bound) {
    std::vector<std::string> ignored;
    const store::Dataset& part = *of.parts_.front();
    const Decoding decoding = input_of(of.parts_, of.raw_, ignored).decoding;
    check_comparable(decoding.decoded(part.dtype()), bound, "'" + part.name() + "'");
    return compare(input, comparison, bound);
}

Variable Variable::where(Comparison comparison, double bound) const {
    Variable other = *this;
    other.where_.push_back(comparison_with(0, *this, comparison, bound));
    return other;
}

void Variable::check_fits(const Variable& other, const char* what) const {
    const Selection &mine = selection_, &its = other.selection_;
    if (!(mine.start == its.start && mine.count == its.count && mine.stride == its.stride)) {
        throw InvalidArgument(Problem{text("'", other.parts_.front()->name(), "' cannot be ", what,
                                           " '", parts_.front()->name(), "'"),
                                      text(its.count, " from ", its.start),
                                      text(mine.count, " from ", mine.start),
                                      "Select the same of both"});
    }
    if (!other.where_.empty() || !other.weights_.empty() || !other.others_.empty() ||
        other.groups_) {
        throw InvalidArgument(Problem{text("'", other.parts_.front()->name(), "' cannot be ", what,
                                           " '", parts_.front()->name(), "'"),
                                      "conditions, weights, groups or inputs of its own",
                                      "a variable that is selected, or raw()",
                                      "Give them to the first variable"});
    }
}

Variable Variable::with(const Variable& other) const {
    check_fits(other, "an input beside");
    return beside(other, true);
}

Variable Variable::beside(const Variable& other, bool is_input) const {
    Variable both = *this;
    both.others_.push_back({other.parts_, other.raw_, is_input});
    return both;
}

std::vector<int> Variable::inputs_of(const compute::Operator& op) const {
    std::vector<int> inputs = {0};
    for (std::size_t i = 0; i < others_.size(); ++i) {
        if (others_[i].is_input) {
            inputs.push_back(static_cast<int>(i) + 1);
        }
    }
    const int none = static_cast<int>(others_.size()) + 1;  // which is refused
    inputs.resize(static_cast<std::size_t>(op.inputs()), none);
    return inputs;
}

Variable Variable::where(const Variable& other, Comparison comparison, double bound) const {
    check_fits(other, "a condition on");
    Variable both = beside(other, false);
    both.where_.push_back(
        comparison_with(static_cast<int>(both.others_.size()), other, comparison, bound));
    return both;
}

Variable Variable::groupby(const std::string& dimension, std::vector<int> group) const {
    const int axis = axis_of(dimension);
    if (static_cast<Index>(group.size()) != selection_.count[axis]) {
        throw InvalidArgument(Problem{text("groups along '", dimension, "' do not fit"),
                                      text(group.size()), text(selection_.count[axis]),
                                      "Give a number for each selected index"});
    }
    // Each number up to the largest has a result, and room for it on every rank.
    const Index end = std::max(group_numbers, static_cast<Index>(group.size()));
    for (const int number : group) {
        if (number < -1 || number >= end) {
            throw InvalidArgument(Problem{text("a group along '", dimension, "' is out of range"),
                                          text(number),
                                          text("numbers from 0 to ", end - 1, ", or -1 for none"),
                                          "Number the groups one after the other"});
        }
    }
    const int count = group.empty() ? 0 : *std::max_element(group.begin(), group.end()) + 1;
    if (count == 0 && !group.empty()) {
        throw InvalidArgument(Problem{text("no index along '", dimension, "' is in a group"),
                                      "-1 for all of them", "a number from 0 for one or more", ""});
    }
    Variable other = *this;
    other.groups_ = Grouping{axis, std::move(group), count};
    return other;
}

Variable Variable::groupby(const std::string& coordinate) const {
    const std::vector<double> values = this->coordinate(coordinate);
    std::vector<double> known = values;
    std::erase_if(known, [](double value) { return std::isnan(value); });
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    std::vector<int> group;
    for (const double value : values) {
        const auto found = std::lower_bound(known.begin(), known.end(), value);
        group.push_back(std::isnan(value) ? -1 : static_cast<int>(found - known.begin()));
    }
    return groupby(coordinate, std::move(group));
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

Input Variable::input_of(const std::vector<DatasetPtr>& parts, bool raw,
                         std::vector<std::string>& warnings) {
    Input input{parts, {}};
    if (raw) {
        return input;
    }
    const store::Dataset& first = *parts.front();
    for (const DatasetPtr& part : parts) {
        check_stored_alike(*part, first);
    }
    input.decoding = cf_decoding(first.attributes(), first.dtype(), first.name(), warnings);
    return input;
}

Request Variable::request(const std::vector<Operation>& operations,
                          const std::vector<std::string>& over, bool skipna,
                          std::vector<std::string>& warnings) const {
    Request request;
    request.inputs.push_back(input_of(parts_, raw_, warnings));
    check_files(warnings);
    for (const Other& other : others_) {
        request.inputs.push_back(input_of(other.parts, other.raw, warnings));
    }
    request.selection = selection_;
    request.weights = weights_;
    request.where = where_;
    request.groups = groups_;
    request.missing_is_nan = !skipna;
    request.record_axis = record_axis_;
    const bool some_left_out = !where_.empty() || has_empty_group(groups_);
    for (Input& input : request.inputs) {
        if (some_left_out || input.decoding.drops_values()) {
            make_real(input);
        }
    }
    for (const Operation& operation : operations) {
        compute::Options options = operation.options;
        if (operation.name != "count") {  // which counts what is there
            options.try_emplace("skipna", skipna);
        }
        compute::OperatorPtr op =
            operation.made ? operation.made : compute::make_operator(operation.name, options);
        std::vector<int> inputs = inputs_of(*op);
        request.entries.push_back({operation.name, std::move(op), std::move(inputs)});
    }
    for (const std::string& dimension : over) {
        request.over.push_back(axis_of(dimension));
    }
    return request;
}

PendingReduction Variable::start(const std::vector<Operation>& operations,
                                 const std::vector<std::string>& over, const mpi::Comm& comm,
                                 const Options& options, bool skipna) const {
    Reduced reduced;
    Request wanted;
    const auto prepare = [&] {
        wanted = request(operations, over, skipna, reduced.warnings);
        if (options.shuffle != Options::Shuffle::Common && groups_) {
            // Whether a group is empty is another question on each rank.
            std::for_each(wanted.inputs.begin(), wanted.inputs.end(), make_real);
        }
        keep_coordinates(over, reduced);
    };
    const Options begun = begun_together(options, comm);
    if (options.mode == Options::Mode::Independent) {
        prepare();
    } else if (begun.task) {  // a rank that does not come to the agreement is missed
        begun.task->during([&] { mpi::agree(comm, prepare); });
    } else {
        mpi::agree(comm, prepare);
    }
    Scan scan(std::move(wanted), begun, comm);
    scan.start();
    return {std::move(scan), std::move(reduced)};
}

Reduced PendingReduction::wait() {
    Outcome outcome = scan_.wait();
    reduced_.groups = std::move(outcome.groups);
    if (!reduced_.groups.empty()) {
        reduced_.results = reduced_.groups.front();
    }
    reduced_.stats = outcome.stats;
    return std::move(reduced_);
}

Reduced Variable::reduce(const std::vector<Operation>& operations,
                         const std::vector<std::string>& over, const mpi::Comm& comm,
                         const Options& options, bool skipna) const {
    return start(operations, over, comm, options, skipna).wait();
}

}  // namespace fluvial::scan
