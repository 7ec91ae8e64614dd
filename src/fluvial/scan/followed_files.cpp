// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/followed_files.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/store/hdf5_signature.hpp"
#include "fluvial/store/numbered_files.hpp"

namespace fluvial::scan {
namespace {

using Writer = store::Progress::Writer;

bool is_ours(const StoredSteps& files) {
    return text_of(files.first().attributes(), "software") == "Fluvial";
}

}  // namespace

FollowedFiles::FollowedFiles(std::string name, const mpi::Comm& comm,
                             std::function<StoredSteps()> open, Limits limits)
    : FollowedSeries(std::move(name), comm, std::move(limits)),
      open_(std::move(open)),
      numbered_(store::has_number(this->name())) {}

Attributes FollowedFiles::attributes() const {
    return latest_ ? latest_->first().attributes() : Attributes();
}

bool FollowedFiles::changed() {
    auto now = std::pair(store::progress_of(name()), fingerprint());
    seen_writing_ = seen_writing_ || now.first.writer == Writer::Writes;
    const bool differs = state_ != now;
    state_ = std::move(now);
    return differs;
}

void FollowedFiles::check_writer() const {
    if (state_ && state_->first.writer == Writer::Gone) {
        throw_gone(name(), state_->first);
    }
}

SeriesStep FollowedFiles::step(const Found& wanted) {
    const Deadline deadline(limits().next_s);
    std::optional<SeriesStep> found;
    int looks = 0;
    Looking looking([&] {
        std::optional<store::WriterRests> rests;
        if (looks++ >= late_looks_max) {
            rests.emplace(name());
        }
        found = open_step(wanted.number);
        if (!found && deadline.passed()) {
            throw_not_here(wanted.number);
        }
        return found.has_value();
    });
    looking.wait();
    return *found;
}

/// None where the files are not whole now, or were changed meanwhile, which may hide the step.
std::optional<SeriesStep> FollowedFiles::open_step(std::uint64_t number) {
    const auto has_step = [&] { return latest_ && std::ranges::count(finished_now(), number) > 0; };
    if (!has_step() && (!open_whole(false) || !has_step())) {
        return std::nullopt;
    }
    const auto& numbers = latest_->numbers();
    const auto position =
        static_cast<std::size_t>(std::ranges::find(numbers, number) - numbers.begin());
    try {
        return latest_->open(position);
    } catch (const Error& error) {
        const store::Progress now = store::progress_of(name());
        if (now.writer == Writer::Gone && !now.whole()) {
            throw PeerLost(Problem{
                text("step ", number, " of '", name(), "' cannot be read: ", error.what()),
                "a writer that was killed while it changed the file (" + now.said + ")",
                "one that closes its files, or numbered files, of which it leaves all but the last",
                ""});
        }
        if (now == opened_at_) {
            throw;
        }
        latest_.reset();
        return std::nullopt;
    }
}

std::optional<FollowedSeries::Found> FollowedFiles::finished_after(
    std::optional<std::uint64_t> last, bool complete) {
    for (const bool again : {complete, true}) {
        if ((again || !latest_) && !open_whole(complete)) {
            return std::nullopt;
        }
        for (const std::uint64_t number : finished_now()) {
            if (!last || number > *last) {
                return Found{number};
            }
        }
        if (again) {
            break;
        }
    }
    return std::nullopt;
}

/// The numbers of the steps that were finished when the files were opened.
std::vector<std::uint64_t> FollowedFiles::finished_now() const {
    std::vector<std::uint64_t> numbers = latest_->numbers();
    if (opened_at_.writer != Writer::None) {
        if (!numbered_) {  // numbered ones get their names when they are whole
            std::erase_if(numbers, [&](auto number) { return number >= opened_at_.finished; });
        }
    } else if (numbered_ && !numbers.empty() && !settled() && !is_ours(*latest_)) {
        numbers.pop_back();  // another program may still be writing it
    }
    return numbers;
}

/// Opens the files as a finished step left them; false: that is not so now. Of files that are
/// `complete` an error is one; else another look may find them whole.
bool FollowedFiles::open_whole(bool complete) {
    std::optional<store::WriterRests> rests;
    if (late_looks_ >= late_looks_max) {
        rests.emplace(name());
    }
    const bool opened = open_if_whole(complete);
    late_looks_ = opened ? 0 : late_looks_ + 1;
    return opened;
}

bool FollowedFiles::open_if_whole(bool complete) {
    const store::Progress before = store::progress_of(name());
    if (!before.whole() && before.writer == Writer::Writes) {
        return false;
    }
    if (before.writer == Writer::None && !numbered_ &&
        store::hdf5_writer_of(name()) == store::Hdf5Writer::Alone) {
        return false;
    }
    std::optional<StoredSteps> files;
    try {
        files = open_();
    } catch (const Error&) {
        // A writer that was killed while it changed a file may leave one that cannot be read.
        if (store::progress_of(name()) != before || before.writer != Writer::None ||
            (!latest_ && !exists()) || (!complete && !settled())) {
            return false;
        }
        throw;
    }
    if (store::progress_of(name()).changes != before.changes) {
        return false;
    }
    if (before.writer == Writer::Writes && !numbered_ &&
        files->first().format().starts_with("netCDF-4")) {
        throw InvalidArgument(Problem{"one file of netCDF-4 cannot be followed", "'" + name() + "'",
                                      "a file for each step, as 'run%T.nc4', or CDF-5, as 'run.nc'",
                                      "Read it when its writer has closed it"});
    }
    latest_ = std::move(files);
    opened_at_ = before;
    return true;
}

bool FollowedFiles::is_complete() const {
    if (!state_ || state_->first.writer != Writer::None) {
        return false;
    }
    if (!latest_) {  // of a numbered series that was closed without a step there is no file
        return seen_writing_ && !exists();
    }
    if (seen_writing_) {
        return true;
    }
    return is_ours(*latest_) ||
           (!numbered_ && store::hdf5_writer_of(name()) == store::Hdf5Writer::None);
}

bool FollowedFiles::exists() const {
    std::error_code error;
    return numbered_ ? fingerprint().has_value() : std::filesystem::exists(name(), error);
}

FollowedFiles::Fingerprint FollowedFiles::fingerprint() const {
    std::string path = name();
    try {
        if (numbered_) {
            path = store::numbered_files(name()).rbegin()->second;
        }
    } catch (const Error&) {
        return std::nullopt;  // there are none yet
    }
    const auto stamp = stamp_of(path);
    return stamp ? Fingerprint({path, *stamp}) : std::nullopt;
}

bool FollowedFiles::settled() const {
    const auto found = fingerprint();
    return !found ||
           std::filesystem::file_time_type::clock::now() - found->second.changed > settled_after;
}

}  // namespace fluvial::scan
