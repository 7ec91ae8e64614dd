// SPDX-License-Identifier: Apache-2.0
/// What variables, names and attributes of netCDF may be, in either of its formats.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/store/record_layout.hpp"

namespace fluvial::store {

/// A text, or numbers of one type along one axis.
struct NetcdfAttribute {
    std::string name;
    std::optional<std::string> text;
    DType dtype = DType::Float64;    ///< of numbers
    std::vector<std::byte> numbers;  ///< in this machine's order of bytes
    std::size_t count() const { return numbers.size() / size_of(dtype); }
};

/// Attributes of `owner`, which messages name. With a `dtype`: of a dataset of it, with whose
/// elements other programs compare some of them, so that these are of that dtype. Throws
/// InvalidArgument for what netCDF does not have.
std::vector<NetcdfAttribute> netcdf_attributes(const Attributes& attributes,
                                               const std::string& owner,
                                               std::optional<DType> dtype = {});

/// Throws InvalidArgument; `what` is "an axis", for example.
void check_netcdf_name(const std::string& name, const std::string& what);

/// Throws InvalidArgument; `name` is that of the variable.
void check_netcdf_type(DType dtype, const std::string& name);

/// Of a first step: sorted into variables that are there once and, behind them, those of each
/// record. Throws InvalidArgument where netCDF does not have what was put.
void check_and_sort(RecordLayout& layout);

/// Of a variable, or of one record of it.
std::uint64_t bytes_of(const RecordVariable& variable);

}  // namespace fluvial::store
