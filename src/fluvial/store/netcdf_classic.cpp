// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_classic.hpp"

#include <limits>
#include <unordered_map>

#include "fluvial/base/error.hpp"
#include "fluvial/store/affine_dataset.hpp"
#include "fluvial/store/byte_order.hpp"
#include "fluvial/store/missing_dataset.hpp"
#include "fluvial/store/netcdf_classic_header.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t far = std::numeric_limits<std::int64_t>::max();

/// Where a variable's bytes are.
struct Place {
    bool by_record = false;
    std::uint64_t bytes = 0;  ///< without padding; of one record, if by_record
};

[[noreturn]] void too_large(const InputFile& file, const std::string& variable) {
    throw DamagedFile(Problem{"the netCDF header of '" + file.path() + "' is damaged",
                              "more than 2^63 bytes for '" + variable + "'", "what a file can hold",
                              "Copy or write the file again"});
}

class ClassicLayout {
  public:
    ClassicLayout(const InputFile& file, const ClassicHeader& header)
        : file_(file), header_(header) {
        for (const ClassicVariable& variable : header.variables) {
            places_.push_back(place_of(variable));
        }
        record_bytes_ = find_record_bytes();
        records_ = header.records.value_or(0);
        check_begins();
        check_order();
        const std::uint64_t whole = whole_records();
        if (!header.records) {
            records_ = whole == far ? 0 : whole;
        } else if (records_ > whole) {
            throw DamagedFile(Problem{"'" + file_.path() + "' is truncated",
                                      text(whole, " whole records"),
                                      text("the ", records_, " that its header promises"),
                                      "Copy the file again, or let its writer finish"});
        }
    }

    std::uint64_t records() const { return records_; }

    /// The layout of a variable with at most ndim_max dimensions.
    Affine affine(std::size_t variable, DType dtype, const Coordinates& shape) const {
        Affine layout{header_.variables[variable].begin, Coordinates(shape.size(), 0),
                      big_endian_is_swapped(dtype)};
        Index stride = static_cast<Index>(fluvial::size_of(dtype));
        for (int axis = shape.size() - 1; axis >= 0; --axis) {
            layout.strides[axis] = stride;
            stride *= axis == 0 ? 1 : shape[axis];
        }
        if (places_[variable].by_record) {
            layout.strides[0] = static_cast<Index>(record_bytes_);
        }
        return layout;
    }

  private:
    Place place_of(const ClassicVariable& variable) const {
        Place place{false, size_of(variable.type)};
        for (const std::size_t dimension : variable.dimensions) {
            const Dimension& axis = header_.dimensions[dimension];
            if (axis.unlimited) {
                place.by_record = true;
            } else if (__builtin_mul_overflow(place.bytes, static_cast<std::uint64_t>(axis.length),
                                              &place.bytes) ||
                       place.bytes > far - 3) {
                too_large(file_, variable.name);
            }
        }
        return place;
    }

    /// All variables of a record, each padded to 4 bytes; a lone one is not padded.
    std::uint64_t find_record_bytes() const {
        std::uint64_t padded = 0;
        std::uint64_t last = 0;
        int count = 0;
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (places_[i].by_record) {
                ++count;
                last = places_[i].bytes;
                padded += (last + 3) / 4 * 4;
                if (padded > far) {
                    too_large(file_, header_.variables[i].name);
                }
            }
        }
        return count == 1 ? last : padded;
    }

    void check_begins() const {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const ClassicVariable& variable = header_.variables[i];
            const bool has_data = !places_[i].by_record || header_.records.value_or(1) > 0;
            if (has_data && variable.begin < header_.bytes) {
                throw DamagedFile(
                    Problem{"the netCDF header of '" + file_.path() + "' is damaged",
                            text("'", variable.name, "' at byte ", variable.begin),
                            text("data behind the header's ", header_.bytes, " bytes"),
                            "Copy or write the file again"});
            }
            if (!places_[i].by_record && !holds(variable.begin, places_[i].bytes)) {
                throw DamagedFile(Problem{"'" + file_.path() + "' is truncated",
                                          text(file_.size(), " bytes"),
                                          text(places_[i].bytes, " bytes of '", variable.name,
                                               "' from byte ", variable.begin, " on"),
                                          "Copy the file again, or let its writer finish"});
            }
        }
    }

    /// Variables lie in the order of the header, those of fixed size before the records, each
    /// padded to 4 bytes.
    void check_order() const {
        std::uint64_t end = header_.bytes;
        for (const bool records : {false, true}) {
            for (std::size_t i = 0; i < places_.size(); ++i) {
                const ClassicVariable& variable = header_.variables[i];
                if (places_[i].by_record != records || (records && header_.records == 0)) {
                    continue;
                }
                if (variable.begin < end) {
                    throw DamagedFile(
                        Problem{"the netCDF header of '" + file_.path() + "' is damaged",
                                text("'", variable.name, "' at byte ", variable.begin),
                                text("byte ", end, " or later: behind the variable before it"),
                                "Copy or write the file again"});
                }
                if (__builtin_add_overflow(variable.begin, (places_[i].bytes + 3) / 4 * 4, &end)) {
                    too_large(file_, variable.name);
                }
            }
        }
    }

    bool holds(std::uint64_t begin, std::uint64_t bytes) const {
        return begin <= file_.size() && bytes <= file_.size() - begin;
    }

    /// As many records as the file holds of every variable; `far` without any.
    std::uint64_t whole_records() const {
        std::uint64_t whole = far;
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (places_[i].by_record) {
                const std::uint64_t begin = header_.variables[i].begin;
                const std::uint64_t bytes = places_[i].bytes;
                whole = std::min(whole, holds(begin, bytes)
                                            ? (file_.size() - begin - bytes) / record_bytes_ + 1
                                            : 0);
            }
        }
        return whole;
    }

    const InputFile& file_;
    const ClassicHeader& header_;
    std::vector<Place> places_;
    std::uint64_t record_bytes_ = 0;
    std::uint64_t records_ = 0;
};

class ClassicFile final : public File {
  public:
    explicit ClassicFile(const std::string& path)
        : bytes_(std::make_shared<const InputFile>(path)) {
        ClassicHeader header = parse_classic_header(*bytes_);
        const ClassicLayout layout(*bytes_, header);
        for (Dimension& dimension : header.dimensions) {
            if (dimension.unlimited) {
                dimension.length = static_cast<Index>(layout.records());
            }
        }
        for (std::size_t i = 0; i < header.variables.size(); ++i) {
            add(header, layout, i);
        }
        version_ = header.version;
        attributes_ = std::move(header.attributes);
        dimensions_ = std::move(header.dimensions);
    }

    const std::string& path() const override { return bytes_->path(); }
    std::string format() const override { return text("netCDF classic (CDF-", version_, ")"); }
    const Attributes& attributes() const override { return attributes_; }
    const std::vector<Dimension>& dimensions() const override { return dimensions_; }
    const std::vector<std::string>& names() const override { return names_; }
    const std::map<std::string, std::string>& left_out() const override { return left_out_; }
    std::shared_ptr<const Dataset> dataset(const std::string& name) const override {
        if (const auto found = datasets_.find(name); found != datasets_.end()) {
            return found->second;
        }
        if (const auto found = left_out_.find(name); found != left_out_.end()) {
            throw_unusable_dataset(*this, name, found->second);
        }
        throw_no_dataset(*this, name);
    }

  private:
    void add(ClassicHeader& header, const ClassicLayout& layout, std::size_t i) {
        ClassicVariable& variable = header.variables[i];
        const auto dtype = dtype_of(variable.type);
        if (!dtype) {
            left_out_.emplace(variable.name, "text (NC_CHAR)");
            return;
        }
        if (variable.dimensions.size() > ndim_max) {
            left_out_.emplace(variable.name, text(variable.dimensions.size(),
                                                  " dimensions, more than ", ndim_max));
            return;
        }
        DatasetDescription description{
            variable.name, *dtype, {}, {}, std::move(variable.attributes)};
        for (const std::size_t dimension : variable.dimensions) {
            description.shape.push_back(header.dimensions[dimension].length);
            description.dimensions.push_back(header.dimensions[dimension].name);
        }
        Affine affine = layout.affine(i, *dtype, description.shape);
        names_.push_back(variable.name);
        datasets_.emplace(variable.name, std::make_shared<const AffineDataset>(
                                             std::move(description), std::move(affine), bytes_));
    }

    std::shared_ptr<const InputFile> bytes_;
    int version_ = 1;
    Attributes attributes_;
    std::vector<Dimension> dimensions_;
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::shared_ptr<const Dataset>> datasets_;
    std::map<std::string, std::string> left_out_;
};

}  // namespace

std::shared_ptr<const File> open_netcdf_classic(const std::string& path) {
    return std::make_shared<const ClassicFile>(path);
}

}  // namespace fluvial::store
