// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/staging_copy.hpp"

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using stage::copy_streaming;
using stage::StagingCopy;

TEST_CASE("streaming copies every byte and none beside, at any alignment and length") {
    std::vector<std::byte> from(2000), to(2200);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::byte>(i * 7 + 1);
    }
    for (const std::size_t shift : {0u, 1u, 15u, 16u, 63u, 64u}) {
        for (const std::size_t bytes : {0u, 1u, 63u, 64u, 65u, 127u, 1000u, 1900u}) {
            CAPTURE(shift);
            CAPTURE(bytes);
            std::fill(to.begin(), to.end(), std::byte{0});
            copy_streaming(to.data() + shift, from.data() + 3, bytes);
            CHECK(std::memcmp(to.data() + shift, from.data() + 3, bytes) == 0);
            for (std::size_t i = 0; i < to.size(); ++i) {
                if (i < shift || i >= shift + bytes) {
                    REQUIRE(to[i] == std::byte{0});
                }
            }
        }
    }
}

TEST_CASE("a staging copy equals a plain one whatever way it takes") {
    for (const Index count : {Index{1}, Index{2047}, Index{100'000}, Index{1'100'000}}) {
        CAPTURE(count);
        std::vector<double> from(static_cast<std::size_t>(2 * count)),
            to(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < from.size(); ++i) {
            from[i] = static_cast<double>(i);
        }
        StagingCopy stage_copy;
        for (const Index stride : {Index{8}, Index{16}}) {
            const ArrayView source{
                reinterpret_cast<const std::byte*>(from.data()), DType::Float64, {count}, {stride}};
            const MutableArrayView target{
                reinterpret_cast<std::byte*>(to.data()), DType::Float64, {count}, {8}};
            for (int again = 0; again < 3; ++again) {
                std::fill(to.begin(), to.end(), -1.0);
                stage_copy(source, target);
                bool equal = true;
                for (Index i = 0; i < count; ++i) {
                    equal &= to[static_cast<std::size_t>(i)] ==
                             from[static_cast<std::size_t>(i * stride / 8)];
                }
                CHECK(equal);
            }
        }
    }
}
