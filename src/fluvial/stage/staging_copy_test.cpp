// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/staging_copy.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using stage::StagingCopy;

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
            for (int again = 0; again < 3; ++again) {
                std::fill(to.begin(), to.end(), -1.0);
                stage_copy(source, reinterpret_cast<std::byte*>(to.data()));
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
