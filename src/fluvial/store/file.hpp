// SPDX-License-Identifier: Apache-2.0
/// Files of n-d datasets, whatever their format: what is in them, and where its bytes lie.
///
///     std::shared_ptr<const File> file = open_file("t.nc");
///     std::shared_ptr<const Dataset> t = file->dataset("temperature");
///     t->shape(), t->attributes(), t->layout()
///     t->read(region, view);                                  // any region, native byte order
///
/// A format is one file or folder beside this one and one line in formats.cpp. All must agree with
/// their own library, for the whole and for any part (format_conformance.hpp). Objects are
/// immutable: any number of threads may use them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/store/layout.hpp"

namespace fluvial::store {

struct Dimension {
    std::string name;
    Index length = 0;
    bool unlimited = false;
    friend bool operator==(const Dimension&, const Dimension&) = default;
};

class Dataset {
  public:
    Dataset(DatasetDescription description, Layout layout)
        : description_(std::move(description)), layout_(std::move(layout)) {}
    Dataset(const Dataset&) = delete;
    Dataset& operator=(const Dataset&) = delete;
    virtual ~Dataset() = default;

    const DatasetDescription& description() const { return description_; }
    const std::string& name() const { return description_.name; }
    DType dtype() const { return description_.dtype; }
    const Coordinates& shape() const { return description_.shape; }
    const std::vector<std::string>& dimensions() const { return description_.dimensions; }
    const Attributes& attributes() const { return description_.attributes; }
    const std::optional<Attribute>& constant() const { return description_.constant; }
    const Layout& layout() const { return layout_; }

    /// Where the bytes are; offsets of the layout count in this file. Where chunks have files of
    /// their own (StoredChunk::file), it names the dataset's folder alone.
    virtual const InputFile& bytes() const = 0;
    /// Of a Chunked layout: where a chunk lies, by its index in the grid of chunks along each axis.
    /// Local. Throws DamagedFile when the file's index makes no sense.
    virtual StoredChunk locate(const Coordinates& chunk) const;
    /// The elements of `region` in native byte order; `to` has its extent and this dtype. Works for
    /// every layout, one element or chunk after the other: scans read by layout instead, and come
    /// here for ByLibrary alone. Throws InvalidArgument for a region outside the shape,
    /// DamagedFile.
    virtual void read(const Region& region, const MutableArrayView& to) const;
    /// Whether the dataset may become longer along each axis; empty where the format does not say.
    virtual std::vector<bool> unlimited() const { return {}; }
    /// Whether all chunks of a region inside the shape were written, by what the file's index says
    /// now; true where there are none. Local. Throws InvalidArgument, DamagedFile.
    virtual bool is_stored(const Region&) const { return true; }

  protected:
    /// The part of read() that is the same everywhere. Throws InvalidArgument.
    void check_read(const Region& region, const MutableArrayView& to) const;

  private:
    DatasetDescription description_;
    Layout layout_;
};

class File {
  public:
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    virtual ~File() = default;

    virtual const std::string& path() const = 0;
    /// "netCDF classic (CDF-5)", "netCDF-4", "HDF5", "Zarr (version 3)", "raw".
    virtual std::string format() const = 0;
    virtual const Attributes& attributes() const = 0;
    virtual const std::vector<Dimension>& dimensions() const = 0;
    /// Paths of all datasets with a dtype that Fluvial has, in the file's order; those that cannot
    /// be opened are among them.
    virtual const std::vector<std::string>& names() const = 0;
    /// Why datasets cannot be opened, by name, as far as that shows when the file is opened.
    virtual const std::map<std::string, std::string>& unreadable() const;
    /// Why what else is stored like a dataset is none to compute on, by path: text, compound types.
    /// Not among the names.
    virtual const std::map<std::string, std::string>& left_out() const;
    /// Paths of the groups below the root, each after the one that it is in; none in formats
    /// without groups.
    virtual const std::vector<std::string>& groups() const;
    /// Whether a program was writing it when it was opened, in a way that lets others read
    /// meanwhile.
    virtual bool grows() const { return false; }
    /// The attributes of the file for "". Throws InvalidArgument when there is no such group,
    /// DamagedFile.
    virtual Attributes group_attributes(const std::string& group) const;
    /// Throws InvalidArgument that lists the names when there is none of this name, or says why the
    /// dataset cannot be used (a compound or string type, an unknown codec); DamagedFile for one
    /// that is damaged.
    virtual std::shared_ptr<const Dataset> dataset(const std::string& name) const = 0;
};

/// Opens a file by its first bytes, a folder by what is in it. Local. Throws SystemError when it
/// cannot be opened, InvalidArgument for a format that is none of ours (listing them), DamagedFile.
std::shared_ptr<const File> open_file(const std::string& path);

}  // namespace fluvial::store
