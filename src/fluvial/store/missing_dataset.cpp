// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/missing_dataset.hpp"

#include <algorithm>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::store {
namespace {

std::string remedy_for(const std::string& name, const std::vector<std::string>& names) {
    const auto in_step = std::ranges::find_if(
        names, [&](const std::string& one) { return !name.empty() && one.ends_with("/" + name); });
    return in_step != names.end() ? text("Steps call it that, as in steps[0]['", name,
                                         "']; in the file as a whole it is '", *in_step, "'")
                                  : did_you_mean(name, names);
}

}  // namespace

void throw_no_dataset(const File& file, const std::string& name) {
    throw UnknownName(Problem{
        "no such dataset in '" + file.path() + "'", "'" + name + "'",
        file.names().empty() ? "none: the file holds no numeric dataset" : listed(file.names()),
        remedy_for(name, file.names())});
}

void throw_unusable_dataset(const File& file, const std::string& name, const std::string& why) {
    throw InvalidArgument(Problem{"cannot compute on '" + name + "' of '" + file.path() + "'", why,
                                  listed(file.names()), ""});
}

}  // namespace fluvial::store
