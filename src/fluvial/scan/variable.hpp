// SPDX-License-Identifier: Apache-2.0
/// A variable of one file or several, selected by coordinates and reduced, in one expression:
///
///     const auto t = Variable::open("t_*.nc", "temperature");     // or {"jan.nc", "feb.nc"}
///     const Reduced r = t.sel("lat", -30, 30).isel("level", 0).reduce({"mean"}, {"lat", "lon"});
///     r.results.at("mean").at("value"), r.dimensions, r.coordinates.at("time")
///
/// The same as Python's fl.open("t_*.nc")["temperature"]; scan/scan.hpp has what stands behind it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/compute/registry.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/store/file_names.hpp"

namespace fluvial::scan {

class JoinedFiles;

/// What a reduction is to do: an operator by its name, with its options, or one that was made
/// before, such as a compute::Apply of a function of several variables.
struct Operation {
    Operation(const char* name_) : Operation(std::string(name_)) {}
    Operation(std::string name_, compute::Options options_ = {})
        : name(std::move(name_)), options(std::move(options_)) {}
    /// `name` is that of the result.
    Operation(std::string name_, compute::OperatorPtr made_)
        : name(std::move(name_)), made(std::move(made_)) {}

    std::string name;
    compute::Options options{};  ///< {"edges", std::vector{0.0, 1.0}}
    compute::OperatorPtr made{};
};

/// What a reduction left over. Results have the kept dimensions first.
struct Reduced {
    std::map<std::string, compute::Result> results;  ///< by operation; of the first group
    /// The same of each group, after Variable::groupby.
    std::vector<std::map<std::string, compute::Result>> groups;
    std::vector<std::string> dimensions;                     ///< that were kept, in order
    std::map<std::string, std::vector<double>> coordinates;  ///< of kept dimensions that have them
    /// Attributes that could not be used; and of several files, the first that is out of order.
    std::vector<std::string> warnings;
    Stats stats;
};

/// A reduction under way, while the program does something else. Move-only.
class PendingReduction {
  public:
    /// As Scan::test, progress and wait.
    bool test() { return scan_.test(); }
    double progress() const { return scan_.progress(); }
    /// Once. Collective, blocking.
    Reduced wait();

  private:
    friend class Variable;
    PendingReduction(Scan scan, Reduced reduced)
        : scan_(std::move(scan)), reduced_(std::move(reduced)) {}
    Scan scan_;
    Reduced reduced_;
};

/// A value: selecting returns another one and reads no data. Dimensions go by name, or by "0", "1"
/// … where the file has none. Values are decoded as the CF conventions say, unless raw().
class Variable {
  public:
    /// Several files are one, joined in the order given, or sorted by name for a pattern, along
    /// their unlimited dimension; where there is none, along the first one of the dataset with the
    /// most. A variable that does not begin with it is that of the first file. All of them are one
    /// scan: its ranks share what is to be read, whatever file it is in. They stay open. Local.
    /// Throws what store::FileNames::paths, store::open_file and File::dataset throw, and
    /// InvalidArgument when the files do not fit.
    static Variable open(const store::FileNames& names, const std::string& name);
    /// Of a file that is open, or of a step of a series (series.hpp), also a live one.
    static Variable of(std::shared_ptr<const store::File> file, const std::string& name);

    const std::vector<std::string>& dimensions() const { return dimensions_; }
    /// What is selected.
    const Coordinates& shape() const { return selection_.count; }
    /// Coordinates of the selected indices of a dimension: the 1-D variable of that name, decoded.
    /// It is the one of the variable's own group, or of the nearest group around it; without one,
    /// positions on the grid that openPMD's attributes of a mesh say. Times of several files are as
    /// the first one counts them. Local, blocking. Throws InvalidArgument when there is none, when
    /// files count it by units or calendars that do not fit, and when it is not joined and another
    /// file has other values.
    std::vector<double> coordinate(const std::string& dimension) const;

    /// One index (it stays a dimension of length 1); negative ones count from the end.
    Variable isel(const std::string& dimension, Index index) const;
    /// Indices [begin, end) of what is selected so far, every stride-th.
    Variable isel(const std::string& dimension, Index begin, Index end, Index stride = 1) const;
    /// Coordinates from `from` to `to`, both included, in the order of the file: xarray's
    /// sel(lat=slice(from, to)). The coordinate must ascend or descend.
    Variable sel(const std::string& dimension, double from, double to) const;
    /// Only elements for which this holds count. Throws InvalidArgument for integers of 64 bits and
    /// a bound of 2^53 or more, which float64 does not tell from its neighbours.
    Variable where(Comparison comparison, double bound) const;
    /// Only where this holds of another variable of the same shape and selection.
    Variable where(const Variable& other, Comparison comparison, double bound) const;
    /// Another variable of the same shape and selection as a further input: of operators that take
    /// several, such as compute::Apply, which get this one first and then those in order. Throws
    /// InvalidArgument when it has conditions, weights or groups of its own.
    Variable with(const Variable& other) const;
    /// Results of their own for each group of selected indices of a dimension, which is to be
    /// reduced: `group` has a number from 0 for each index, or -1 for none, but not for all. They
    /// are less than 2^20, or than how many indices there are.
    Variable groupby(const std::string& dimension, std::vector<int> group) const;
    /// The same with a group for each value of a coordinate, in ascending order.
    Variable groupby(const std::string& coordinate) const;
    /// One factor for each selected index.
    Variable weighted(const std::string& dimension, std::vector<double> factor) const;
    /// Area weights of a regular grid: the cosine of a coordinate in degrees.
    Variable weighted_by_cosine(const std::string& dimension) const;
    /// Stored values as they are: no missing values, no scale and offset.
    Variable raw() const;

    /// Operators by name over these dimensions (none: all of them). NaN and missing elements are
    /// passed over; without `skipna` what is missing is NaN, and makes a result NaN, but for
    /// counts. Integers of which some may be missing are float64: look at a result's dtype. Several
    /// files must store the variable alike and have the same coordinates, also along what is
    /// reduced; else it is InvalidArgument. Collective over `comm` unless it is serial or options
    /// say otherwise; blocking.
    Reduced reduce(const std::vector<Operation>& operations,
                   const std::vector<std::string>& over = {}, const mpi::Comm& comm = {},
                   const Options& options = {}, bool skipna = true) const;
    /// The same, read and computed by threads of its own until its wait().
    PendingReduction start(const std::vector<Operation>& operations,
                           const std::vector<std::string>& over = {}, const mpi::Comm& comm = {},
                           const Options& options = {}, bool skipna = true) const;

  private:
    friend class Series;
    friend class SeriesStep;
    using Files = std::shared_ptr<const JoinedFiles>;
    Variable(Files files, const std::string& name);
    Request request(const std::vector<Operation>& operations, const std::vector<std::string>& over,
                    bool skipna, std::vector<std::string>& warnings) const;
    static Input input_of(const std::vector<DatasetPtr>& parts, bool raw,
                          std::vector<std::string>& warnings);
    void check_fits(const Variable& other, const char* what) const;
    void keep_coordinates(const std::vector<std::string>& over, Reduced& reduced) const;
    std::optional<std::string> coordinate_of(int axis) const;
    std::optional<std::vector<double>> grid_along(int axis) const;
    void check_files(std::vector<std::string>& warnings) const;
    std::string out_of_order() const;
    static Predicate comparison_with(int input, const Variable& of, Comparison comparison,
                                     double bound);
    int axis_of(const std::string& dimension) const;
    Variable selecting(int axis, Index begin, Index count, Index stride) const;

    Files files_;
    std::vector<DatasetPtr> parts_;
    std::vector<std::string> dimensions_;
    Selection selection_;
    std::optional<int> record_axis_;  ///< of a step that is a record
    std::vector<AxisWeights> weights_;
    std::vector<Predicate> where_;
    struct Other {
        std::vector<DatasetPtr> parts;
        bool raw;
        bool is_input;  ///< of operators; else of a condition alone
    };
    /// Adds what has number others_.size() among the inputs of the scan then.
    Variable beside(const Variable& other, bool is_input) const;
    /// Those that an operator gets, by their numbers.
    std::vector<int> inputs_of(const compute::Operator& op) const;
    std::vector<Other> others_;
    std::optional<Grouping> groups_;
    bool raw_ = false;
};

}  // namespace fluvial::scan
