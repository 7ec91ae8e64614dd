// SPDX-License-Identifier: Apache-2.0
/// The header of netCDF classic files (CDF-1, CDF-2, CDF-5), as its bytes say it.
/// Source: "The NetCDF Classic Format Specification" (Unidata) and "CDF-5 file format
/// specification" (PnetCDF).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

enum class ClassicType : std::uint32_t {
    Byte = 1,
    Char = 2,
    Short = 3,
    Int = 4,
    Float = 5,
    Double = 6,
    UByte = 7,  // this and all that follow: CDF-5 only
    UShort = 8,
    UInt = 9,
    Int64 = 10,
    UInt64 = 11,
};

std::uint64_t size_of(ClassicType type);
/// None for Char.
std::optional<DType> dtype_of(ClassicType type);

struct ClassicVariable {
    std::string name;
    std::vector<std::size_t> dimensions;  ///< places in ClassicHeader::dimensions
    Attributes attributes;
    ClassicType type = ClassicType::Byte;
    std::uint64_t begin = 0;
};

struct ClassicHeader {
    int version = 1;                       ///< 1, 2 or 5
    std::optional<std::uint64_t> records;  ///< none: "streaming", for the file's size to say
    std::vector<Dimension> dimensions;     ///< at most one is unlimited, with length 0 here
    Attributes attributes;
    std::vector<ClassicVariable> variables;
    std::uint64_t bytes = 0;  ///< of the header
};

/// Whether the file opens with the magic bytes of one of the three versions.
bool is_netcdf_classic(const InputFile& file);

/// Memory stays within a small multiple of the file's size, whatever the header promises. Throws
/// DamagedFile for anything that the format does not allow. Lengths of variables (vsize) are left
/// out: 32 bits cannot hold those of large ones, so a reader may not trust them.
ClassicHeader parse_classic_header(const InputFile& file);

}  // namespace fluvial::store
