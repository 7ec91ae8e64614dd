// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A.2.l, The Data Storage - Filter
// Pipeline Message; parameters of filters as H5Zscaleoffset.c and H5Znbit.c set them.
#include "fluvial/store/hdf5/guard/filters.hpp"

#include "fluvial/store/hdf5/front.hpp"

namespace fluvial::store {

namespace {

enum FilterNumber : unsigned { nbit = 5, scale_offset = 6, first_of_others = 256 };

}  // namespace

const char* check_filters(std::span<const std::byte> message, std::uint64_t& decoded_bytes) {
    constexpr const char* senseless = "filters that make no sense";
    constexpr std::uint64_t version_max = 2;
    Front in(message);
    const auto version = in.number(1), filters = in.number(1);
    if (version > version_max) {
        return nullptr;
    }
    in.take(version == 1 ? 6 : 0);
    for (std::uint64_t i = 0; i < filters; ++i) {
        const auto id = in.number(2);
        const auto name_bytes = version == 1 || id >= first_of_others ? in.number(2) : 0;
        in.take(2);
        const auto count = in.number(2);
        in.take(version == 1 ? (name_bytes + 7) / 8 * 8 : name_bytes);
        Front values(in.take(4 * count));
        in.take(version == 1 && count % 2 == 1 ? 4 : 0);
        if (!in.good()) {
            return senseless;
        }
        if (id == nbit || id == scale_offset) {
            const auto first = values.number(4);
            values.take(4);
            const auto elements = values.number(4);
            values.take(4);
            decoded_bytes = elements * values.number(4);
            if (!values.good() || decoded_bytes == 0 || (id == nbit && first != count)) {
                return senseless;
            }
        }
    }
    return nullptr;
}

}  // namespace fluvial::store
