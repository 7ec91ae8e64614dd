// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_classic_output.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/byte_order.hpp"
#include "fluvial/store/netcdf_classic_header_output.hpp"
#include "fluvial/store/netcdf_variables.hpp"

namespace fluvial::store {
namespace {

constexpr std::uint64_t records_at = 4;  // the byte at which their number lies, of 8 bytes

}  // namespace

NetcdfClassicOutput::~NetcdfClassicOutput() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

void NetcdfClassicOutput::make_file() {
    if (file_ >= 0) {
        return;
    }
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) {
        throw_errno("'" + path_ + "' cannot be made", errno,
                    "Write to a folder where this user may, on a disk with room");
    }
}

Places NetcdfClassicOutput::lay_out(const StepContents& step) {
    RecordLayout layout = record_layout(step);
    check_and_sort(layout);
    make_file();
    const bool first = !layout_;
    if (first) {
        write_header(layout, record_series_attributes(step.of_series));
    } else {
        check_alike(*layout_, layout, step.number);
    }
    take_room(file_, path_, first_record_ + (records_ + 1) * record_bytes_);
    for (RecordVariable& variable : layout.variables) {
        if (variable.values && (first || variable.by_record)) {
            if (big_endian_is_swapped(variable.dtype)) {
                swap_bytes({variable.values->data(), variable.dtype, variable.shape,
                            contiguous_strides(variable.shape, size_of(variable.dtype))});
            }
            write(*variable.values, begin_of(variable));
        }
    }
    Places places;
    places.big_endian = true;
    for (const DatasetDescription& dataset : step.datasets) {
        const RecordVariable& variable = *layout_->find(dataset.name);
        places.begins.emplace_back(begin_of(variable));
        places.kept.push_back(!first && !variable.by_record);
    }
    return places;
}

void NetcdfClassicOutput::write_header(RecordLayout layout, const Attributes& of_series) {
    begins_.clear();
    std::uint64_t end = header_of(layout, of_series, begins_).size();
    record_bytes_ = 0;
    first_record_ = 0;
    std::size_t by_record = 0;
    for (const RecordVariable& variable : layout.variables) {
        if (variable.by_record && by_record++ == 0) {
            first_record_ = end;
        }
        begins_[variable.name] = end;
        end += padded(bytes_of(variable));
    }
    // A lone variable of records is not padded.
    record_bytes_ = by_record == 1 ? bytes_of(layout.variables.back()) : end - first_record_;
    take_room(file_, path_, end);
    write(header_of(layout, of_series, begins_), 0);
    layout_ = std::move(layout);
}

std::uint64_t NetcdfClassicOutput::begin_of(const RecordVariable& variable) const {
    return begins_.at(variable.name) + (variable.by_record ? records_ * record_bytes_ : 0);
}

void NetcdfClassicOutput::finish() {
    write(header_count(records_ + 1), records_at);
    ++records_;
}

void NetcdfClassicOutput::give_up(std::uint64_t) {
    // The next record takes its place; the first may be another one.
    if (records_ == 0 && file_ >= 0) {
        layout_.reset();
        if (::ftruncate(file_, 0) != 0) {
            throw_errno("'" + path_ + "' cannot be written", errno);
        }
    }
}

void NetcdfClassicOutput::make_without_steps(const Attributes& of_series) {
    make_file();
    write_header({}, record_series_attributes(of_series));
    without_steps_ = true;
}

void NetcdfClassicOutput::close() {
    if (file_ < 0) {
        return;
    }
    const int result = ::close(file_);
    file_ = -1;
    if (records_ == 0 && !without_steps_) {
        ::unlink(path_.c_str());
    } else if (result != 0) {
        throw_errno("'" + path_ + "' cannot be closed", errno);
    }
}

void NetcdfClassicOutput::write(std::span<const std::byte> bytes, std::uint64_t at) const {
    const Coordinates shape = {static_cast<Index>(bytes.size())};
    write_part(file_, path_, at, shape, whole(shape), ArrayView(bytes.data(), DType::UInt8, shape));
}

}  // namespace fluvial::store
