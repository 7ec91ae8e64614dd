// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/virtual_sources.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include <sys/stat.h>

#include "fluvial/store/hdf5/driver.hpp"
#include "fluvial/store/hdf5/layout.hpp"

namespace fluvial::store {

namespace {

constexpr int sources_depth_max = 8;  // of virtual datasets in virtual datasets

[[noreturn]] void damaged(const std::string& what, const std::string& part,
                          const std::string& reason) {
    throw DamagedFile(Problem{"a part of the virtual dataset " + what + " cannot be read",
                              part + ": " + reason, "parts that are sound, or do not exist",
                              "Copy or write this file again"});
}

/// Names may have a place for the number of a block: "part_%b.h5".
std::string numbered(const std::string& name, std::uint64_t block) {
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool special = name[i] == '%' && i + 1 < name.size();
        if (special && (name[i + 1] == 'b' || name[i + 1] == '%')) {
            out += name[++i] == 'b' ? std::to_string(block) : "%";
        } else {
            out += name[i];
        }
    }
    return out;
}

std::string text_of(const std::function<ssize_t(char*, std::size_t)>& get,
                    const std::string& what) {
    std::string text(static_cast<std::size_t>(hdf5_checked(get(nullptr, 0), what)) + 1, '\0');
    hdf5_checked(get(text.data(), text.size()), what);
    text.pop_back();
    return text;
}

/// Where libhdf5 looks for a file that is named in another one, in its order.
std::vector<std::filesystem::path> places_of(const std::filesystem::path& name,
                                             const std::filesystem::path& named_in) {
    std::vector<std::filesystem::path> places;
    std::filesystem::path relative = name;
    if (name.is_absolute()) {
        places.push_back(name);
        relative = name.filename();
    }
    if (const char* const prefixes = std::getenv("HDF5_VDS_PREFIX")) {
        std::string rest = prefixes;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(':'), rest.size());
            places.push_back(std::filesystem::path(rest.substr(0, end)) / relative);
            rest.erase(0, end + 1);
        }
    }
    places.push_back(std::filesystem::absolute(named_in).parent_path() / relative);
    places.push_back(relative);
    std::error_code error;
    const auto actual = std::filesystem::canonical(named_in, error);
    if (!error) {
        places.push_back(actual.parent_path() / relative);
    }
    return places;
}

bool there_is(const std::filesystem::path& place) {
    struct stat facts;
    return ::stat(place.c_str(), &facts) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/// Whether a link on the way is not there, or leads to nothing.
bool missing(hid_t file, const std::string& path) {
    for (std::size_t end = 1; end != std::string::npos && end < path.size();) {
        end = path.find('/', end);
        const std::string part = path.substr(0, end);
        if (H5Lexists(file, part.c_str(), H5P_DEFAULT) == 0 ||
            H5Oexists_by_name(file, part.c_str(), H5P_DEFAULT) == 0) {
            return true;
        }
        end += end == std::string::npos ? 0 : 1;
    }
    return false;
}

/// One walk through the sources of a dataset, and of those that are virtual themselves.
class Check {
  public:
    Check(const std::string& what, std::set<std::string>& sound) : what_(what), sound_(sound) {}

    void sources(hid_t dataset, const std::optional<Region>& region, int depth);

  private:
    bool source(hid_t dataset, const std::string& file_name, const std::string& name, int depth);
    void source_in(hid_t file, const std::string& name, const std::string& part, int depth);

    const std::string& what_;
    std::set<std::string>& sound_;
};

bool overlaps(hid_t space, const Region& region) {
    hsize_t first[H5S_MAX_RANK] = {}, last[H5S_MAX_RANK] = {};
    if (H5Sget_simple_extent_ndims(space) != region.ndim() ||
        H5Sget_select_bounds(space, first, last) < 0) {
        return true;  // it has no end
    }
    for (int axis = 0; axis < region.ndim(); ++axis) {
        if (last[axis] < static_cast<hsize_t>(region.offset[axis]) ||
            first[axis] >= static_cast<hsize_t>(region.offset[axis] + region.extent[axis])) {
            return false;
        }
    }
    return true;
}

void Check::sources(hid_t dataset, const std::optional<Region>& region, int depth) {
    if (depth > sources_depth_max) {
        damaged(what_, text(sources_depth_max, " levels down"), "a virtual dataset");
    }
    const Hdf5Id properties(hdf5_checked(H5Dget_create_plist(dataset), what_));
    const bool required = hdf5_checked(H5Aexists(dataset, parts_required), what_) > 0;
    std::size_t parts = 0;
    hdf5_checked(H5Pget_virtual_count(properties, &parts), what_);
    for (std::size_t i = 0; i < parts; ++i) {
        const Hdf5Id space(hdf5_checked(H5Pget_virtual_vspace(properties, i), what_));
        if (region && !overlaps(space, *region)) {
            continue;
        }
        const std::string file = text_of(
            [&](char* to, std::size_t bytes) {
                return H5Pget_virtual_filename(properties, i, to, bytes);
            },
            what_);
        const std::string name = text_of(
            [&](char* to, std::size_t bytes) {
                return H5Pget_virtual_dsetname(properties, i, to, bytes);
            },
            what_);
        const bool blocks = numbered(file, 0) != numbered(file, 1) ||  //
                            numbered(name, 0) != numbered(name, 1);
        bool there = source(dataset, numbered(file, 0), numbered(name, 0), depth);
        if (!there && required) {
            throw DamagedFile(Problem{"a part of the dataset " + what_ + " is missing",
                                      text("no '", name, "' in '", file, "'"),
                                      "all files that were written together",
                                      "Put the files beside each other again"});
        }
        for (std::uint64_t block = 1; there && blocks; ++block) {
            there = source(dataset, numbered(file, block), numbered(name, block), depth);
        }
    }
}

/// False: there is none.
bool Check::source(hid_t dataset, const std::string& file_name, const std::string& name,
                   int depth) {
    const std::string& path = bytes_of_file(dataset).path();
    const std::string part = text("'", name, "' of '", file_name, "'");
    if (const std::string key = path + '\0' + part; depth == 0 && !sound_.insert(key).second) {
        return true;
    }
    if (file_name == ".") {
        const Hdf5Id file(hdf5_checked(H5Iget_file_id(dataset), what_));
        if (missing(file, name)) {
            return false;
        }
        source_in(file, name, part, depth);
        return true;
    }
    for (const auto& place : places_of(file_name, path)) {
        if (!there_is(place)) {
            continue;
        }
        const Hdf5Id access = hdf5_access();
        const Hdf5Id file(H5Fopen(place.c_str(), H5F_ACC_RDONLY, access));
        if (!file.valid()) {
            damaged(what_, part, last_hdf5_error().text);
        }
        if (missing(file, name)) {
            return false;
        }
        source_in(file, name, part, depth);
        return true;
    }
    return false;
}

void Check::source_in(hid_t file, const std::string& name, const std::string& part, int depth) {
    const Hdf5Id object(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
    if (!object.valid()) {
        damaged(what_, part, last_hdf5_error().text);
    }
    const Hdf5Id properties(hdf5_checked(H5Dget_create_plist(object), what_));
    if (H5Pget_layout(properties) == H5D_VIRTUAL) {
        sources(object, std::nullopt, depth + 1);
    } else {
        check_chunks(object, part + ", a part of " + what_);
    }
}

}  // namespace

void check_virtual_sources(hid_t dataset, const Region& region, const std::string& what,
                           std::set<std::string>& sound) {
    std::set<std::string> now = sound;
    Check(what, now).sources(dataset, region, 0);
    sound = std::move(now);  // what threw is looked at again
}

}  // namespace fluvial::store
