// SPDX-License-Identifier: Apache-2.0
/// Files that a Python library reads, as files of the core: scans, selections and conventions then
/// work as for any other.
#include <memory>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attributes.hpp"
#include "compute.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/missing_dataset.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

/// The function that reads, shared by the datasets of a file: (name, start, count) to an array.
using Reader = std::shared_ptr<nb::object>;

class LibraryDataset final : public store::Dataset {
  public:
    LibraryDataset(DatasetDescription description, store::ByLibrary layout, const std::string& path,
                   Reader reader)
        : Dataset(std::move(description), std::move(layout)),
          bytes_(store::InputFile::without_bytes(path)),
          reader_(std::move(reader)) {}

    const store::InputFile& bytes() const override { return bytes_; }

    void read(const Region& region, const MutableArrayView& to) const override {
        check_read(region, to);
        if (region.empty()) {
            return;
        }
        const nb::gil_scoped_acquire gil;
        try {
            const nb::object found =
                (*reader_)(name(), to_tuple(region.offset), to_tuple(region.extent));
            const BorrowedArray values(found);
            if (values.view().dtype != dtype() || values.view().extent != region.extent) {
                throw DamagedFile(
                    Problem{text("the library of '", bytes_.path(), "' gave something else of '",
                                 name(), "'"),
                            text(name_of(values.view().dtype), " of ", values.view().extent),
                            text(name_of(dtype()), " of ", region.extent), "Write the file again"});
            }
            copy(values.view(), to);
        } catch (const nb::python_error& error) {
            throw_as_ours(error);
            throw;
        }
    }

  private:
    store::InputFile bytes_;
    Reader reader_;
};

/// Why a dataset cannot be opened.
struct Unreadable {
    std::string why, allowed, remedy;
    bool damaged = false;  ///< else the library lacks something
};

/// What the library says of a file when it is opened.
struct Contents {
    std::string path;
    std::string format;
    Attributes attributes;
    std::vector<store::Dimension> dimensions;
    std::map<std::string, Attributes> groups;
    std::map<std::string, Unreadable> unreadable;
    std::map<std::string, std::string> left_out;  ///< why what else is there is no dataset
};

class LibraryFile final : public store::File {
  public:
    LibraryFile(Contents contents, std::vector<std::shared_ptr<const store::Dataset>> datasets)
        : contents_(std::move(contents)) {
        for (const auto& [name, attributes] : contents_.groups) {
            groups_.push_back(name);
        }
        for (std::shared_ptr<const store::Dataset>& dataset : datasets) {
            names_.push_back(dataset->name());
            datasets_.emplace(dataset->name(), std::move(dataset));
        }
        for (const auto& [name, said] : contents_.unreadable) {
            names_.push_back(name);
            reasons_.emplace(name, said.why);
        }
    }

    const std::string& path() const override { return contents_.path; }
    std::string format() const override { return contents_.format; }
    const Attributes& attributes() const override { return contents_.attributes; }
    const std::vector<store::Dimension>& dimensions() const override {
        return contents_.dimensions;
    }
    const std::vector<std::string>& names() const override { return names_; }
    const std::map<std::string, std::string>& unreadable() const override { return reasons_; }
    const std::map<std::string, std::string>& left_out() const override {
        return contents_.left_out;
    }
    const std::vector<std::string>& groups() const override { return groups_; }
    Attributes group_attributes(const std::string& group) const override {
        const auto found = contents_.groups.find(group);
        return group.empty() ? contents_.attributes
               : found != contents_.groups.end()
                   ? found->second
                   : store::File::group_attributes(group);  // which throws
    }
    std::shared_ptr<const store::Dataset> dataset(const std::string& name) const override {
        if (const auto found = datasets_.find(name); found != datasets_.end()) {
            return found->second;
        }
        if (const auto found = contents_.left_out.find(name); found != contents_.left_out.end()) {
            store::throw_unusable_dataset(*this, name, found->second);
        }
        const auto unreadable = contents_.unreadable.find(name);
        if (unreadable == contents_.unreadable.end()) {
            store::throw_no_dataset(*this, name);
        }
        const Unreadable& said = unreadable->second;
        const Problem problem{text("'", name, "' of '", contents_.path, "' cannot be opened"),
                              said.why, said.allowed, said.remedy};
        if (said.damaged) {
            throw DamagedFile(problem);
        }
        throw InvalidArgument(problem);
    }

  private:
    Contents contents_;
    std::vector<std::string> names_;
    std::vector<std::string> groups_;
    std::map<std::string, std::string> reasons_;  ///< of those that cannot be opened
    std::map<std::string, std::shared_ptr<const store::Dataset>> datasets_;
};

std::vector<store::Dimension> to_dimensions(nb::handle stated) {
    std::vector<store::Dimension> out;
    for (const nb::handle dimension : stated) {
        out.push_back({to_text(dimension[0], "the name of a dimension"),
                       to_int(dimension[1], "the length of a dimension"),
                       nb::cast<bool>(dimension[2])});
    }
    return out;
}

std::map<std::string, Unreadable> to_unreadable(nb::handle stated) {
    std::map<std::string, Unreadable> out;
    for (const nb::handle one : stated) {
        out.emplace(to_text(one[0], "the name of a dataset"),
                    Unreadable{to_text(one[1], "why it cannot be opened"),
                               to_text(one[2], "what is allowed"), to_text(one[3], "the remedy"),
                               nb::cast<bool>(one[4])});
    }
    return out;
}

std::shared_ptr<const store::Dataset> to_dataset(nb::handle stated, const Contents& contents,
                                                 const Reader& reader) {
    DatasetDescription description{
        to_text(stated[0], "the name of a dataset"),
        dtype_from_name(to_text(stated[1], "the dtype of a dataset")),
        to_coordinates(stated[2], "the shape of a dataset"),
        to<std::vector<std::string>>(stated[3], "dims of a dataset", "a list of str"),
        to<Attributes>(stated[4], "attrs of a dataset", "a dict of str to values")};
    store::ByLibrary layout{text("files of ", contents.format),
                            to_coordinates(stated[5], "the granule of a dataset")};
    return std::make_shared<LibraryDataset>(std::move(description), std::move(layout),
                                            contents.path, reader);
}

}  // namespace
}  // namespace fluvial::python

void bind_library_file(nanobind::module_& m) {
    using namespace fluvial::python;
    m.def(
        "file_by_library",
        [](const std::string& path, const std::string& format, nb::handle attributes,
           nb::handle dimensions, nb::handle groups, nb::handle datasets, nb::object read,
           nb::handle unreadable, nb::handle left_out) {
            Contents contents{
                path,
                format,
                to<fluvial::Attributes>(attributes, "attributes", "a dict of str to values"),
                to_dimensions(dimensions),
                to<std::map<std::string, fluvial::Attributes>>(groups, "groups",
                                                               "a dict of paths to attributes"),
                to_unreadable(unreadable),
                to<std::map<std::string, std::string>>(left_out, "left_out",
                                                       "a dict of names to reasons")};
            const Reader reader = share(std::move(read));
            std::vector<std::shared_ptr<const fluvial::store::Dataset>> found;
            for (const nb::handle stated : datasets) {
                found.push_back(to_dataset(stated, contents, reader));
            }
            return std::const_pointer_cast<fluvial::store::File>(
                std::shared_ptr<const fluvial::store::File>(
                    std::make_shared<LibraryFile>(std::move(contents), std::move(found))));
        },
        "path"_a, "format"_a, "attributes"_a, "dimensions"_a, "groups"_a, "datasets"_a, "read"_a,
        "unreadable"_a, "left_out"_a,
        "A file that a Python library reads. `dimensions`: (name, length, unlimited). `groups`: "
        "attributes by path. `datasets`: (name, dtype, shape, dimensions, attributes, extents that "
        "are best read together or ()). `read`: called with a name, start and count, from any "
        "thread; returns an array of that dtype. `unreadable`: (name, why, what is allowed, "
        "remedy, "
        "whether it is damaged) of datasets that cannot be opened. `left_out`: why what else is "
        "there is no dataset, by name. Local.");
}
