// SPDX-License-Identifier: Apache-2.0
/// Dimension scales as files have them: attributes of the scale and of the datasets along it, as
/// H5DS of libhdf5's high-level library writes them, without that library.
///
/// Source: "HDF5 Dimension Scale Specification" (The HDF Group).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

/// Makes a dataset a scale of that name. Throws SystemError.
void write_hdf5_scale(hid_t dataset, const std::string& name, const std::string& path);

/// Throws InvalidArgument where attributes of a dataset have names that scales need.
void check_scale_attributes(const Attributes& attributes, const std::string& owner);

/// An attribute, which says at a scale what lies along it, has 64 KiB at most.
inline constexpr std::size_t scale_uses_max = 4000;

/// Which datasets lie along which scales.
class ScaleUses {
  public:
    /// Says at the dataset which scale each of its axes has. Throws SystemError.
    void attach(hid_t dataset, const std::vector<hid_t>& scales, const std::string& path);
    /// Says at each scale which datasets have it. Throws SystemError.
    void write(const std::string& path) const;

  private:
    struct Use {
        hobj_ref_t dataset;
        std::int32_t axis;
    };

    std::map<hid_t, std::vector<Use>> uses_;
};

}  // namespace fluvial::store
