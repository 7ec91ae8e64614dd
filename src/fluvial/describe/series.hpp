// SPDX-License-Identifier: Apache-2.0
/// What a series says of itself, beside its steps. It is opened by its name, which is not said in
/// it.
#pragma once

#include "fluvial/describe/attribute.hpp"

namespace fluvial {

struct SeriesDescription {
    Attributes attributes;

    /// What a further rank of the writer, or a further host, says: where an attribute was said
    /// before, that holds.
    void add(SeriesDescription further) { attributes.merge(further.attributes); }
};

}  // namespace fluvial
