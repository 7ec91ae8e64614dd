// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/contents.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "fluvial/store/affine_dataset.hpp"
#include "fluvial/store/hdf5/attributes.hpp"
#include "fluvial/store/text_encoding.hpp"

namespace fluvial::store {

namespace {

constexpr std::size_t groups_depth_max = 200;

struct Link {
    std::string name;
    H5L_type_t kind;
    std::int64_t number;  ///< in the order of creation, if that is known
};

struct Group {
    Hdf5Id id;
    std::string prefix;  ///< "a/b/", empty for the root
    std::vector<Link> links;
    std::size_t next = 0;
};

herr_t keep_link(hid_t, const char* name, const H5L_info_t* info, void* to) {
    try {
        static_cast<std::vector<Link>*>(to)->push_back(
            {name, info->type, info->corder_valid ? info->corder : 0});
        return 0;
    } catch (...) {
        return -1;
    }
}

herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) {
    return -1;
}

/// Access to links that refuses those to other files.
hid_t inside_only() {
    static hid_t list = H5I_INVALID_HID;
    if (list < 0 || H5Iis_valid(list) <= 0) {
        list = H5Pcreate(H5P_LINK_ACCESS);
        H5Pset_elink_cb(list, &refuse_link, nullptr);
    }
    return list;
}

Group open_group(hid_t where, const std::string& name, const std::string& prefix) {
    const std::string what = "the group '/" + prefix + "' cannot be read";
    Group group;
    group.id = Hdf5Id(hdf5_checked(open_inside(where, name), what));
    group.prefix = prefix;
    // In the order in which they are stored: for any other, libhdf5 1.10 makes a table of as many
    // links as the group claims, and frees what it did not get to fill when a part is damaged.
    hdf5_checked(
        H5Literate(group.id, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, &keep_link, &group.links),
        what);
    if (std::ranges::find(group.links, "", &Link::name) != group.links.end()) {
        throw DamagedFile(Problem{what, "a link without a name", "names", ""});
    }
    std::ranges::sort(group.links, [](const Link& a, const Link& b) {
        return std::tie(a.number, a.name) < std::tie(b.number, b.name);
    });
    return group;
}

/// openPMD 1.1, section "Constant Record Components": a group with `value` and `shape`.
std::optional<Hdf5Entry> constant_component(hid_t group, const std::string& path) {
    const std::string what = "'" + path + "'";
    if (hdf5_checked(H5Aexists(group, "value"), what) == 0 ||
        hdf5_checked(H5Aexists(group, "shape"), what) == 0) {
        return std::nullopt;
    }
    Hdf5Entry entry;
    entry.constant = true;
    const Hdf5Id value(hdf5_checked(H5Aopen(group, "value", H5P_DEFAULT), what));
    const Hdf5Id type(hdf5_checked(H5Aget_type(value), what));
    const Hdf5Id space(hdf5_checked(H5Aget_space(value), what));
    entry.element = element_of(type);
    const auto shape = number_list(read_attribute(group, "shape", what));
    if (H5Sget_simple_extent_npoints(space) != 1) {
        entry.element = {{}, false, false, "a constant component of several values"};
    } else if (shape.empty() || shape.size() > std::size_t{ndim_max}) {
        entry.element = {{}, false, false, "a constant component without a shape"};
    } else {
        entry.shape.extent = Coordinates(std::span<const Index>(shape));
        entry.shape.unlimited.assign(shape.size(), false);
    }
    return entry;
}

void describe_dataset(hid_t dataset, Hdf5Entry& entry) {
    const std::string what = "'" + entry.path + "'";
    const Hdf5Id type(hdf5_checked(H5Dget_type(dataset), what + " has no type"));
    const Hdf5Id space(hdf5_checked(H5Dget_space(dataset), what + " has no shape"));
    entry.element = element_of(type);
    if (auto shape = shape_of(space, what)) {
        entry.shape = std::move(*shape);
    } else {
        entry.element = {{}, false, false, "nothing (a null dataspace)"};
    }
    entry.scale = scale_of(dataset, what);
}

std::optional<Hdf5Entry> describe(hid_t object, const std::string& path, bool openpmd) {
    Hdf5Entry entry;
    const bool dataset = H5Iget_type(object) == H5I_DATASET;
    try {
        if (dataset) {
            entry.path = path;
            describe_dataset(object, entry);
        } else if (openpmd && H5Iget_type(object) == H5I_GROUP) {
            auto constant = constant_component(object, path);
            if (!constant) {
                return std::nullopt;
            }
            entry = std::move(*constant);
        } else {
            return std::nullopt;
        }
        if (entry.usable() && !bytes_of(entry.shape.extent, size_of(*entry.element.dtype))) {
            entry.element = {{}, false, false, text("the shape ", entry.shape.extent)};
            entry.damaged = dataset;
        }
    } catch (const DamagedFile& error) {
        entry.element = {{}, false, false, error.what()};
        entry.damaged = true;
    } catch (const Error& error) {
        entry.element = {{}, false, false, error.what()};
    }
    entry.path = path;
    entry.name = to_utf8(path);
    H5O_info_t info;
    if (H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0) {
        entry.address = info.addr;
    }
    return entry;
}

class GroupWalk {
  public:
    GroupWalk(bool openpmd, const std::string& file) : openpmd_(openpmd), file_(file) {}

    Hdf5Contents run(hid_t file) {
        enter(file, "/", "");
        H5O_info_t root;
        hdf5_checked(H5Oget_info2(open_.back().id, &root, H5O_INFO_BASIC),
                     "'" + file_ + "' cannot be read");
        entered_.insert(root.addr);
        while (!open_.empty()) {
            Group& group = open_.back();
            if (group.next == group.links.size()) {
                open_.pop_back();
                continue;
            }
            const Link link = group.links[group.next++];
            follow(group, link);
        }
        return std::move(found_);
    }

  private:
    void enter(hid_t where, const std::string& name, const std::string& prefix) {
        if (open_.size() == groups_depth_max) {
            throw DamagedFile(Problem{"groups of '" + file_ + "' are nested too deeply",
                                      text("more than ", groups_depth_max), "", ""});
        }
        open_.push_back(open_group(where, name, prefix));
    }

    /// `group` may move while this runs: enter() is last.
    void follow(const Group& group, const Link& link) {
        if (link.kind != H5L_TYPE_HARD && link.kind != H5L_TYPE_SOFT) {
            return;
        }
        const std::string path = group.prefix + link.name;
        H5O_info_t info;
        if (H5Oget_info_by_name2(group.id, link.name.c_str(), &info, H5O_INFO_BASIC,
                                 inside_only()) < 0) {
            if (link.kind == H5L_TYPE_HARD) {
                unreadable(path);
            }
            return;
        }
        if (info.type == H5O_TYPE_DATASET) {
            add_dataset(group, link, path);
        } else if (info.type == H5O_TYPE_GROUP && link.kind == H5L_TYPE_HARD &&
                   entered_.insert(info.addr).second) {
            const Hdf5Id id(open_inside(group.id, link.name));
            auto constant = id.valid() ? describe(id, path, openpmd_) : std::nullopt;
            if (constant) {
                found_.entries.push_back(std::move(*constant));
            } else {
                found_.groups.push_back(path);
                enter(group.id, link.name, path + "/");
            }
        }
    }

    void add_dataset(const Group& group, const Link& link, const std::string& path) {
        const Hdf5Id id(open_inside(group.id, link.name));
        if (!id.valid()) {
            unreadable(path);
        } else if (auto entry = describe(id, path, openpmd_)) {
            found_.entries.push_back(std::move(*entry));
        }
    }

    void unreadable(const std::string& path) {
        Hdf5Entry entry;
        entry.path = path;
        entry.name = to_utf8(path);
        const Hdf5Error error = last_hdf5_error();
        const std::string hint = newer_hdf5_hint(error);
        entry.element.why = text("an object that libhdf5 cannot open (", error.text, ")",
                                 hint.empty() ? "" : ". ", hint);
        entry.damaged = true;
        found_.entries.push_back(std::move(entry));
    }

    bool openpmd_;
    std::string file_;
    std::set<haddr_t> entered_;
    std::vector<Group> open_;
    Hdf5Contents found_;
};

}  // namespace

hid_t open_inside(hid_t where, const std::string& path) {
    return H5Oopen(where, path.c_str(), inside_only());
}

Hdf5Contents walk_contents(hid_t file, bool openpmd, const std::string& path) {
    return GroupWalk(openpmd, path).run(file);
}

std::optional<Hdf5Entry> entry_at(hid_t file, const std::string& path, bool openpmd) {
    const Hdf5Id object(open_inside(file, path));
    if (!object.valid()) {
        return std::nullopt;
    }
    return describe(object, path, openpmd);
}

}  // namespace fluvial::store
