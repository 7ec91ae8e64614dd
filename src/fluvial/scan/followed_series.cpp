// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/followed_series.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/back_off.hpp"

namespace fluvial::scan {
namespace {

constexpr std::int64_t nap_min_ns = 1'000'000;
constexpr std::int64_t nap_max_ns = 200'000'000;
constexpr std::int64_t nap_serving_ns = 100'000;
constexpr std::int64_t look_again_ns = 1'000'000'000;  // into files that seem unchanged

}  // namespace

void Looking::rest(progress::BackOff& back_off, bool serving) {
    sleep_ns(serving ? nap_serving_ns : nap_ns_);
    nap_ns_ = std::min(2 * nap_ns_, nap_max_ns);
    back_off.slept();
}

void Looking::soon() {
    nap_ns_ = nap_min_ns;
}

void Looking::wait() {
    progress::BackOff back_off;
    progress::wait(*this, back_off);
}

std::optional<Stamp> stamp_of(const std::string& path) {
    std::error_code error;
    Stamp found;
    found.changed = std::filesystem::last_write_time(path, error);
    if (error) {
        return std::nullopt;
    }
    found.bytes = std::filesystem::file_size(path, error);  // of a folder there is none
    return found;
}

FollowedSeries::FollowedSeries(std::string name, const mpi::Comm& comm, Limits limits)
    : name_(std::move(name)),
      comm_(comm.serial() ? mpi::Comm() : comm.split(0, comm.rank())),
      limits_(std::move(limits)),
      watch_(move::watched(comm_, limits_.stall_s, "the series")) {}

FollowedSeries::~FollowedSeries() {
    comm_.abandon();
}

std::optional<SeriesStep> FollowedSeries::next(std::optional<double> timeout_s) {
    if (closed_) {
        throw InvalidArgument("the series is closed; ask for steps before close()");
    }
    if (ended_) {
        return std::nullopt;
    }
    const progress::Lookout looking([this](double) { watch_.look(); });
    std::optional<Found> found;
    mpi::agree(comm_, [&] {
        if (comm_.rank() == 0) {
            found = wait_for_step(timeout_s);
        }
    });
    ByteWriter telling;
    telling.put(found.has_value());
    if (found) {
        telling.put(found->number);
        telling.put_string(found->first);
        telling.put_string(found->path);
        telling.put_string(found->dimension);
        telling.put(found->at);
    }
    const Bytes told = comm_.bcast(telling.take(), 0);
    ByteReader in(told);
    if (!in.get<bool>()) {
        ended_ = true;
        return std::nullopt;
    }
    Found theirs;
    theirs.number = in.get<std::uint64_t>();
    theirs.first = in.get_string();
    theirs.path = in.get_string();
    theirs.dimension = in.get_string();
    theirs.at = in.get<Index>();
    last_ = theirs.number;
    std::optional<SeriesStep> opened;
    mpi::agree(comm_, [&] { opened = step(theirs); });
    return opened;
}

void FollowedSeries::close() {
    if (!closed_) {
        closed_ = true;
        forget();
        comm_.close();
    }
}

/// On the first rank.
std::optional<FollowedSeries::Found> FollowedSeries::wait_for_step(
    std::optional<double> timeout_s) {
    std::optional<Found> found;
    std::int64_t begin_ns = now_ns();
    std::optional<std::int64_t> looked_at_ns;
    Looking looking([&] {
        std::error_code error;
        const bool ended = !limits_.until.empty() && std::filesystem::exists(limits_.until, error);
        if (changed()) {
            begin_ns = now_ns();
            looked_at_ns.reset();
            looking.soon();
        }
        if (!looked_at_ns || ended || now_ns() - *looked_at_ns > look_again_ns) {
            looked_at_ns = now_ns();
            found = finished_after(last_, false);
            if (found) {
                return true;
            }
        }
        if (ended || is_complete()) {
            found = finished_after(last_, true);  // what was finished meanwhile is there now
            return true;
        }
        check_writer();
        const double limit_s = timeout_s.value_or(readable() ? limits_.next_s : limits_.first_s);
        if (1e-9 * static_cast<double>(now_ns() - begin_ns) > limit_s) {
            throw_late(limit_s);
        }
        return false;
    });
    looking.wait();
    return found;
}

void FollowedSeries::throw_late(double limit_s) const {
    throw TimedOut(Problem{
        (readable() ? "no step came from '" : "nothing can be read of '") + name_ + "' in time",
        text(limit_s, " s of waiting", why()), "less",
        text("Raise ", readable() ? "step_timeout_s" : "rendezvous_timeout_s",
             ", or name a file by `until` that is made when no step will come")});
}

void FollowedSeries::throw_not_here(std::uint64_t number) const {
    throw TimedOut(Problem{text("step ", number, " of '", name_, "' does not appear on this rank"),
                           text(limits_.next_s, " s of waiting", why()), "files that all ranks see",
                           ""});
}

void FollowedSeries::throw_gone(const std::string& name, const store::Progress& progress) {
    throw PeerLost(Problem{"the writer of '" + name + "' is gone", progress.said,
                           "one that closes its files",
                           "What it has finished can be read without follow, unless it was killed "
                           "while it changed the file"});
}

}  // namespace fluvial::scan
