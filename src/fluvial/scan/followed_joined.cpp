// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/followed_joined.hpp"

#include <algorithm>
#include <filesystem>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/scan/joinable.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/store/file_names.hpp"

namespace fluvial::scan {
namespace {

using Records = GrowingRecords::Records;

constexpr std::string_view mark = ".writing";  // behind a name (store/progress_mark.hpp)

bool same_path(const std::filesystem::path& one, const std::filesystem::path& other) {
    std::error_code error;
    return one.filename() == other.filename() &&
           std::filesystem::absolute(one, error) == std::filesystem::absolute(other, error);
}

bool has_record(const store::File& file, const std::string& dimension, Index at) {
    return at < (file.grows() ? records_along(file, dimension) : places_along(file, dimension));
}

}  // namespace

FollowedJoined::FollowedJoined(const std::string& pattern, const mpi::Comm& comm,
                               GrowingRecords::Open open, Limits limits)
    : FollowedSeries(pattern, comm, std::move(limits)), open_(open), growing_(std::move(open)) {}

Attributes FollowedJoined::attributes() const {
    return steps_ ? steps_->first().attributes() : Attributes();
}

bool FollowedJoined::changed() {
    State now;
    now.paths = listed();
    const std::size_t from = given_.size() < 2 ? 0 : given_.size() - 2;
    for (std::size_t at = from; at < std::min(from + 3, now.paths.size()); ++at) {
        now.stamps.push_back(stamp_of(now.paths[at]));
    }
    if (!now.paths.empty()) {
        now.stamps.push_back(stamp_of(now.paths.back()));
        now.rests = growing_.rests(now.paths.back());
    }
    if (!growing_.blocking().empty()) {
        now.progress = store::progress_of(growing_.blocking());
    }
    const bool differs = state_ != now;
    state_ = std::move(now);
    return differs;
}

void FollowedJoined::check_writer() const {
    if (growing_.progress().writer == store::Progress::Writer::Gone) {
        throw_gone(growing_.blocking(), growing_.progress());
    }
}

std::string FollowedJoined::why() const {
    return growing_.why().empty() ? "" : " (" + growing_.why() + ")";
}

FollowedSeries::Found FollowedJoined::found_in(const Next& next, std::uint64_t number) const {
    return {number, given_.front(), next.path, growing_.dimension().value(),
            static_cast<Index>(number - next.begin)};
}

std::optional<FollowedSeries::Found> FollowedJoined::finished_after(
    std::optional<std::uint64_t> last, bool complete) {
    const std::uint64_t wanted = last ? *last + 1 : 0;
    if (next_ && next_->begin <= wanted && wanted < next_->end) {
        return found_in(*next_, wanted);
    }
    const Paths paths = listed();
    std::uint64_t begin = 0;
    for (std::size_t at = 0; at < paths.size(); ++at) {
        const Records records = records_of(paths, at, complete);
        const std::uint64_t end = begin + static_cast<std::uint64_t>(records.finished);
        if (wanted < end) {
            given_.assign(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(at) + 1);
            next_ = {begin, end, paths[at]};
            return found_in(*next_, wanted);
        }
        const bool latest = !given_.empty() && given_.back() == paths[at];
        if (latest && records.stored &&
            begin + static_cast<std::uint64_t>(*records.stored) < wanted) {
            throw InvalidArgument(Problem{
                "'" + paths[at] + "' has fewer records than steps of it were given",
                text("steps up to ", begin + static_cast<std::uint64_t>(*records.stored) - 1),
                text(wanted - 1, " at least"), "Files that are followed must not be written anew"});
        }
        if (!records.whole) {
            return std::nullopt;
        }
        begin = end;
    }
    return std::nullopt;
}

Records FollowedJoined::records_of(const Paths& paths, std::size_t at, bool complete) {
    const std::string& path = paths[at];
    const auto known = whole_.find(path);
    if (known != whole_.end() && at + 2 < given_.size()) {
        return {known->second.second, true};
    }
    const auto now = stamp_of(path);
    if (known != whole_.end() && known->second.first == now) {
        return {known->second.second, true};
    }
    const Records found = growing_.records_of(
        path, at + 1 == paths.size(), complete,
        [&](const FilePtr& file) { check_joins(at > 0 ? paths[at - 1] : "", file); });
    if (known != whole_.end() && at + 1 < given_.size()) {
        const Index before = known->second.second;
        if (found.whole && found.finished != before) {
            throw InvalidArgument(
                Problem{"'" + path + "' was changed when steps of the file behind it were given",
                        text(found.finished, " records"), text(before, " as before"),
                        "A program that has begun the next file must be through with the one "
                        "before"});
        }
        return {before, true};
    }
    if (found.whole && !complete) {
        whole_[path] = {now, found.finished};
    }
    return found;
}

void FollowedJoined::check_joins(const std::string& before, const FilePtr& file) {
    if (joins_.contains(file->path())) {
        return;
    }
    if (!before.empty()) {
        scan::check_joins(open_(before), file, growing_.dimension().value());
    }
    joins_.insert(file->path());
}

SeriesStep FollowedJoined::step(const Found& found) {
    const FilePtr file = opened_with(found);
    const auto files = joined(found, file);
    const Index before =
        files->files().size() > 1 ? places_along(files->first(), found.dimension) : 0;
    return {found.number, files, SeriesStep::Record{found.dimension, before + found.at}};
}

/// Waits until this host sees the record.
FollowedJoined::FilePtr FollowedJoined::opened_with(const Found& found) {
    const Deadline deadline(limits().next_s);
    FilePtr file = growing_.opened(found.path);
    Looking looking([&] {
        if (file && has_record(*file, found.dimension, found.at)) {
            return true;
        }
        try {
            file = growing_.open(found.path);
        } catch (const Error& error) {
            file.reset();  // another look may find it whole
            growing_.set_why(error.what());
        }
        const bool here = file && has_record(*file, found.dimension, found.at);
        if (!here && deadline.passed()) {
            throw_not_here(found.number);
        }
        return here;
    });
    looking.wait();
    return file;
}

/// With the first file, where the dimension has a name by which datasets are joined.
std::shared_ptr<const JoinedFiles> FollowedJoined::joined(const Found& found, const FilePtr& file) {
    if (steps_ && current_ == file) {
        return steps_;
    }
    if (found.path == found.first || found.dimension == unnamed_records) {
        steps_ = std::make_shared<const JoinedFiles>(file);
    } else {
        if (!first_) {
            first_ = open_(found.first);
        }
        steps_ = std::make_shared<const JoinedFiles>(std::vector{first_, file});
    }
    current_ = file;
    return steps_;
}

void FollowedJoined::forget() {
    growing_.forget();
    first_.reset();
    current_.reset();
    steps_.reset();
}

/// The files that there are, by name: those that were given first, in this order.
FollowedJoined::Paths FollowedJoined::listed() const {
    Paths paths;
    try {
        paths = store::FileNames(name()).paths();
    } catch (const NoSuchFile&) {
        // there are none yet
    }
    std::erase_if(paths, [&](const std::string& path) {
        return path.ends_with(mark) || (!limits().until.empty() && same_path(path, limits().until));
    });
    if (paths.size() >= given_.size() && std::equal(given_.begin(), given_.end(), paths.begin())) {
        return paths;
    }
    for (const std::string& path : given_) {
        std::error_code error;
        if (!std::filesystem::exists(path, error)) {
            throw InvalidArgument(Problem{"'" + path + "' has disappeared",
                                          text(paths.size(), " files of '", name(), "'"),
                                          "all of which steps were given",
                                          "Move files away when nobody follows them any more"});
        }
    }
    for (const std::string& path : paths) {
        if (path < given_.back() && std::ranges::count(given_, path) == 0) {
            throw_early(path, given_.back());
        }
    }
    return given_;  // the listing of a shared file system may lag behind
}

void FollowedJoined::throw_early(const std::string& early, const std::string& given) {
    throw InvalidArgument(Problem{"'" + early + "' is sorted before files whose steps were given",
                                  "'" + given + "' before it",
                                  "names in the order in which files are written",
                                  "Give their numbers as many digits, as in 0009 and 0010"});
}

}  // namespace fluvial::scan
