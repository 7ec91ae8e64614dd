// SPDX-License-Identifier: Apache-2.0
/// Computing while reading: operators absorb each piece of a file where and when it arrives; only
/// small partial results travel between ranks.
///
///     Scan scan(request, options, comm);       // collective: validates, agrees, plans
///     scan.start();                            // reads and computes on threads of its own
///     while (!scan.test()) { … }               // the application's own work
///     Outcome outcome = scan.wait();           // collective: merges partials
///
/// Every byte of the selection is read once in the job, by large reads in the order of the file (of
/// chunks: within windows of 64; of several inputs: of the first one that has chunks, whose units
/// the others follow). Source: "Collective Computing for Scientific Big Data Analysis", sections
/// III and IV.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/base/fork.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/request.hpp"

namespace fluvial::move {
class WatchedTask;
}

namespace fluvial::scan {

struct Options {
    /// Collective: all ranks together read the union of their selections once, and aggregators
    /// compute for all ranks. Independent: each rank reads and computes its own, without messages;
    /// its results are its own. All ranks say the same, or those that say Collective wait for the
    /// others in vain.
    enum class Mode : std::uint8_t { Collective, Independent };
    /// Of a collective scan. Common: all ranks make the same request and have its one result.
    /// ToOne: each rank has a selection of its own (without stride); all of them are parts of one
    /// reduction over the smallest region that holds them, where elements that several ranks
    /// selected count several times, and its result is on all ranks. ToAll: each rank has the
    /// result of its own selection. Operators, inputs and predicates are those of all ranks alike.
    enum class Shuffle : std::uint8_t { Common, ToOne, ToAll };

    /// How bytes come from the page cache. Copy: by reads alone. InPlace: where they are, if the
    /// system maps them; the process has a handler of bus errors then (store/mapped_window.hpp).
    /// Chosen: whichever turns out to be faster while the scan runs, but Copy in a process that has
    /// another handler of bus errors, such as Python's faulthandler. The environment variable
    /// FLUVIAL_FILE_ACCESS, "copy" or "in-place", says it for all scans.
    enum class Access : std::uint8_t { Chosen, Copy, InPlace };

    Mode mode = Mode::Collective;
    Shuffle shuffle = Shuffle::Common;
    Access access = Access::Chosen;
    /// The same result to the bit in every run with the same numbers of ranks and threads and the
    /// same buffer: lanes keep to their shares, and what is in the page cache is copied. Without it
    /// sums and what is made of them may differ in the last bit. The same on all ranks.
    bool reproducible = false;
    int threads = 0;  ///< of this rank; 0: the cores it may use, shared between ranks
    /// Reads and computes on the thread that calls test() (a few MiB a call) and wait(), as the
    /// only one: for operators that no other thread may run. `threads` does not count then.
    bool on_calling_thread = false;
    int aggregators = 0;                       ///< ranks that read (MPI-IO's cb_nodes); 0: chosen
    std::int64_t buffer_bytes = 0;             ///< of a read (cb_buffer_size), a thread; 0: chosen
    std::int64_t read_ahead_bytes = 16 << 20;  ///< asked of the system before they are needed
    /// Of this rank, beside partial results: where chunks are large, fewer threads work at once.
    /// One thread always does, and needs a chunk as it is stored and as it is decoded. 0: chosen.
    std::int64_t memory_bytes = 64 << 20;
    /// Of a collective scan: when a rank is stopped, or its host cannot be reached, for longer, the
    /// others get PeerStalled. At least RankWatch::stall_timeout_min_s; infinity: they wait.
    double stall_timeout_s = 10;
    /// Of which the scan is a part (move/rank_watch.hpp). Null: it is a task of its own, and its
    /// communicator, which then should serve many scans, has a watch.
    std::shared_ptr<const move::WatchedTask> task = nullptr;
};

/// What a scan did, on this rank.
struct Stats {
    std::int64_t bytes_read = 0, reads = 0, elements = 0, chunks_decoded = 0;
    std::int64_t bytes_sent = 0;      ///< partial results
    std::int64_t metadata_bytes = 0;  ///< of the logical map: selections and plans exchanged
    /// Summed over threads, but merge_s. What is looked at in place counts as computed alone.
    double read_s = 0, compute_s = 0, merge_s = 0;
    double total_s = 0;
};

struct Outcome {
    /// By group (one without Grouping), then by entry name. Coordinates in results are global.
    std::vector<std::map<std::string, compute::Result>> groups;
    Stats stats;
};

/// The options of a scan on several ranks with its task, which all of them have begun: for what
/// they do together before it is made. Independent scans have none. Collective where the scan is.
Options begun_together(Options options, const mpi::Comm& comm);

/// Move-only. One thread at a time. In a child by fork every call is an InvalidArgument.
class Scan {
  public:
    /// Collective over `comm`; a serial Comm for one process. Keeps its own duplicate. Throws
    /// InvalidArgument on every rank when a request makes no sense on any.
    Scan(Request request, Options options, const mpi::Comm& comm);
    Scan(Scan&&) noexcept;
    ~Scan();  ///< stops the threads; the rest of the scan is abandoned

    /// Local; returns at once.
    void start();
    /// Whether all ranks have read and computed everything, so that wait() has only partial results
    /// to exchange. Local; does not block, but works on_calling_thread.
    bool test();
    /// The share of its own work that this rank has done, 0 to 1. Local.
    double progress() const;
    /// Collective, blocking. Throws on every rank what was thrown while reading or computing on
    /// any.
    Outcome wait();

  private:
    struct State;
    State& state() const;
    void check_running() const;
    UniqueWhereMade<State> state_;
};

/// Scan, start and wait in one. Collective, blocking.
Outcome run(Request request, const Options& options, const mpi::Comm& comm);

}  // namespace fluvial::scan
