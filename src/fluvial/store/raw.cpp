// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/raw.hpp"

#include <algorithm>
#include <map>

#include "fluvial/base/error.hpp"
#include "fluvial/store/affine_dataset.hpp"
#include "fluvial/store/missing_dataset.hpp"

namespace fluvial::store {
namespace {

class RawFile final : public File {
  public:
    RawFile(const std::string& path, const std::vector<RawLayout>& layouts,
            const Attributes& attributes)
        : bytes_(std::make_shared<const InputFile>(path)), attributes_(attributes) {
        for (const RawLayout& layout : layouts) {
            add(layout);
        }
    }

    const std::string& path() const override { return bytes_->path(); }
    std::string format() const override { return "raw"; }
    const Attributes& attributes() const override { return attributes_; }
    const std::vector<Dimension>& dimensions() const override { return dimensions_; }
    const std::vector<std::string>& names() const override { return names_; }
    std::shared_ptr<const Dataset> dataset(const std::string& name) const override {
        const auto found = datasets_.find(name);
        if (found == datasets_.end()) {
            throw_no_dataset(*this, name);
        }
        return found->second;
    }

  private:
    void add(const RawLayout& layout) {
        check(layout);
        std::vector<std::string> dimensions = layout.dimensions;
        dimensions.resize(static_cast<std::size_t>(layout.shape.size()));
        for (int axis = 0; axis < layout.shape.size(); ++axis) {
            add_dimension(dimensions[static_cast<std::size_t>(axis)], layout.shape[axis], layout);
        }
        Affine affine{layout.offset, contiguous_strides(layout.shape, size_of(layout.dtype)),
                      layout.swapped};
        DatasetDescription description{layout.name, layout.dtype, layout.shape,
                                       std::move(dimensions), layout.attributes};
        names_.push_back(layout.name);
        datasets_.emplace(layout.name, std::make_shared<const AffineDataset>(
                                           std::move(description), std::move(affine), bytes_));
    }

    void check(const RawLayout& layout) const {
        const std::string what = "the layout of '" + layout.name + "' in '" + path() + "'";
        if (layout.name.empty() || datasets_.contains(layout.name)) {
            throw InvalidArgument(Problem{"a dataset of '" + path() + "' needs a name of its own",
                                          "'" + layout.name + "'", "names that differ", ""});
        }
        if (!layout.dimensions.empty() &&
            layout.dimensions.size() != static_cast<std::size_t>(layout.shape.size())) {
            throw InvalidArgument(Problem{what + " has the wrong number of dimension names",
                                          text(layout.dimensions.size()),
                                          text("0 or ", layout.shape.size(), ", one an axis"), ""});
        }
        const auto bytes = bytes_of(layout.shape, size_of(layout.dtype));
        if (!bytes) {
            throw InvalidArgument(Problem{what + " has a shape out of range", text(layout.shape),
                                          "extents of 0 or more, below 2^63 bytes in all", ""});
        }
        const std::uint64_t size = bytes_->size();
        if (layout.offset > size || *bytes > size - layout.offset) {
            throw InvalidArgument(Problem{"'" + path() + "' is shorter than " + what + " says",
                                          text(size, " bytes"),
                                          text(*bytes, " bytes from byte ", layout.offset,
                                               " on, for ", name_of(layout.dtype), layout.shape),
                                          "Check shape, dtype and offset"});
        }
    }

    void add_dimension(const std::string& name, Index length, const RawLayout& layout) {
        if (name.empty()) {
            return;
        }
        const auto known =
            std::find_if(dimensions_.begin(), dimensions_.end(),
                         [&](const Dimension& dimension) { return dimension.name == name; });
        if (known == dimensions_.end()) {
            dimensions_.push_back({name, length, false});
        } else if (known->length != length) {
            throw InvalidArgument(Problem{
                "dimension '" + name + "' of '" + path() + "' has two lengths",
                text(length, " in '", layout.name, "'"), text(known->length, ", as before"), ""});
        }
    }

    std::shared_ptr<const InputFile> bytes_;
    Attributes attributes_;
    std::vector<Dimension> dimensions_;
    std::vector<std::string> names_;
    std::map<std::string, std::shared_ptr<const Dataset>> datasets_;
};

}  // namespace

std::shared_ptr<const File> open_raw(const std::string& path, const std::vector<RawLayout>& layouts,
                                     const Attributes& attributes) {
    return std::make_shared<const RawFile>(path, layouts, attributes);
}

std::shared_ptr<const File> open_raw(const std::string& path, const RawLayout& layout) {
    return open_raw(path, std::vector{layout});
}

}  // namespace fluvial::store
