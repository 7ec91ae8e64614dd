// SPDX-License-Identifier: Apache-2.0
/// Attributes: what openPMD, netCDF and HDF5 hang on series, steps and datasets.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fluvial/base/bytes.hpp"

namespace fluvial {

/// An integer that int64 may not hold: those of files from 2^63 on.
class Unsigned {
  public:
    explicit Unsigned(std::uint64_t value = 0) : value_(value) {}
    explicit operator std::uint64_t() const { return value_; }
    explicit operator double() const { return static_cast<double>(value_); }
    bool operator==(const Unsigned&) const = default;

  private:
    std::uint64_t value_;
};

/// The order of the alternatives is part of the staging format: append only.
using Attribute =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, Unsigned, std::vector<Unsigned>>;
using Attributes = std::map<std::string, Attribute>;

/// A number, and numbers: int64 where they all fit.
Attribute attribute_of(std::uint64_t value);
Attribute attribute_of(const std::vector<std::uint64_t>& values);

/// The number or the numbers as float64; nothing of texts and of true and false.
std::optional<std::vector<double>> floats_of(const Attribute& value);

/// The text that the attribute of this name is; empty where there is none, or it is no text.
std::string text_of(const Attributes& attributes, const std::string& name);

/// Whether they say the same. Unlike by ==, NaN says what NaN says: it is missing values' usual
/// mark.
bool say_the_same(const Attribute& one, const Attribute& other);
bool say_the_same(const Attributes& one, const Attributes& other);

void encode(ByteWriter& out, const Attributes& attributes);
Attributes decode_attributes(ByteReader& in);

}  // namespace fluvial
