// SPDX-License-Identifier: Apache-2.0
/// What a scan is to do: which data, which part of it, which operators, over which axes.
///
/// This is the object of collective computing (paper "Collective Computing for Scientific Big Data
/// Analysis", Figure 6): everything is said before the first byte is read.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/compute/request.hpp"
#include "fluvial/scan/decoding.hpp"
#include "fluvial/store/file.hpp"

namespace fluvial::scan {

using DatasetPtr = std::shared_ptr<const store::Dataset>;

/// A dataset, or several joined along their first axis (a variable that is spread over files). All
/// parts have one dtype and equal shapes but for the first axis.
struct Input {
    std::vector<DatasetPtr> parts;
    Decoding decoding;  ///< how stored values become the numbers that operators see
};

/// A factor for each selected index of one axis; factors of several axes multiply.
struct AxisWeights {
    int axis = 0;
    std::vector<double> factor;  ///< as many as the selection has along the axis
};

/// Which elements count.
struct Predicate {
    /// Sets mask[i] to 0 for elements that shall not count; it comes filled with 1, row-major over
    /// `where`, which is in global coordinates, or where the scan's one selection has a stride, in
    /// the selection's own (operators see the same; "coordinates" of results are global). Inputs
    /// are decoded. Called by several threads at once.
    using Function = std::function<void(std::span<const ArrayView> inputs, const Region& where,
                                        std::span<std::uint8_t> mask)>;

    /// `declared` (base/terms.hpp) is what ranks know the function by: its name and version.
    template <class F>
        requires std::constructible_from<Function, F>
    Predicate(F&& f, std::string known_as = "a function")
        : function(std::forward<F>(f)), declared(std::move(known_as)) {}

    Function function;
    std::string declared;
    /// Numbers of the inputs that it asks about: an element that is missing in one of them does not
    /// count, whatever stands in the file for it.
    std::vector<int> asked{};
};

/// input < bound, and so on. NaN compares false.
enum class Comparison : std::uint8_t { Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual };
/// Throws InvalidArgument for a comparison that is none; and, when it is asked, for integers of 64
/// bits and a bound that float64 does not tell from its neighbours.
Predicate compare(int input, Comparison comparison, double bound);
/// Throws so at once, for elements of this dtype. `what` opens the message.
void check_comparable(DType dtype, double bound, const std::string& what);

/// Indices of one axis put into groups, each of which has a result of its own. The axis must be
/// reduced.
struct Grouping {
    int axis = 0;
    std::vector<int> group;  ///< of each selected index of the axis; -1: in none
    int count = 0;
};

struct Request : compute::Request {
    std::vector<Input> inputs;  ///< of equal shapes; Entry::inputs counts in this list
    std::vector<AxisWeights> weights;
    std::vector<Predicate> where;  ///< an element counts when all agree
    std::optional<Grouping> groups;
    /// Axes along which the caller counts from the end, where one of equal elements is chosen.
    std::vector<int> backwards;
    /// Elements that are missing, or left out by `where`, are NaN, which operators may let
    /// propagate, instead of being passed over: of all inputs that NaN fits into.
    bool missing_is_nan = false;
    /// The axis of which the one selection has one record, of files that may grow: ranks may have
    /// found any number of records behind it.
    std::optional<int> record_axis{};

    Request() = default;
    Request(std::vector<Input> of, std::optional<Selection> selected,
            std::vector<compute::Reduction::Entry> operators, std::vector<int> axes,
            std::vector<AxisWeights> factors = {}, std::vector<Predicate> conditions = {},
            std::optional<Grouping> grouping = {})
        : compute::Request{std::move(operators), std::move(selected), std::move(axes)},
          inputs(std::move(of)),
          weights(std::move(factors)),
          where(std::move(conditions)),
          groups(std::move(grouping)) {}
};

}  // namespace fluvial::scan
