// SPDX-License-Identifier: Apache-2.0
/// A variable of one file or several, selected by coordinates and reduced, in one expression:
///
///     const auto t = Variable::open({"t.nc"}, "temperature");
///     const Reduced r = t.sel("lat", -30, 30).isel("level", 0).reduce({"mean"}, {"lat", "lon"});
///     r.results.at("mean").at("value"), r.dimensions, r.coordinates.at("time")
///
/// The same as Python's fl.open("t.nc")["temperature"]; scan/scan.hpp has what stands behind it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fluvial/scan/scan.hpp"

namespace fluvial::scan {

/// What a reduction left over. Results have the kept dimensions first.
struct Reduced {
    std::map<std::string, compute::Result> results;          ///< by operator
    std::vector<std::string> dimensions;                     ///< that were kept, in order
    std::map<std::string, std::vector<double>> coordinates;  ///< of kept dimensions that have them
    std::vector<std::string> warnings;                       ///< attributes that could not be used
    Stats stats;
};

/// A value: selecting returns another one and reads no data. Dimensions go by name, or by "0", "1"
/// … where the file has none. Values are decoded as the CF conventions say, unless raw().
class Variable {
  public:
    /// Several files are joined along the first dimension, in the order given. Local. Throws what
    /// store::open_file and File::dataset throw, and InvalidArgument when the files do not fit.
    static Variable open(const std::vector<std::string>& paths, const std::string& name);

    const std::vector<std::string>& dimensions() const { return dimensions_; }
    /// What is selected.
    const Coordinates& shape() const { return selection_.count; }
    /// Coordinates of the selected indices of a dimension: the 1-D variable of that name, decoded.
    /// Local, blocking. Throws InvalidArgument when there is none.
    std::vector<double> coordinate(const std::string& dimension) const;

    /// One index (it stays a dimension of length 1); negative ones count from the end.
    Variable isel(const std::string& dimension, Index index) const;
    /// Indices [begin, end) of what is selected so far, every stride-th.
    Variable isel(const std::string& dimension, Index begin, Index end, Index stride = 1) const;
    /// Coordinates from `from` to `to`, both included, in the order of the file: xarray's
    /// sel(lat=slice(from, to)). The coordinate must ascend or descend.
    Variable sel(const std::string& dimension, double from, double to) const;
    /// Only elements for which this holds count.
    Variable where(Comparison comparison, double bound) const;
    /// One factor for each selected index.
    Variable weighted(const std::string& dimension, std::vector<double> factor) const;
    /// Area weights of a regular grid: the cosine of a coordinate in degrees.
    Variable weighted_by_cosine(const std::string& dimension) const;
    /// Stored values as they are: no missing values, no scale and offset.
    Variable raw() const;

    /// Operators by name over these dimensions (none: all of them). NaN is passed over unless
    /// `skipna` is false. Collective over `comm` unless it is serial or options say otherwise;
    /// blocking.
    Reduced reduce(const std::vector<std::string>& operators,
                   const std::vector<std::string>& over = {}, const mpi::Comm& comm = {},
                   const Options& options = {}, bool skipna = true) const;

  private:
    Request request(const std::vector<std::string>& operators, const std::vector<std::string>& over,
                    bool skipna, std::vector<std::string>& warnings) const;
    void keep_coordinates(const std::vector<std::string>& over, Reduced& reduced) const;
    int axis_of(const std::string& dimension) const;
    Variable selecting(int axis, Index begin, Index count, Index stride) const;

    std::vector<std::shared_ptr<const store::File>> files_;
    std::vector<DatasetPtr> parts_;
    std::vector<std::string> dimensions_;
    Selection selection_;
    std::vector<AxisWeights> weights_;
    std::vector<Predicate> where_;
    bool raw_ = false;
};

}  // namespace fluvial::scan
