// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/iterations.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/store/missing_dataset.hpp"

namespace fluvial::store {
namespace {

std::string said(const File& file, const std::string& attribute, const std::string& otherwise) {
    const auto found = file.attributes().find(attribute);
    const auto* words =
        found == file.attributes().end() ? nullptr : std::get_if<std::string>(&found->second);
    return words == nullptr ? otherwise : *words;
}

std::string without_slash(const std::string& prefix) {
    return prefix.substr(0, prefix.empty() ? 0 : prefix.size() - 1);
}

class IterationFile final : public File {
  public:
    /// `prefix` is the path of its group, "data/100/".
    IterationFile(std::shared_ptr<const File> file, std::string prefix)
        : file_(std::move(file)),
          prefix_(std::move(prefix)),
          attributes_(file_->group_attributes(without_slash(prefix_))) {}

    const std::string& prefix() const { return prefix_; }
    void add(const std::string& name) {
        names_.push_back(name.substr(prefix_.size()));
        known_.insert(names_.back());
    }
    void add_unreadable(const std::string& name, const std::string& why) {
        unreadable_.emplace(name.substr(prefix_.size()), why);
    }
    void add_left_out(const std::string& name, const std::string& why) {
        left_out_.emplace(name.substr(prefix_.size()), why);
    }
    void add_group(const std::string& group) { groups_.push_back(group.substr(prefix_.size())); }

    const std::string& path() const override { return file_->path(); }
    std::string format() const override { return file_->format(); }
    const Attributes& attributes() const override { return attributes_; }
    const std::vector<Dimension>& dimensions() const override { return file_->dimensions(); }
    const std::vector<std::string>& names() const override { return names_; }
    const std::vector<std::string>& groups() const override { return groups_; }
    const std::map<std::string, std::string>& unreadable() const override { return unreadable_; }
    const std::map<std::string, std::string>& left_out() const override { return left_out_; }
    Attributes group_attributes(const std::string& group) const override {
        return group.empty() ? attributes_ : file_->group_attributes(prefix_ + group);
    }
    std::shared_ptr<const Dataset> dataset(const std::string& name) const override {
        if (!known_.contains(name) && !left_out_.contains(name)) {
            throw_no_dataset(*this, name);
        }
        return file_->dataset(prefix_ + name);
    }

  private:
    std::shared_ptr<const File> file_;
    std::string prefix_;
    Attributes attributes_;
    std::vector<std::string> names_, groups_;
    std::set<std::string> known_;
    std::map<std::string, std::string> unreadable_, left_out_;
};

/// "data/" of "/data/%T/": where the groups of iterations are.
std::string base_of(const File& file) {
    const std::string path = said(file, "basePath", "/data/%T/");
    std::string base = path.substr(path.starts_with('/') ? 1 : 0);
    if (!base.empty() && !base.ends_with('/')) {
        base += '/';
    }
    constexpr std::string_view number = "%T/";
    if (base.ends_with(number)) {
        base.resize(base.size() - number.size());
    }
    if (base.find('%') != std::string::npos || (!base.empty() && !base.ends_with('/'))) {
        throw InvalidArgument(Problem{"cannot use the basePath of '" + file.path() + "'",
                                      "'" + path + "'", "'/data/%T/'",
                                      "Write the file by openPMD 1.1"});
    }
    return base;
}

/// The number that a single iteration without a group of its own has.
std::uint64_t snapshot_of(const File& file, const std::string& base) {
    const Attributes attributes = file.group_attributes(without_slash(base));
    const auto found = attributes.find("snapshot");
    std::int64_t number = 0;
    if (found == attributes.end()) {
        return 0;
    }
    if (const auto* one = std::get_if<std::int64_t>(&found->second)) {
        number = *one;
    } else if (const auto* several = std::get_if<std::vector<std::int64_t>>(&found->second)) {
        number = several->empty() ? 0 : several->front();
    }
    return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

/// Gives what is in a file to the iterations that it belongs to.
class Sorting {
  public:
    Sorting(std::shared_ptr<const File> file, std::string base)
        : file_(std::move(file)), base_(std::move(base)) {}

    /// All that lies under the base is of one iteration.
    void take_all_for(std::uint64_t index) {
        only_ = std::make_shared<IterationFile>(file_, base_);
        found_.emplace(index, only_);
    }

    std::vector<Iteration> run() {
        for (const std::string& group : file_->groups()) {
            if (const auto to = iteration_of(group)) {
                to->add_group(group);
            }
        }
        for (const std::string& name : file_->names()) {
            if (const auto to = iteration_of(name)) {
                to->add(name);
            }
        }
        for (const auto& [name, why] : file_->unreadable()) {
            if (const auto to = iteration_of(name)) {
                to->add_unreadable(name, why);
            }
        }
        for (const auto& [name, why] : file_->left_out()) {
            if (const auto to = iteration_of(name)) {
                to->add_left_out(name, why);
            }
        }
        std::vector<Iteration> iterations;
        for (auto& [index, contents] : found_) {
            iterations.push_back({index, std::move(contents)});
        }
        return iterations;
    }

  private:
    /// The iteration that has what lies at `path`; null where none has, and where `path` is its
    /// group.
    std::shared_ptr<IterationFile> iteration_of(const std::string& path) {
        if (!path.starts_with(base_)) {
            return nullptr;
        }
        if (only_ != nullptr) {
            return only_;
        }
        const char* const from = path.data() + base_.size();
        const char* const end = path.data() + path.size();
        std::uint64_t index = 0;
        const auto [stop, fault] = std::from_chars(from, end, index);
        if (fault != std::errc() || (stop != end && *stop != '/')) {
            return nullptr;
        }
        const std::string group(path.substr(0, static_cast<std::size_t>(stop - path.data())));
        auto& known = found_[index];
        if (known == nullptr) {
            known = std::make_shared<IterationFile>(file_, group + '/');
        } else if (known->prefix() != group + '/') {
            throw DamagedFile(Problem{text("'", file_->path(), "' has iteration ", index, " twice"),
                                      "'" + group + "'", "'" + without_slash(known->prefix()) + "'",
                                      "Write the file by openPMD 1.1"});
        }
        return stop == end ? nullptr : known;
    }

    std::shared_ptr<const File> file_;
    std::string base_;
    std::shared_ptr<IterationFile> only_;
    std::map<std::uint64_t, std::shared_ptr<IterationFile>> found_;
};

}  // namespace

bool is_openpmd(const File& file) {
    return file.attributes().contains("openPMD");
}

bool is_record(const File& file, const std::string& group) {
    constexpr std::string_view meshes = "meshes/";
    if (group.starts_with(meshes)) {
        return group.find('/', meshes.size()) == std::string::npos;
    }
    const auto& groups = file.groups();
    return std::find(groups.begin(), groups.end(), group) != groups.end() &&
           file.group_attributes(group).contains("gridSpacing");
}

std::vector<Iteration> iterations_of(const std::shared_ptr<const File>& file) {
    if (!is_openpmd(*file)) {
        throw InvalidArgument(Problem{"'" + file->path() + "' has no iterations",
                                      "a file without the attribute openPMD", "files of openPMD",
                                      "Use the file as a whole"});
    }
    const std::string base = base_of(*file);
    Sorting sorting(file, base);
    if (said(*file, "iterationEncoding", "") == "variableBased") {
        sorting.take_all_for(snapshot_of(*file, base));
    }
    return sorting.run();
}

}  // namespace fluvial::store
