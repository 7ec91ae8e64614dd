// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/contents.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/store/input_file.hpp"

namespace fluvial::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t metadata_bytes_max = std::uint64_t{64} << 20;
constexpr const char *mark3 = "zarr.json", *array2 = ".zarray", *group2 = ".zgroup",
                     *attributes2 = ".zattrs", *all2 = ".zmetadata";

bool is_there(const std::string& file) {
    std::error_code error;
    return fs::is_regular_file(file, error);
}

[[noreturn]] void refuse(const std::string& file, const std::string& seen,
                         const std::string& allowed) {
    throw DamagedFile(Problem{"'" + file + "' cannot be read as metadata of Zarr", seen, allowed,
                              "Copy or write it again"});
}

Json json_in(const std::string& file) {
    const InputFile input(file);
    if (input.size() > metadata_bytes_max) {
        refuse(file, text(input.size(), " bytes"), text("up to ", metadata_bytes_max));
    }
    std::string content(input.size(), '\0');
    input.read(0, std::as_writable_bytes(std::span(content)));
    try {
        return parse_json(content, JsonDialect::Python);
    } catch (const InvalidArgument& error) {
        refuse(file, error.what(), "JSON");
    }
}

void check_version(const Json& metadata, int version, const std::string& file) {
    const Json* const said = metadata.find("zarr_format");
    const auto* const number =
        said == nullptr ? nullptr : std::get_if<std::int64_t>(&said->value());
    if (number == nullptr || *number != version) {
        refuse(file, said == nullptr ? "no zarr_format" : "zarr_format " + text_of(*said),
               text("zarr_format ", version));
    }
}

ZarrNode node3(Json metadata, const std::string& file) {
    check_version(metadata, 3, file);
    const Json* const type = metadata.find("node_type");
    const auto* const word = type == nullptr ? nullptr : std::get_if<std::string>(&type->value());
    if (word == nullptr || (*word != "array" && *word != "group")) {
        refuse(file, type == nullptr ? "no node_type" : "node_type " + text_of(*type),
               "array, group");
    }
    const bool is_array = *word == "array";
    return {3, is_array, std::move(metadata), std::nullopt, file};
}

ZarrNode node2(bool is_array, Json metadata, std::optional<Json> attributes,
               const std::string& file) {
    check_version(metadata, 2, file);
    return {2, is_array, std::move(metadata), std::move(attributes), file};
}

/// None where the folder is none of Zarr.
std::optional<ZarrNode> node_in(const std::string& folder) {
    if (const std::string file = folder + "/" + mark3; is_there(file)) {
        return node3(json_in(file), file);
    }
    for (const char* mark : {array2, group2}) {
        if (const std::string file = folder + "/" + mark; is_there(file)) {
            const std::string beside = folder + "/" + attributes2;
            auto attributes = is_there(beside) ? std::optional(json_in(beside)) : std::nullopt;
            return node2(mark == array2, json_in(file), std::move(attributes), file);
        }
    }
    return std::nullopt;
}

bool has_marks(const std::string& folder) {
    return is_there(folder + "/" + mark3) || is_there(folder + "/" + array2) ||
           is_there(folder + "/" + group2);
}

/// Names in their order.
std::set<std::string> folders_in(const std::string& folder) {
    std::set<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code none;
        if (at->is_directory(none)) {
            names.insert(at->path().filename().string());
        }
    }
    if (error) {
        throw_errno("cannot read the folder '" + folder + "'", error.value(),
                    "Check its permissions");
    }
    return names;
}

/// Looks into folders for what is in groups. What is damaged does not hide its neighbours.
class FolderWalk {
  public:
    explicit FolderWalk(ZarrContents& contents) : contents_(contents) {}

    void into(const std::string& folder, const std::string& group) {
        std::error_code error;
        const std::string own = fs::canonical(folder, error).string();
        if (!above_.insert(own).second) {
            throw DamagedFile(Problem{"'" + folder + "' is a link to a folder that it is in", "",
                                      "folders inside of each other", "Remove the link"});
        }
        for (const std::string& name : folders_in(folder)) {
            if (has_marks(folder + "/" + name)) {
                visit(folder + "/" + name, group.empty() ? name : group + "/" + name);
            }
        }
        above_.erase(own);
    }

  private:
    void visit(const std::string& folder, const std::string& path) {
        try {
            const auto node = node_in(folder);
            if (node && !node->is_array) {
                into(folder, path);
            }
            if (node) {
                contents_.nodes.emplace(path, *node);
            }
        } catch (const Error& error) {
            contents_.damaged.emplace(path, error.what());
        }
    }

    ZarrContents& contents_;
    std::set<std::string> above_;
};

void check_path(const std::string& path, const std::string& file) {
    try {
        check_dataset_name(path);
    } catch (const InvalidArgument&) {
        refuse(file, "the path '" + path + "'", "names with single slashes between them");
    }
    if (path == ".." || path.starts_with("../") || path.ends_with("/..") ||
        path.find("/../") != std::string::npos) {
        refuse(file, "the path '" + path + "'", "paths inside of the folder");
    }
}

const Json::Members& entries_of(const Json& consolidated, const std::string& file) {
    const Json* const found = consolidated.find("metadata");
    const auto* const members =
        found == nullptr ? nullptr : std::get_if<Json::Members>(&found->value());
    if (members == nullptr) {
        refuse(file, "consolidated metadata whose member metadata is no object", "an object");
    }
    return *members;
}

/// Of the member of the root that names all nodes below.
void add_consolidated3(const Json& consolidated, ZarrContents& contents) {
    const std::string& file = contents.root.file;
    for (const auto& [path, metadata] : entries_of(consolidated, file)) {
        check_path(path, file);
        contents.nodes.emplace(path, node3(metadata, file));
    }
}

/// Of a file whose entries are named as the files that they stand for.
ZarrContents consolidated2(const std::string& file) {
    const Json all = json_in(file);
    std::map<std::string, const Json*> entries;
    for (const auto& [name, value] : entries_of(all, file)) {
        entries.emplace(name, &value);
    }
    ZarrContents contents;
    bool has_root = false;
    for (const auto& [name, value] : entries) {
        const auto slash = name.rfind('/');
        const std::string mark = name.substr(slash == std::string::npos ? 0 : slash + 1);
        const std::string path = slash == std::string::npos ? "" : name.substr(0, slash);
        if (mark != array2 && mark != group2) {
            continue;
        }
        const auto attributes =
            entries.find(path.empty() ? attributes2 : text(path, "/", attributes2));
        ZarrNode node = node2(
            mark == array2, *value,
            attributes == entries.end() ? std::nullopt : std::optional(*attributes->second), file);
        if (path.empty()) {
            has_root = true;
            contents.root = std::move(node);
        } else {
            check_path(path, file);
            contents.nodes.emplace(path, std::move(node));
        }
    }
    if (!has_root) {
        refuse(file, "consolidated metadata without those of the root", text(group2));
    }
    return contents;
}

/// What consolidated metadata say; none where they cannot be used, as the files below say the same.
std::optional<ZarrContents> consolidated_of(const std::string& path) {
    const std::string file = path + "/" + mark3;
    if (is_there(file)) {
        ZarrContents contents{node3(json_in(file), file), {}, {}};
        const Json* const said = contents.root.metadata.find("consolidated_metadata");
        if (said == nullptr || std::holds_alternative<std::nullptr_t>(said->value())) {
            return std::nullopt;
        }
        add_consolidated3(*said, contents);
        return contents;
    }
    const std::string all = path + "/" + all2;
    return is_there(all) ? std::optional(consolidated2(all)) : std::nullopt;
}

}  // namespace

bool is_zarr(const std::string& path) {
    return has_marks(path) || is_there(path + "/" + all2);
}

ZarrContents zarr_contents(const std::string& path) {
    try {
        if (auto found = consolidated_of(path)) {
            return *std::move(found);
        }
    } catch (const Error&) {
        if (!has_marks(path)) {  // nothing else says what is in it
            throw;
        }
    }
    auto root = node_in(path);
    if (!root) {
        refuse(path, text("none of ", mark3, ", ", array2, " and ", group2), "one of them");
    }
    ZarrContents contents{*std::move(root), {}, {}};
    if (!contents.root.is_array) {
        FolderWalk(contents).into(path, "");
    }
    return contents;
}

}  // namespace fluvial::store
