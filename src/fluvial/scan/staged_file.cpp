// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/staged_file.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "fluvial/describe/axis_labels.hpp"
#include "fluvial/describe/group_attributes.hpp"

namespace fluvial::scan {
namespace {

DatasetDescription with_dimensions(DatasetDescription described,
                                   std::vector<std::string> dimensions) {
    described.dimensions = std::move(dimensions);
    return described;
}

class StagedInput final : public store::Dataset {
  public:
    StagedInput(stage::StagedDataset staged, const std::string& step,
                std::vector<std::string> dimensions)
        : Dataset(with_dimensions(staged.description(), std::move(dimensions)),
                  store::ByLibrary{"a live step", {}}),
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
        stage::StagedDataset staged = step_.dataset(name);
        std::vector<std::string> dimensions = dimensions_of(staged.description());
        return std::make_shared<StagedInput>(std::move(staged), name_, std::move(dimensions));
    }

  private:
    std::vector<std::string> dimensions_of(const DatasetDescription& dataset) const {
        std::vector<std::string> dimensions = labels_of(dataset);
        if (dimensions.empty()) {
            dimensions.resize(static_cast<std::size_t>(dataset.shape.size()));
            if (dimensions.size() == 1 && !dataset.attributes.contains("axisLabels")) {
                dimensions[0] = labelled_axes().label_of(dataset.name, dataset.shape);
            }
        }
        return dimensions;
    }

    /// By the attributes of the dataset, of what it is in, or of the step; none without them.
    std::vector<std::string> labels_of(const DatasetDescription& dataset) const {
        const auto slash = dataset.name.rfind('/');
        const auto group = slash == std::string::npos
                               ? of_groups_.end()
                               : of_groups_.find(dataset.name.substr(0, slash));
        const int axes = dataset.shape.size();
        std::vector<std::string> labels = axis_labels(axes, dataset.attributes);
        if (labels.empty() && group != of_groups_.end()) {
            labels = axis_labels(axes, group->second);
        }
        return labels.empty() ? axis_labels(axes, attributes_) : labels;
    }

    /// Of all datasets; known once they are asked for.
    const LabelledAxes& labelled_axes() const {
        std::call_once(axes_known_, [this] {
            for (const auto& [name, dataset] : step_.descriptions()) {
                axes_.add(name, dataset.shape, labels_of(dataset));
            }
        });
        return axes_;
    }

    stage::ReadStep step_;
    std::string name_;
    std::vector<std::string> names_;
    Attributes attributes_;
    GroupAttributes of_groups_;
    std::vector<std::string> groups_;
    mutable std::once_flag axes_known_;
    mutable LabelledAxes axes_;
};

}  // namespace

std::shared_ptr<const store::File> as_file(const stage::ReadStep& step, std::string name) {
    return std::make_shared<StagedFile>(step, std::move(name));
}

}  // namespace fluvial::scan
