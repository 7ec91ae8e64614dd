// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/file.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "fluvial/store/hdf5/attributes.hpp"
#include "fluvial/store/hdf5/contents.hpp"
#include "fluvial/store/hdf5/dataset.hpp"
#include "fluvial/store/hdf5/dimensions.hpp"
#include "fluvial/store/hdf5/driver.hpp"
#include "fluvial/store/hdf5/guard/needed.hpp"
#include "fluvial/store/hdf5/sizes.hpp"
#include "fluvial/store/missing_dataset.hpp"
#include "fluvial/store/text_encoding.hpp"

namespace fluvial::store {

namespace {

std::shared_ptr<const OpenHdf5> open_both(const std::string& path) {
    static_cast<void>(guard_needed());  // throws what the driver could only call a damaged file
    auto opened = std::make_shared<OpenHdf5>(OpenHdf5{InputFile(path), Hdf5Id(), false});
    const Hdf5Id access = hdf5_access();
    unsigned flags = H5F_ACC_RDONLY;
    if (written_for_readers(opened->bytes, hdf5_sizes(opened->bytes))) {
        opened->bytes.grows();
        opened->grows = true;
        flags |= H5F_ACC_SWMR_READ;
    } else {
        opened->bytes.measure();  // a writer may have ended since it was opened
    }
    opened->file = Hdf5Id(hdf5_checked(H5Fopen(path.c_str(), flags, access),
                                       "'" + path + "' cannot be opened as HDF5"));
    return opened;
}

class Hdf5File final : public File {
  public:
    explicit Hdf5File(const std::string& path) {
        const Hdf5Session session;
        opened_ = open_both(path);
        const std::string what = "'" + path + "'";
        attributes_ = read_attributes(opened_->file, what);
        openpmd_ = attributes_.contains("openPMD");
        auto [entries, groups] = walk_contents(opened_->file, openpmd_, path);
        for (std::string& group : groups) {
            groups_.push_back(to_utf8(group));
            group_paths_.emplace(groups_.back(), std::move(group));
        }
        const bool says_so = hdf5_checked(H5Aexists(opened_->file, "_NCProperties"), what) > 0;
        dimensions_ = Hdf5Dimensions(opened_->file, entries, says_so);
        netcdf_ = dimensions_.netcdf();
        for (Hdf5Entry& entry : entries) {
            add(std::move(entry));
        }
    }

    const std::string& path() const override { return opened_->bytes.path(); }
    std::string format() const override { return netcdf_ ? "netCDF-4" : "HDF5"; }
    const Attributes& attributes() const override { return attributes_; }
    const std::vector<Dimension>& dimensions() const override { return dimensions_.list(); }
    const std::vector<std::string>& names() const override { return names_; }
    const std::map<std::string, std::string>& unreadable() const override { return unreadable_; }
    const std::map<std::string, std::string>& left_out() const override { return left_out_; }
    const std::vector<std::string>& groups() const override { return groups_; }
    bool grows() const override { return opened_->grows; }

    Attributes group_attributes(const std::string& group) const override {
        const auto found = group_paths_.find(group);
        if (found == group_paths_.end()) {
            return File::group_attributes(group);
        }
        const Hdf5Session session;
        return attributes_at(found->second);
    }

    std::shared_ptr<const Dataset> dataset(const std::string& name) const override {
        const std::string plain = name.starts_with('/') ? name.substr(1) : name;
        if (const auto found = entries_.find(plain); found != entries_.end()) {
            return open(found->second);
        }
        const Hdf5Session session;
        auto entry = plain.empty() ? std::nullopt : entry_at(opened_->file, plain, openpmd_);
        if (!entry || (entry->scale && entry->scale->without_variable)) {
            throw_no_dataset(*this, name);
        }
        return open(*entry);
    }

  private:
    void add(Hdf5Entry entry) {
        if (entry.scale && entry.scale->without_variable) {
            return;
        }
        const std::size_t last = entry.name.rfind('/') + 1;
        if (netcdf_ &&
            std::string_view(entry.name).substr(last).starts_with(netcdf4_no_coordinate)) {
            entry.name.erase(last, netcdf4_no_coordinate.size());
        }
        if (entry.usable() || entry.damaged) {
            names_.push_back(entry.name);
        }
        if (entry.damaged) {
            unreadable_.emplace(entry.name, entry.element.why);
        } else if (!entry.usable()) {
            left_out_.emplace(entry.name, entry.element.why);
        }
        std::string name = entry.name;
        entries_.emplace(std::move(name), std::move(entry));
    }

    std::shared_ptr<const Dataset> open(const Hdf5Entry& entry) const {
        if (entry.damaged) {
            throw DamagedFile(Problem{"'" + entry.name + "' of '" + path() + "' cannot be opened",
                                      entry.element.why, "", "Copy or write the file again"});
        }
        if (!entry.usable()) {
            throw_unusable_dataset(*this, entry.name, entry.element.why);
        }
        const Hdf5Session session;
        const std::string what = "'" + entry.name + "' of '" + path() + "'";
        const Hdf5Id object(
            hdf5_checked(open_inside(opened_->file, entry.path), what + " cannot be opened"));
        DatasetDescription description;
        description.name = entry.name;
        description.dtype = *entry.element.dtype;
        description.attributes = read_attributes(object, what);
        if (entry.constant) {
            if (auto value = description.attributes.extract("value")) {
                description.constant = std::move(value.mapped());
            }
            description.attributes.erase("shape");
        }
        if (openpmd_) {
            add_attributes_of_record(entry, description.attributes);
        }
        description.shape = dimensions_.shape_of(entry);
        description.dimensions = dimensions_.names_of(entry, object);
        if (openpmd_ && std::all_of(description.dimensions.begin(), description.dimensions.end(),
                                    [](const std::string& label) { return label.empty(); })) {
            auto labels = openpmd_axis_labels(opened_->file, entry, object);
            if (labels.size() == description.dimensions.size()) {
                description.dimensions = std::move(labels);
            }
        }
        return open_hdf5_dataset(opened_, entry, std::move(description));
    }

    Attributes attributes_at(const std::string& path) const {
        const std::string what = "the group '" + path + "' of '" + this->path() + "'";
        const Hdf5Id group(
            hdf5_checked(open_inside(opened_->file, path), what + " cannot be opened"));
        return read_attributes(group, what);
    }

    /// openPMD hangs what all components of a record share on the record: unitDimension,
    /// gridSpacing, timeOffset.
    void add_attributes_of_record(const Hdf5Entry& entry, Attributes& component) const {
        const std::size_t slash = entry.path.rfind('/');
        if (slash == std::string::npos || component.contains("unitDimension")) {
            return;
        }
        Attributes record = attributes_at(entry.path.substr(0, slash));
        if (record.contains("unitDimension")) {
            component.merge(record);
        }
    }

    std::shared_ptr<const OpenHdf5> opened_;
    Attributes attributes_;
    bool openpmd_ = false, netcdf_ = false;
    Hdf5Dimensions dimensions_;
    std::vector<std::string> names_, groups_;
    std::map<std::string, std::string> group_paths_;  ///< HDF5's own, by that for users
    std::map<std::string, std::string> unreadable_, left_out_;
    std::map<std::string, Hdf5Entry> entries_;
};

}  // namespace

std::shared_ptr<const File> open_hdf5(const std::string& path) {
    return std::make_shared<Hdf5File>(path);
}

}  // namespace fluvial::store
