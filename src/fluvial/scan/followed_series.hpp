// SPDX-License-Identifier: Apache-2.0
/// Series in files that are still being written: their steps are given as they are finished.
///
/// What is found in files of each kind is beside this: in one file, or a file for each step
/// (followed_files.hpp), or in several that are joined (followed_joined.hpp).
/// python/fluvial/scan/followed_series.py does the same from Python.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/scan/series_step.hpp"
#include "fluvial/store/progress_mark.hpp"

namespace fluvial::scan {

/// A file of another program that does not change so long is taken for whole.
inline constexpr std::chrono::seconds settled_after{1};
/// Looks in a row for which a writer was too fast, after which it is asked to rest.
inline constexpr int late_looks_max = 3;

/// Looks again and again, less and less often, until `look` returns true.
class Looking final : public progress::Waiting {
  public:
    explicit Looking(std::function<bool()> look) : look_(std::move(look)) {}
    Seen look() override { return look_() ? Seen::End : Seen::Nothing; }
    void rest(progress::BackOff& back_off, bool serving) override;
    /// The next looks are soon ones again.
    void soon();
    /// Blocking.
    void wait();

  private:
    std::function<bool()> look_;
    std::int64_t nap_ns_ = 1'000'000;
};

/// Time of change and size of a file.
struct Stamp {
    std::filesystem::file_time_type changed{};
    std::uintmax_t bytes = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
};

/// None where there is no such file. Local.
std::optional<Stamp> stamp_of(const std::string& path);

/// One thread at a time. The first rank looks; the others open what it has found.
class FollowedSeries {
  public:
    /// What it waits for, at most.
    struct Limits {
        double first_s;     ///< for the files to be there
        double next_s;      ///< for another step
        double stall_s;     ///< for a rank that is stopped, or whose host is cut off
        std::string until;  ///< a file that is made when no step will come; empty: none
    };

    /// Collective.
    FollowedSeries(std::string name, const mpi::Comm& comm, Limits limits);
    FollowedSeries(const FollowedSeries&) = delete;
    FollowedSeries& operator=(const FollowedSeries&) = delete;
    virtual ~FollowedSeries();

    /// The next step, once it is finished; none at the end. Collective, blocking. Throws on every
    /// rank TimedOut (no step came, and nothing says that none will), PeerLost (the writer is gone,
    /// and all that it has finished was given; or a rank is), PeerStalled (a rank is stopped),
    /// InvalidArgument (a file does not join those before it, or has disappeared), and what opening
    /// the files throws.
    std::optional<SeriesStep> next(std::optional<double> timeout_s);
    /// Of the (first) file, as the step that was given last found it. Local.
    virtual Attributes attributes() const = 0;
    /// Collective; idempotent.
    void close();

  protected:
    /// A step that the first rank has found.
    struct Found {
        std::uint64_t number = 0;
        std::string first{};  ///< of several joined files, the first one
        std::string path{};   ///< and the one that has the step
        std::string dimension{};
        Index at = 0;  ///< along that dimension in this file
    };

    const std::string& name() const { return name_; }
    const Limits& limits() const { return limits_; }
    /// That a step is finished, which is not seen on this rank.
    [[noreturn]] void throw_not_here(std::uint64_t number) const;
    [[noreturn]] static void throw_gone(const std::string& name, const store::Progress& progress);

    /// Whether anything could be read so far.
    virtual bool readable() const = 0;
    /// Looks at the files: whether there may be more in them than when it looked last.
    virtual bool changed() = 0;
    /// The step that follows, where it is finished; `complete`: so are the files.
    virtual std::optional<Found> finished_after(std::optional<std::uint64_t> last,
                                                bool complete) = 0;
    /// Whether nothing more will come, as it was when changed() looked.
    virtual bool is_complete() const = 0;
    /// Throws PeerLost where the writer was gone then.
    virtual void check_writer() const = 0;
    /// Why nothing can be read of a file that is there, for messages.
    virtual std::string why() const { return ""; }
    /// A finished step. Local, but waits until this host sees it, too.
    virtual SeriesStep step(const Found& found) = 0;
    /// Keeps no file open.
    virtual void forget() = 0;

  private:
    std::optional<Found> wait_for_step(std::optional<double> timeout_s);
    [[noreturn]] void throw_late(double limit_s) const;

    std::string name_;
    mpi::Comm comm_;
    Limits limits_;
    move::WatchedTask watch_;
    std::optional<std::uint64_t> last_{};  ///< the number of the step that was given last
    bool closed_ = false, ended_ = false;
};

}  // namespace fluvial::scan
