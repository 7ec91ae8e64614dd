// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/trace_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <limits>
#include <sstream>
#include <tuple>

#include "fluvial/base/bytes.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::stream {

namespace {

constexpr int trace_tag = 0;

struct RankTrace {
    std::int64_t offset_ns = 0;
    std::int64_t resolution_ns = 0;
    std::vector<TraceEvent> events;
};

/// In the order of time, the enclosing event first. Where two cross (a batch of one stream was lent
/// while that of another was given back) the later ends with the one that it began in.
std::vector<TraceEvent> nested(std::vector<TraceEvent> events) {
    std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
        return std::tuple(a.begin_ns, -a.end_ns) < std::tuple(b.begin_ns, -b.end_ns);
    });
    std::vector<std::int64_t> open_until_ns;
    for (TraceEvent& event : events) {
        while (!open_until_ns.empty() && open_until_ns.back() <= event.begin_ns) {
            open_until_ns.pop_back();
        }
        if (!open_until_ns.empty()) {
            event.end_ns = std::min(event.end_ns, open_until_ns.back());
        }
        open_until_ns.push_back(event.end_ns);
    }
    return events;
}

std::vector<RankTrace> gather(const mpi::Comm& comm, const Trace& trace, std::int64_t offset_ns) {
    ByteWriter out;
    out.put(offset_ns);
    out.put(trace.resolution_ns());
    out.put<std::uint64_t>(trace.events().size());
    out.append(trace.events().data(), trace.events().size_bytes());
    if (comm.rank() > 0) {
        comm.send(out.view(), 0, trace_tag);
        return {};
    }
    std::vector<RankTrace> all;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const Bytes bytes = rank == 0 ? out.take() : comm.recv(rank, trace_tag);
        ByteReader in(bytes);
        RankTrace& one = all.emplace_back();
        one.offset_ns = in.get<std::int64_t>();
        one.resolution_ns = in.get<std::int64_t>();
        one.events = nested(in.get_vector<TraceEvent>());
    }
    return all;
}

std::string quoted(const std::string& words) {
    std::ostringstream out;
    out << '"';
    for (const char c : words) {
        if (c == '"' || c == '\\') {
            out << '\\' << c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out << "\\u" << std::hex << std::setw(4) << std::setfill('0') << static_cast<int>(c);
        } else {
            out << c;
        }
    }
    out << '"';
    return out.str();
}

const char* name_of(Role role) {
    static constexpr const char* names[] = {"rank", "producer", "consumer",
                                            "producer and consumer"};
    return names[static_cast<int>(role)];
}

std::int64_t first_event_ns(std::span<const RankTrace> ranks) {
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    for (const RankTrace& rank : ranks) {
        for (const TraceEvent& event : rank.events) {
            first_ns = std::min(first_ns, event.begin_ns + rank.offset_ns);
        }
    }
    return first_ns;
}

/// The lines of the file between the brackets, and what they need to know.
class Lines {
  public:
    /// The lines of ranks from number `first_rank` on.
    Lines(std::span<const RankTrace> ranks, int first_rank, std::int64_t start_ns,
          std::span<const Role> roles, std::span<const std::string> streams)
        : ranks_(ranks),
          first_rank_(first_rank),
          start_ns_(start_ns),
          roles_(roles),
          streams_(streams) {}

    std::string text() {
        out_ << std::fixed << std::setprecision(3);
        out_ << R"({"displayTimeUnit": "ms", "traceEvents": [)"
             << "\n"
             << R"({"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "channel"}})";
        for (std::size_t i = 0; i < ranks_.size(); ++i) {
            add_rank(i);
        }
        out_ << "\n]}\n";
        return out_.str();
    }

  private:
    void add_rank(std::size_t i) {
        const int rank = first_rank_ + static_cast<int>(i);
        out_ << ",\n"
             << R"({"name": "thread_name", "ph": "M", "pid": 0, "tid": )" << rank
             << R"(, "args": {"name": ")" << name_of(roles_[i]) << ' ' << rank << R"("}})"
             << ",\n"
             << R"({"name": "thread_sort_index", "ph": "M", "pid": 0, "tid": )" << rank
             << R"(, "args": {"sort_index": )" << rank << "}}";
        for (const TraceEvent& event : ranks_[i].events) {
            add(rank, ranks_[i].offset_ns, event);
        }
    }

    void add(int rank, std::int64_t offset_ns, const TraceEvent& event) {
        const std::int64_t begin_ns = event.begin_ns + offset_ns - start_ns_;
        const std::int64_t length_ns = event.end_ns - event.begin_ns;
        const bool of_stream =
            event.stream >= 0 && static_cast<std::size_t>(event.stream) < streams_.size();
        const std::string stream =
            of_stream ? streams_[static_cast<std::size_t>(event.stream)] : "channel";
        out_ << ",\n"
             << R"({"name": ")" << fluvial::name_of(event.activity) << R"(", "cat": )"
             << quoted(stream) << R"(, "ph": "X", "pid": 0, "tid": )" << rank << R"(, "ts": )"
             << 1e-3 * static_cast<double>(begin_ns) << R"(, "dur": )"
             << 1e-3 * static_cast<double>(length_ns) << R"(, "args": {"parts": )" << event.parts
             << "}}";
    }

    std::span<const RankTrace> ranks_;
    int first_rank_;
    std::int64_t start_ns_;
    std::span<const Role> roles_;
    std::span<const std::string> streams_;
    std::ostringstream out_;
};

void write(const std::string& path, const std::string& lines) {
    std::ofstream file(path);
    file << lines;
    file.close();
    if (file) {
        return;
    }
    throw SystemError(Problem{"the trace of a channel cannot be written", path,
                              "a path in a directory that exists, on a disk with room", ""});
}

}  // namespace

void write_trace(const std::string& path, const mpi::Comm& comm, const Trace& trace,
                 std::int64_t offset_ns, std::span<const Role> roles,
                 std::span<const std::string> streams) {
    const std::vector<RankTrace> ranks = gather(comm, trace, offset_ns);
    mpi::agree(comm, [&] {
        if (comm.rank() > 0) {
            return;
        }
        write(path, Lines(ranks, 0, first_event_ns(ranks), roles, streams).text());
    });
}

std::string trace_path_of(const std::string& path, int rank) {
    const std::filesystem::path whole(path);
    const std::string name =
        text(whole.stem().string(), ".rank-", rank, whole.extension().string());
    return (whole.parent_path() / name).string();
}

void write_own_trace(const std::string& path, int rank, const Trace& trace, std::int64_t start_ns,
                     Role role, std::span<const std::string> streams) {
    const RankTrace own{.resolution_ns = trace.resolution_ns(),
                        .events = nested({trace.events().begin(), trace.events().end()})};
    write(trace_path_of(path, rank),
          Lines(std::span(&own, 1), rank, start_ns, std::span(&role, 1), streams).text());
}

}  // namespace fluvial::stream
