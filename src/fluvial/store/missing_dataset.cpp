// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/missing_dataset.hpp"

#include <algorithm>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::store {
namespace {

constexpr std::size_t names_max = 30;  // more would hide the message

std::string listed(const std::vector<std::string>& names) {
    if (names.empty()) {
        return "none: the file holds no numeric dataset";
    }
    std::string list;
    for (std::size_t i = 0; i < names.size() && i < names_max; ++i) {
        list += (i == 0 ? "'" : ", '") + names[i] + "'";
    }
    if (names.size() > names_max) {
        list += text(" and ", names.size() - names_max, " more");
    }
    return list;
}

std::string remedy_for(const std::string& name, const std::vector<std::string>& names) {
    const auto in_step = std::ranges::find_if(
        names, [&](const std::string& one) { return !name.empty() && one.ends_with("/" + name); });
    return in_step != names.end() ? text("Steps call it that, as in steps[0]['", name,
                                         "']; in the file as a whole it is '", *in_step, "'")
                                  : did_you_mean(name, names);
}

}  // namespace

void throw_no_dataset(const File& file, const std::string& name) {
    throw UnknownName(Problem{"no such dataset in '" + file.path() + "'", "'" + name + "'",
                              listed(file.names()), remedy_for(name, file.names())});
}

void throw_unusable_dataset(const File& file, const std::string& name, const std::string& why) {
    throw InvalidArgument(Problem{"cannot compute on '" + name + "' of '" + file.path() + "'", why,
                                  listed(file.names()), ""});
}

}  // namespace fluvial::store
