// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/staged_file.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "fluvial/describe/axis_labels.hpp"
#include "fluvial/describe/group_attributes.hpp"

namespace fluvial::scan {
namespace {

DatasetDescription described(const stage::StagedDataset& staged, const Attributes& of_step) {
    const int axes = staged.shape().size();
    std::vector<std::string> dimensions = axis_labels(axes, staged.attributes());
    if (dimensions.empty()) {
        dimensions = axis_labels(axes, of_step);
    }
    if (dimensions.empty()) {
        dimensions.resize(static_cast<std::size_t>(axes));
        if (axes == 1 && !staged.attributes().contains("axisLabels")) {
            dimensions[0] = staged.name().substr(staged.name().rfind('/') + 1);
        }
    }
    DatasetDescription described = staged.description();
    described.dimensions = std::move(dimensions);
    return described;
}

class StagedInput final : public store::Dataset {
  public:
    StagedInput(stage::StagedDataset staged, const std::string& step, const Attributes& of_step)
        : Dataset(described(staged, of_step), store::ByLibrary{"a live step", {}}),
          staged_(std::move(staged)),
          bytes_(store::InputFile::without_bytes(step)) {}

    const store::InputFile& bytes() const override { return bytes_; }
    void read(const Region& region, const MutableArrayView& to) const override {
        check_read(region, to);
        if (!region.empty()) {
            copy(staged_.read(select(region)).view, to);
        }
    }

  private:
    stage::StagedDataset staged_;
    store::InputFile bytes_;
};

class StagedFile final : public store::File {
  public:
    StagedFile(const stage::ReadStep& step, std::string name)
        : step_(step),
          name_(std::move(name)),
          names_(step.names()),
          attributes_(own_attributes(step.attributes())),
          of_groups_(groups_of(step.attributes())) {
        std::set<std::string> found;  // in this order each comes after the one that it is in
        for (const auto& [path, attributes] : of_groups_) {
            found.insert(path);
        }
        for (const std::string& dataset : names_) {
            for (auto end = dataset.find('/'); end != dataset.npos;
                 end = dataset.find('/', end + 1)) {
                found.insert(dataset.substr(0, end));
            }
        }
        groups_.assign(found.begin(), found.end());
    }

    const std::string& path() const override { return name_; }
    std::string format() const override { return "live step"; }
    const Attributes& attributes() const override { return attributes_; }
    const std::vector<store::Dimension>& dimensions() const override {
        static const std::vector<store::Dimension> none;
        return none;
    }
    const std::vector<std::string>& names() const override { return names_; }
    const std::vector<std::string>& groups() const override { return groups_; }
    Attributes group_attributes(const std::string& group) const override {
        if (std::find(groups_.begin(), groups_.end(), group) == groups_.end()) {
            return File::group_attributes(group);
        }
        const auto said = of_groups_.find(group);
        return said == of_groups_.end() ? Attributes() : said->second;
    }
    std::shared_ptr<const store::Dataset> dataset(const std::string& name) const override {
        return std::make_shared<StagedInput>(step_.dataset(name), name_, attributes_);
    }

  private:
    stage::ReadStep step_;
    std::string name_;
    std::vector<std::string> names_;
    Attributes attributes_;
    GroupAttributes of_groups_;
    std::vector<std::string> groups_;
};

}  // namespace

std::shared_ptr<const store::File> as_file(const stage::ReadStep& step, std::string name) {
    return std::make_shared<StagedFile>(step, std::move(name));
}

}  // namespace fluvial::scan
