// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/retained_steps.hpp"

#include <cstdint>
#include <set>
#include <utility>

#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/joined_seat.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/waiting.hpp"

namespace fluvial::stage {
namespace {

constexpr std::uint64_t not_ended = ~std::uint64_t{0};

/// The logs of all hosts of a writer that has ended.
std::vector<StepLog> open_logs(const std::string& name, const ReaderOptions& options) {
    std::vector<StepLog> logs;
    int hosts = 1;
    for (int host = 0; host < hosts; ++host) {
        const std::string path = folder_of_steps(name, options, host);
        auto log = StepLog::open(path);
        if (!log && host > 0) {
            throw Error(Problem{text("the writer of '", name, "' was on ", hosts,
                                     " hosts, and steps of one are "
                                     "missing"),
                                "no steps in " + path, "a folder for each host, side by side",
                                "Copy it from that host, into the folder of the option retained"});
        }
        if (!log || log->head().name != name) {
            throw Error(Problem{text("the retained steps of '", name, "' cannot be read"),
                                log ? "steps of '" + log->head().name + "'" : "no steps in " + path,
                                "the steps that rank 0 found", "Open the stream again"});
        }
        const LogHead& first = host == 0 ? log->head() : logs.front().head();
        const LogHead& own = log->head();
        if (own.run != first.run || own.hosts != first.hosts || own.host != host) {
            throw DamagedFile(
                Problem{text("the retained steps of '", name, "' do not belong together"),
                        text(path, " has those of host ", own.host, " of ", own.hosts,
                             own.run != first.run ? ", of another run" : ""),
                        text("those of host ", host, " of ", first.hosts),
                        "Keep the folders of each run apart"});
        }
        hosts = first.hosts;
        logs.push_back(std::move(*log));
    }
    return logs;
}

/// The steps in a folder that no living writer retains steps in. The log comes first: its writer
/// has the lock before it makes the log, so that a reader that finds a log, and then no lock, has
/// it whole.
std::optional<StepLog> open_unless_retained(const std::string& folder) {
    std::optional<StepLog> log;
    try {
        log = StepLog::open(folder);
    } catch (const DamagedFile&) {  // or another host's writer is at it, and not all has come here
        if (is_being_retained(folder)) {
            return std::nullopt;
        }
        throw;
    }
    // A writer that found no readers removes what it made.
    if (!log || is_being_retained(folder) || !log->lies_in(folder)) {
        return std::nullopt;
    }
    return log;
}

/// The state of a host's part as its log has it.
ControlBlock control_of(const StepLog& log, int job_size) {
    const LogHead& head = log.head();
    ControlBlock control = ControlBlock::create(head.name, "", log.writer_ranks(), WriterOptions{});
    control.set_job_ranks(head.ranks, job_size);
    ControlHeader& header = control.header();
    const StepLog::Extent extent = log.extent();
    header.retains = 1;
    header.writers_closed = header.writer_ranks;
    Counters& counters = header.counters;
    counters.entries_end = extent.entries;
    counters.steps_completed = extent.entries;
    counters.complete_end = extent.entries > 0 ? log.entry(extent.entries - 1).step + 1 : 0;
    return control;
}

}  // namespace

std::optional<StepLog> open_retained(const std::string& name, const ReaderOptions& options) {
    auto log = open_unless_retained(folder_of_steps(name, options));
    for (int host = 1; log && host < log->head().hosts; ++host) {
        if (is_being_retained(folder_of_steps(name, options, host))) {
            return std::nullopt;
        }
    }
    return log;
}

bool is_retained(const std::string& name, const ReaderOptions& options) {
    const std::string folder = folder_of_steps(name, options);
    return options.contact.empty() && (is_being_retained(folder) || StepLog::open(folder));
}

std::string steps_of_another_host(const std::string& name, const ReaderOptions& options) {
    constexpr int hosts_looked_for = 64;
    for (int host = 1; host < hosts_looked_for; ++host) {
        const std::string folder = folder_of_steps(name, options, host);
        if (open_unless_retained(folder)) {
            return folder;
        }
    }
    return "";
}

std::string folder_of_steps(const std::string& name, const ReaderOptions& options, int host) {
    std::string folder = options.retained;
    if (folder.empty()) {
        const std::string path = contact_path(options.directory, name);
        const auto slash = path.rfind('/');
        folder = slash == std::string::npos ? "." : path.substr(0, slash);
    }
    return retained_path(folder, name, host);
}

std::vector<const Contact*> hosts_of(const Contact& contact) {
    std::vector<const Contact*> hosts = {&contact};
    for (const Contact& other : contact.others) {
        hosts.push_back(&other);
    }
    return hosts;
}

bool shares_memory(const Contact& host, const ReaderOptions& options) {
    return is_on_this_host(host) && !transport_of(options).network;
}

PositionClaims claim_positions(const std::string& name, const ReaderOptions& options,
                               const std::optional<Contact>& writer, int size) {
    PositionClaims claims;
    const auto claim = [&](int host) -> PositionClaim {
        const std::string folder = folder_of_steps(name, options, host);
        const auto log = StepLog::open(folder);
        if (!log) {
            throw InvalidArgument(Problem{
                text("the reader of '", name, "' cannot resume"), text("no steps in ", folder),
                "a stream that is written with retain",
                "Give the writer the option retain, and this reader the same folder by retained"});
        }
        return {{folder, options.resume, log->head().run}, size};
    };
    if (!writer) {
        for (const StepLog& log : open_logs(name, options)) {
            claims.push_back(claim(log.head().host));
        }
        return claims;
    }
    for (const Contact* const host : hosts_of(*writer)) {
        const int number = static_cast<int>(claims.size());
        claims.push_back(shares_memory(*host, options) ? claim(number) : PositionClaim());
    }
    return claims;
}

void keep_position(LocalSeat& seat, const std::string& name, const ReaderOptions& options, int host,
                   ReadingRank own, PositionClaim claim) {
    const std::string folder = folder_of_steps(name, options, host);
    if (!seat.retains_in(folder)) {
        throw InvalidArgument(Problem{text("the reader of '", name, "' cannot resume"),
                                      text("the steps in ", folder, " are of another run"),
                                      "the folder of the writer's option retain",
                                      "Give it by the option retained"});
    }
    seat.keep(Position({folder, options.resume, seat.run()}, own.rank, own.size, std::move(claim)));
}

std::shared_ptr<Seat> take_seat_in_replay(const std::string& name, const ReaderOptions& options,
                                          const std::vector<Begin>& begins, ReadingRank own,
                                          PositionClaims claims) {
    std::vector<StepLog> logs = open_logs(name, options);
    int job_size = 0;
    std::set<std::uint64_t> ends;
    for (const StepLog& log : logs) {
        job_size += log.writer_ranks();
        const StepLog::Extent extent = log.extent();
        ends.insert(extent.ended ? extent.steps : not_ended);
    }
    std::vector<JoinedSeat::Part> parts;
    claims.resize(logs.size());
    for (StepLog& log : logs) {
        const std::size_t host = parts.size();
        std::vector<int> ranks = log.head().ranks;
        ControlBlock control = control_of(log, job_size);
        if (ends.contains(not_ended)) {
            fail(control, "PeerLost",
                 text("the writer of '", name, "' ended without closing the stream"));
        } else if (ends.size() > 1) {
            fail(control, "PeerLost",
                 text("the hosts of the writer of '", name, "' closed the stream after ",
                      *ends.begin(), " and ", *ends.rbegin(),
                      " steps. All ranks must write the same steps"));
        }
        int cell = -1;
        {
            const ControlLock lock(control);
            const Begin& begin = begins.at(host < begins.size() ? host : 0);
            const int group = open_group(control, 1, begin, &log);
            cell = open_reader(control, group, 0, static_cast<std::uint32_t>(::getpid()));
        }
        auto seat = make_shared_where_made<LocalSeat>(
            std::move(control), std::vector<host::MemoryFile>(), std::move(log), cell, options);
        if (!options.resume.empty()) {
            keep_position(*seat, name, options, static_cast<int>(host), own,
                          std::move(claims[host]));
        }
        parts.push_back({std::move(seat), std::move(ranks)});
    }
    return parts.size() == 1 ? parts.front().seat : std::make_shared<JoinedSeat>(std::move(parts));
}

}  // namespace fluvial::stage
