// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/joined_records.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/scan/joinable.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/store/hdf5_signature.hpp"

namespace fluvial::scan {
namespace {

using Writer = store::Progress::Writer;
using FileClock = std::filesystem::file_time_type::clock;
using Records = GrowingRecords::Records;

/// By the clock of a file system, which may be that of another host.
constexpr std::chrono::seconds rested_long = 10 * settled_after;

bool has_dimension(const store::File& file, const std::string& dimension, bool grows = false) {
    const auto& all = file.dimensions();
    return std::any_of(all.begin(), all.end(), [&](const store::Dimension& one) {
        return one.name == dimension && (one.unlimited || !grows);
    });
}

bool is_folder(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_directory(path, error);
}

std::string open_still(const std::string& path) {
    return "'" + path + "' is still open in its writer, as it says";
}

bool has_rested(const std::string& path) {
    const auto stamp = stamp_of(path);
    return stamp && FileClock::now() - stamp->changed > settled_after;
}

Records counted(const store::File& file, const std::string& dimension,
                const store::Progress& progress, store::Hdf5Writer flag, bool last, bool rests) {
    const bool own = progress.writer != Writer::None;
    if (own && file.format().starts_with("netCDF-4")) {
        return {};  // the index of its chunks changes under readers
    }
    const bool closed =
        text_of(file.attributes(), "software") == "Fluvial" || flag == store::Hdf5Writer::None;
    const bool by_header =
        file.format().starts_with("netCDF classic") && has_dimension(file, dimension, true);
    if (!own && !closed && !file.grows() && !by_header && last) {
        const bool known = rests && !is_folder(file.path());
        return known ? Records{stored_along(file, dimension)} : Records{};
    }
    const Index there = records_along(file, dimension);
    Index finished = there;
    if (own) {
        finished = std::min(there, static_cast<Index>(progress.finished));
    } else if (!closed && !file.grows() && last && !rests) {
        finished = std::max<Index>(there - 1, 0);
    }
    return {finished, !own && !file.grows() && (closed || !last), there};
}

}  // namespace

GrowingRecords::FilePtr GrowingRecords::open(const std::string& path) {
    const store::Progress before = store::progress_of(path);
    if (before.writer == Writer::Writes && !before.whole()) {
        return nullptr;
    }
    FilePtr file;
    store::Progress after;
    {
        std::optional<store::WriterRests> rests;
        if (late_looks_ >= late_looks_max) {
            rests.emplace(path);
        }
        file = open_(path);
        after = store::progress_of(path);
    }
    const bool late = after.changes != before.changes || after.writer != before.writer;
    late_looks_ = late ? late_looks_ + 1 : 0;
    if (late) {
        return nullptr;
    }
    readable_ = true;
    latest_ = file;
    latest_path_ = path;
    return file;
}

bool GrowingRecords::rests(const std::string& path) {
    const auto stamp = stamp_of(path);
    if (stamp && FileClock::now() - stamp->changed > rested_long) {
        return true;
    }
    const std::int64_t now = now_ns();
    auto seen = std::pair(path, stamp);
    if (watched_ != seen) {
        watched_ = std::move(seen);
        rests_since_ns_ = now;
    }
    return now - rests_since_ns_ > std::chrono::nanoseconds(settled_after).count();
}

Records GrowingRecords::records_of(const std::string& path, bool last, bool complete,
                                   const std::function<void(const FilePtr&)>& check) {
    progress_ = store::progress_of(path);
    blocking_ = path;
    why_.clear();
    const auto flag = is_folder(path) ? store::Hdf5Writer::Unknown : store::hdf5_writer_of(path);
    const bool own = progress_.writer != Writer::None;
    if (flag == store::Hdf5Writer::Alone && !own && !complete) {
        why_ = open_still(path);
        return {};
    }
    const bool rest = last ? rests(path) : has_rested(path);
    FilePtr file;
    try {
        file = open(path);
        if (!file) {
            return {};
        }
        if (!dimension_) {
            dimension_ = steps_dimension(*file);
        }
        const bool fits = *dimension_ == unnamed_records || has_dimension(*file, *dimension_);
        Records found;
        if (fits) {
            found = counted(*file, *dimension_, progress_, flag, last && !complete, rest);
        }
        if (found.finished > 0 || !fits) {
            check(file);
        }
        if (!found.whole && (own || file->grows())) {
            why_ = open_still(path);
        }
        return found;
    } catch (const Error& error) {
        const bool waits =
            file ? !complete && !own && !rest : own || (!complete && (last || !rest));
        if (!waits) {
            throw;
        }
        why_ = error.what();
        return {};
    }
}

}  // namespace fluvial::scan
