// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/missing_dataset.hpp"

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

}  // namespace

void throw_no_dataset(const File& file, const std::string& name) {
    throw UnknownName(Problem{"no such dataset in '" + file.path() + "'", "'" + name + "'",
                              listed(file.names()), did_you_mean(name, file.names())});
}

void throw_unusable_dataset(const File& file, const std::string& name, const std::string& why) {
    throw InvalidArgument(Problem{"cannot compute on '" + name + "' of '" + file.path() + "'", why,
                                  listed(file.names()), ""});
}

}  // namespace fluvial::store
