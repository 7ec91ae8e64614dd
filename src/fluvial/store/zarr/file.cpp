// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/file.hpp"

#include <algorithm>
#include <variant>

#include "fluvial/store/file.hpp"
#include "fluvial/store/missing_dataset.hpp"
#include "fluvial/store/text_encoding.hpp"
#include "fluvial/store/zarr/attributes.hpp"
#include "fluvial/store/zarr/contents.hpp"
#include "fluvial/store/zarr/dataset.hpp"
#include "fluvial/store/zarr/metadata.hpp"
#include "fluvial/store/zarr/unsupported.hpp"

namespace fluvial::store {
namespace {

constexpr const char* name_of_root = "data";
constexpr const char* dimension_of_records = "time";  // as Fluvial and xarray write them

/// Why an array is no dataset.
struct Unusable {
    enum class Kind : std::uint8_t { NoNumbers, Unsupported, Damaged };
    Kind kind = Kind::Damaged;
    std::string why;
};

class ZarrFile final : public File {
  public:
    explicit ZarrFile(const std::string& path) : path_(path) {
        const ZarrContents contents = zarr_contents(path);
        version_ = contents.root.version;
        if (contents.root.is_array) {
            add_array(name_of_root, path, contents.root);
        } else {
            attributes_ = group_attributes_of(contents.root);
        }
        for (const auto& [below, node] : contents.nodes) {
            const std::string name = to_utf8(below);
            if (node.is_array) {
                add_array(name, path + "/" + below, node);
            } else {
                add_group(name, node);
            }
        }
        for (const auto& [below, why] : contents.damaged) {
            unusable_.emplace(to_utf8(below), Unusable{Unusable::Kind::Damaged, why});
        }
        for (const auto& [name, one] : unusable_) {
            if (one.kind == Unusable::Kind::NoNumbers) {
                left_out_.emplace(name, one.why);
            } else {
                unreadable_.emplace(name, one.why);
                names_.push_back(name);
            }
        }
        std::sort(names_.begin(), names_.end());
        find_dimensions();
    }

    const std::string& path() const override { return path_; }
    std::string format() const override { return text("Zarr (version ", version_, ")"); }
    const Attributes& attributes() const override { return attributes_; }
    const std::vector<Dimension>& dimensions() const override { return dimensions_; }
    const std::vector<std::string>& names() const override { return names_; }
    const std::map<std::string, std::string>& unreadable() const override { return unreadable_; }
    const std::map<std::string, std::string>& left_out() const override { return left_out_; }
    const std::vector<std::string>& groups() const override { return groups_; }

    Attributes group_attributes(const std::string& group) const override {
        const auto found = of_groups_.find(group);
        return found == of_groups_.end() ? File::group_attributes(group) : found->second;
    }

    std::shared_ptr<const Dataset> dataset(const std::string& name) const override {
        const std::string plain = name.starts_with('/') ? name.substr(1) : name;
        if (const auto found = datasets_.find(plain); found != datasets_.end()) {
            return found->second;
        }
        const auto found = unusable_.find(plain);
        if (found == unusable_.end()) {
            throw_no_dataset(*this, name);
        }
        const auto& [kind, why] = found->second;
        const std::string all = "'" + plain + "' of '" + path_ + "' cannot be opened. " + why;
        switch (kind) {
            case Unusable::Kind::NoNumbers:
                throw_unusable_dataset(*this, plain, why);
            case Unusable::Kind::Unsupported:
                throw InvalidArgument(all);
            case Unusable::Kind::Damaged:
                break;
        }
        throw DamagedFile(all);
    }

  private:
    void add_array(const std::string& name, const std::string& folder, const ZarrNode& node) {
        try {
            const ZarrArray array =
                node.version == 3 ? zarr3_array(name, node.metadata)
                                  : zarr2_array(name, node.metadata, node.attributes_object());
            if (array.no_numbers.empty()) {
                datasets_.emplace(name, open_zarr_array(array, folder, path_));
                names_.push_back(name);
            } else {
                unusable_.emplace(name, Unusable{Unusable::Kind::NoNumbers, array.no_numbers});
            }
        } catch (const UnsupportedZarr& error) {
            unusable_.emplace(name, Unusable{Unusable::Kind::Unsupported, error.what()});
        } catch (const InvalidArgument& error) {
            unusable_.emplace(
                name, Unusable{Unusable::Kind::Damaged, text("'", node.file, "': ", error.what())});
        }
    }

    void add_group(const std::string& name, const ZarrNode& node) {
        groups_.push_back(name);
        of_groups_.emplace(name, group_attributes_of(node));
    }

    static Attributes group_attributes_of(const ZarrNode& node) {
        try {
            return attributes_of(node.attributes_object());
        } catch (const InvalidArgument& error) {
            throw DamagedFile(Problem{"'" + node.file + "' cannot be read as metadata of Zarr",
                                      error.what(), "", "Copy or write it again"});
        }
    }

    /// One that has another length in a group is that group's own.
    void find_dimensions() {
        bool records = false;
        for (const auto& [name, dataset] : datasets_) {
            const auto slash = name.rfind('/');
            const std::string group = slash == std::string::npos ? "" : name.substr(0, slash + 1);
            const auto& names = dataset->dimensions();
            records = records || (!names.empty() && names.front() == dimension_of_records);
            for (std::size_t axis = 0; axis < names.size(); ++axis) {
                add_dimension(group, names[axis], dataset->shape()[static_cast<int>(axis)]);
            }
        }
        for (Dimension& dimension : dimensions_) {
            dimension.unlimited = records && dimension.name == dimension_of_records;
        }
    }

    void add_dimension(const std::string& group, const std::string& name, Index length) {
        const auto known = std::find_if(dimensions_.begin(), dimensions_.end(),
                                        [&](const Dimension& one) { return one.name == name; });
        if (name.empty() || (known != dimensions_.end() && known->length == length)) {
            return;
        }
        if (known == dimensions_.end()) {
            dimensions_.push_back({name, length, false});
        } else if (!group.empty()) {
            add_dimension("", group + name, length);
        } else {
            known->length = length;
        }
    }

    std::string path_;
    int version_ = 3;
    Attributes attributes_;
    std::vector<Dimension> dimensions_;
    std::vector<std::string> names_, groups_;
    std::map<std::string, Attributes> of_groups_;
    std::map<std::string, std::shared_ptr<const Dataset>> datasets_;
    std::map<std::string, Unusable> unusable_;
    std::map<std::string, std::string> unreadable_, left_out_;
};

}  // namespace

std::shared_ptr<const File> open_zarr(const std::string& path) {
    return std::make_shared<ZarrFile>(path);
}

}  // namespace fluvial::store
