// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/followed_files.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/back_off.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/store/hdf5_signature.hpp"
#include "fluvial/store/numbered_files.hpp"

namespace fluvial::scan {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using Writer = store::Progress::Writer;

constexpr Seconds nap_min{0.001}, nap_max{0.2}, nap_serving{0.0001};
constexpr std::chrono::seconds settled_after{1};  // a file of another program that does not change
constexpr std::chrono::seconds look_again{1};     // into files that seem unchanged
constexpr int late_looks_max = 3;

/// Looks again and again, less and less often, until `look` returns true.
class Looking final : public progress::Waiting {
  public:
    explicit Looking(std::function<bool()> look) : look_(std::move(look)) {}
    Seen look() override { return look_() ? Seen::End : Seen::Nothing; }
    void rest(progress::BackOff& back_off, bool serving) override {
        std::this_thread::sleep_for(serving ? nap_serving : nap_);
        nap_ = std::min(2 * nap_, nap_max);
        back_off.slept();
    }
    void soon() { nap_ = nap_min; }

  private:
    std::function<bool()> look_;
    Seconds nap_ = nap_min;
};

bool is_ours(const StoredSteps& files) {
    return text_of(files.first().attributes(), "software") == "Fluvial";
}

}  // namespace

FollowedFiles::FollowedFiles(std::string name, const mpi::Comm& comm,
                             std::function<StoredSteps()> open, Limits limits)
    : name_(std::move(name)),
      comm_(comm.serial() ? mpi::Comm() : comm.split(0, comm.rank())),
      open_(std::move(open)),
      limits_(std::move(limits)),
      watch_(move::watched(comm, limits_.stall_s, "the series")),
      numbered_(store::has_number(name_)) {}

FollowedFiles::~FollowedFiles() {
    comm_.abandon();
}

std::optional<SeriesStep> FollowedFiles::next(std::optional<double> timeout_s) {
    if (closed_) {
        throw InvalidArgument("the series is closed; ask for steps before close()");
    }
    if (ended_) {
        return std::nullopt;
    }
    const progress::Lookout looking([this](double) { watch_.look(); });
    std::optional<std::uint64_t> number;
    mpi::agree(comm_, [&] {
        if (comm_.rank() == 0) {
            number = wait_for_step(timeout_s);
        }
    });
    ByteWriter found;
    found.put(number.has_value());
    found.put(number.value_or(0));
    const Bytes told = comm_.bcast(found.take(), 0);
    ByteReader in(told);
    if (!in.get<bool>()) {
        ended_ = true;
        return std::nullopt;
    }
    last_ = in.get<std::uint64_t>();
    std::optional<SeriesStep> opened;
    mpi::agree(comm_, [&] { opened = step(*last_); });
    return opened;
}

Attributes FollowedFiles::attributes() const {
    return latest_ ? latest_->first().attributes() : Attributes();
}

void FollowedFiles::close() {
    if (!closed_) {
        closed_ = true;
        latest_.reset();
        comm_.close();
    }
}

/// On the first rank.
std::optional<std::uint64_t> FollowedFiles::wait_for_step(std::optional<double> timeout_s) {
    std::optional<std::pair<store::Progress, std::optional<Fingerprint>>> state;
    std::optional<std::uint64_t> found;
    auto begin = Clock::now();
    std::optional<Clock::time_point> looked_at;
    Looking looking([&] {
        const store::Progress progress = store::progress_of(name_);
        const auto now = std::pair(progress, fingerprint());
        std::error_code error;
        const bool ended = !limits_.until.empty() && std::filesystem::exists(limits_.until, error);
        seen_writing_ = seen_writing_ || progress.writer == Writer::Writes;
        const bool changed = state != now;
        if (changed) {
            state = now;
            begin = Clock::now();
            looking.soon();
        }
        if (changed || ended || Clock::now() - *looked_at > look_again) {
            looked_at = Clock::now();
            found = finished_after(false);
            if (found) {
                return true;
            }
        }
        if (ended || is_complete(progress)) {
            found = finished_after(true);  // what was finished since the look before is there now
            return true;
        }
        if (progress.writer == Writer::Gone) {
            throw PeerLost(Problem{"the writer of '" + name_ + "' is gone", progress.said,
                                   "one that closes its files",
                                   "What it has finished can be read without follow, unless it "
                                   "was killed while it changed the file"});
        }
        const double limit_s = timeout_s.value_or(latest_ ? limits_.next_s : limits_.first_s);
        if (Clock::now() - begin > Seconds(limit_s)) {
            throw_late(limit_s);
        }
        return false;
    });
    progress::BackOff back_off;
    progress::wait(looking, back_off);
    return found;
}

/// A finished step. Local, but waits until this host sees it, too.
SeriesStep FollowedFiles::step(std::uint64_t number) {
    const auto begin = Clock::now();
    std::optional<SeriesStep> found;
    int looks = 0;
    Looking looking([&] {
        std::optional<store::WriterRests> rests;
        if (looks++ >= late_looks_max) {
            rests.emplace(name_);
        }
        found = open_step(number);
        if (!found && Clock::now() - begin > Seconds(limits_.next_s)) {
            throw TimedOut(
                Problem{text("step ", number, " of '", name_, "' does not appear on this rank"),
                        text(limits_.next_s, " s of waiting"), "files that all ranks see", ""});
        }
        return found.has_value();
    });
    progress::BackOff back_off;
    progress::wait(looking, back_off);
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
        const store::Progress now = store::progress_of(name_);
        if (now.writer == Writer::Gone && !now.whole()) {
            throw PeerLost(Problem{
                text("step ", number, " of '", name_, "' cannot be read: ", error.what()),
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

std::optional<std::uint64_t> FollowedFiles::finished_after(bool complete) {
    for (const bool again : {complete, true}) {
        if ((again || !latest_) && !open_whole(complete)) {
            return std::nullopt;
        }
        for (const std::uint64_t number : finished_now()) {
            if (!last_ || number > *last_) {
                return number;
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
        rests.emplace(name_);
    }
    const bool opened = open_if_whole(complete);
    late_looks_ = opened ? 0 : late_looks_ + 1;
    return opened;
}

bool FollowedFiles::open_if_whole(bool complete) {
    const store::Progress before = store::progress_of(name_);
    if (!before.whole() && before.writer == Writer::Writes) {
        return false;
    }
    if (before.writer == Writer::None && !numbered_ &&
        store::hdf5_writer_of(name_) == store::Hdf5Writer::Alone) {
        return false;
    }
    std::optional<StoredSteps> files;
    try {
        files = open_();
    } catch (const Error&) {
        // A writer that was killed while it changed a file may leave one that cannot be read.
        if (store::progress_of(name_) != before || before.writer != Writer::None ||
            (!latest_ && !exists()) || (!complete && !settled())) {
            return false;
        }
        throw;
    }
    if (store::progress_of(name_).changes != before.changes) {
        return false;
    }
    if (before.writer == Writer::Writes && !numbered_ &&
        files->first().format().starts_with("netCDF-4")) {
        throw InvalidArgument(Problem{"one file of netCDF-4 cannot be followed", "'" + name_ + "'",
                                      "a file for each step, as 'run%T.nc4', or CDF-5, as 'run.nc'",
                                      "Read it when its writer has closed it"});
    }
    latest_ = std::move(files);
    opened_at_ = before;
    return true;
}

/// Whether the writer has closed the files.
bool FollowedFiles::is_complete(const store::Progress& progress) const {
    if (progress.writer != Writer::None || !latest_) {
        return false;
    }
    if (seen_writing_) {
        return true;
    }
    return is_ours(*latest_) ||
           (!numbered_ && store::hdf5_writer_of(name_) == store::Hdf5Writer::None);
}

bool FollowedFiles::exists() const {
    std::error_code error;
    return numbered_ ? fingerprint().has_value() : std::filesystem::exists(name_, error);
}

std::optional<FollowedFiles::Fingerprint> FollowedFiles::fingerprint() const {
    Fingerprint found{name_, {}, 0};
    try {
        if (numbered_) {
            found.path = store::numbered_files(name_).rbegin()->second;
        }
        found.changed = std::filesystem::last_write_time(found.path);
        found.bytes = std::filesystem::file_size(found.path);
    } catch (const std::exception&) {
        return std::nullopt;  // there are none yet
    }
    return found;
}

bool FollowedFiles::settled() const {
    const auto found = fingerprint();
    return !found || std::filesystem::file_time_type::clock::now() - found->changed > settled_after;
}

void FollowedFiles::throw_late(double limit_s) const {
    throw TimedOut(Problem{
        (latest_ ? "no step came from '" : "nothing can be read of '") + name_ + "' in time",
        text(limit_s, " s of waiting"), "less",
        text("Raise ", latest_ ? "step_timeout_s" : "rendezvous_timeout_s",
             ", or name a file by `until` that is made when no step will come")});
}

}  // namespace fluvial::scan
