// SPDX-License-Identifier: Apache-2.0
/// For fuzzers and the tests that replay what they found: does with a file of any bytes what users
/// do with files. Errors are welcome, if they are Fluvial's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/memory_file.hpp"

namespace fluvial::store {

/// Looks at everything that the file says of itself and reads a small box at the start, the middle
/// and the end of every dataset.
inline void exercise(const File& file) {
    constexpr Index side_max = 3;
    constexpr Index elements_max = 4096;
    for (const std::string& name : file.names()) {
        if (file.unreadable().contains(name)) {
            continue;
        }
        const auto dataset = file.dataset(name);
        for (int corner = 0; corner < 3; ++corner) {
            Region box = whole(dataset->shape());
            Index elements = 1;
            for (int axis = box.ndim() - 1; axis >= 0; --axis) {
                const Index length = box.extent[axis];
                const Index side = elements > elements_max ? 1 : side_max;
                box.extent[axis] = std::min(length, side);
                box.offset[axis] = (length - box.extent[axis]) / 2 * corner;
                elements *= std::max<Index>(box.extent[axis], 1);
            }
            std::vector<std::byte> to(static_cast<std::size_t>(box.volume()) *
                                      size_of(dataset->dtype()));
            dataset->read(box, {to.data(), dataset->dtype(), box.extent,
                                contiguous_strides(box.extent, size_of(dataset->dtype()))});
        }
    }
}

/// True: opened and read; false: refused by an Error. Anything else is a bug and goes through.
inline bool opens(std::shared_ptr<const File> (*open)(const std::string&),
                  std::span<const std::byte> bytes) {
    const MemoryFile memory(bytes);
    try {
        exercise(*open(memory.path()));
        return true;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace fluvial::store
