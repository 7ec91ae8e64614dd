// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/info.hpp"

#include <charconv>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"

namespace fluvial::mpi {

std::optional<std::string> hint(MPI_Info info, const std::string& key) {
    if (info == MPI_INFO_NULL) {
        return std::nullopt;
    }
    int length = 0, found = 0;
    check(MPI_Info_get_valuelen(info, key.c_str(), &length, &found), "read a hint");
    if (found == 0) {
        return std::nullopt;
    }
    std::vector<char> value(static_cast<std::size_t>(length) + 1);
    check(MPI_Info_get(info, key.c_str(), length, value.data(), &found), "read a hint");
    return std::string(value.data());
}

std::map<std::string, std::string> hints_of(MPI_Info info) {
    std::map<std::string, std::string> all;
    int count = 0;
    if (info != MPI_INFO_NULL) {
        check(MPI_Info_get_nkeys(info, &count), "count hints");
    }
    for (int i = 0; i < count; ++i) {
        char key[MPI_MAX_INFO_KEY + 1] = {};
        check(MPI_Info_get_nthkey(info, i, key), "read a hint");
        all[key] = hint(info, key).value_or("");
    }
    return all;
}

long long positive_hint(MPI_Info info, const std::string& key) {
    const auto value = hint(info, key);
    if (!value) {
        return 0;
    }
    long long number = 0;
    const char* const end = value->data() + value->size();
    const auto [stopped, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc() || stopped != end || number < 1) {
        throw InvalidArgument(Problem{text("hint ", key, " makes no sense"), "'" + *value + "'",
                                      "a whole number from 1 on", "Leave it out: it is chosen"});
    }
    return number;
}

bool truth_hint(MPI_Info info, const std::string& key) {
    const std::string value = hint(info, key).value_or("false");
    if (value == "true" || value == "1") {
        return true;
    }
    if (value == "false" || value == "0") {
        return false;
    }
    throw InvalidArgument(
        Problem{text("hint ", key, " makes no sense"), "'" + value + "'", "true, false", ""});
}

}  // namespace fluvial::mpi
