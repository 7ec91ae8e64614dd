// SPDX-License-Identifier: Apache-2.0
/// What the ranks of a pool tell each other, on a communicator of the pool's own.
///
/// | message | from, to                  | what follows |
/// |---------|---------------------------|--------------|
/// | Run     | server, each of a team    | they call the function |
/// | Make    | server, each of a team    | they make its communicator |
/// | Free    | server, each of a team    | they free it |
/// | Lost    | server, each rank         | that rank sends nothing more |
/// | Give    | server, a rank that keeps | it sends a kept result where the order says |
/// | Drop    | server, a rank that keeps | the result is gone |
/// | Cancel  | server, each of a team    | nobody waits for the task: it may end early |
/// | Stop    | server, each rank         | it ends what is before, and says Bye |
/// | Note    | rank of a team, its first | that waits for a Note of each other rank |
/// | Done    | first of a team, server   | the task is over, its ranks are idle |
/// | Unbegun | rank, server              | it will not begin the task, which goes elsewhere |
/// | Failed  | any of a team, server     | no result; others may wait for this rank |
/// | Bye     | each rank, server         | it sends nothing more |
/// | Lost    | relay, server             | that rank of its host is lost |
/// | Died    | relay, server             | the same, and which task it had begun last |
///
/// A rank carries out what the server sends in the order in which it was sent. In a pool of several
/// servers the lead is the one that is meant here; what goes to a rank that another server (a
/// relay) serves, and what that rank reports, travels through the relay, in parcels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/flow/function.hpp"
#include "fluvial/flow/kept.hpp"
#include "fluvial/flow/team_cache.hpp"

namespace fluvial::flow {

inline constexpr int tag_orders = 1;   ///< of the server
inline constexpr int tag_reports = 2;  ///< to the server
inline constexpr int tag_notes = 3;    ///< to a team's first rank
inline constexpr int tag_inputs = 4;   ///< kept results, to a rank whose task has them as input
inline constexpr int tag_fetched = 5;  ///< to the server
inline constexpr int tag_parcels = 6;  ///< between the lead and a relay

/// What of a task's results stays where it was made.
enum class Keeps : std::uint8_t { Nothing, Result, Parts };
/// By this number a rank keeps its part of the result.
constexpr TaskId part_of(TaskId task, std::size_t rank_in_team) {
    return task + 1 + rank_in_team;
}

enum class Word : std::uint8_t {
    Run,
    Make,
    Free,
    Lost,
    Give,
    Drop,
    Cancel,
    Back,
    Stop,
    Done,
    Unbegun,
    Failed,
    Died,
    Bye
};

/// What the server tells a rank to do.
struct Order {
    Word word = Word::Stop;
    TaskId task = 0;
    std::uint32_t function = 0;
    TeamNumber team = 0;     ///< 0: the task runs on this rank alone
    std::vector<int> ranks;  ///< in the pool: of a new team; the one that is lost, or given to
    int tag = 0;             ///< of what is given
    Keeps keeps = Keeps::Nothing;
    bool fresh = false;     ///< the task gets a communicator that no other has
    bool any_lost = false;  ///< of Stop: communicators are to be left to MPI_Finalize
    struct Input {
        Bytes bytes;
        int keeper = -1;                         ///< the rank that keeps it; -1: here it is
        TaskId task = 0;                         ///< that made what is kept
        std::shared_ptr<const Bytes> kept = {};  ///< its message, once it is here

        std::span<const std::byte> view() const {
            return kept ? KeptMessage::result(*kept) : std::span<const std::byte>(bytes);
        }
    };
    std::vector<Input> inputs;

    /// An Input that is to be written.
    struct View {
        std::span<const std::byte> bytes;
        int keeper = -1;
        TaskId task = 0;
    };

    static void write_run(ByteWriter& out, TaskId task, std::uint32_t function, TeamNumber team,
                          Keeps keeps, bool fresh, const std::vector<View>& inputs);
    static void write_make(ByteWriter& out, TeamNumber team, const std::vector<int>& ranks);
    static void write_free(ByteWriter& out, TeamNumber team);
    static void write_lost(ByteWriter& out, int rank);
    static void write_give(ByteWriter& out, TaskId task, int to, int tag);
    static void write_drop(ByteWriter& out, TaskId task);
    static void write_cancel(ByteWriter& out, TaskId task);
    /// The rank is to say that it has come back from the task.
    static void write_back(ByteWriter& out, TaskId task);
    static void write_stop(ByteWriter& out, bool any_lost);
    static Order read(ByteReader& in);
};

/// What a rank tells the server, or the first rank of its team.
struct Report {
    Word word = Word::Bye;
    TaskId task = 0;            ///< of Died: the one that the rank began last
    std::int64_t began_ns = 0;  ///< by the rank's clock
    double took_s = 0;
    Bytes result;  ///< or the message of a continuation
    bool continues = false;
    bool kept = false;  ///< the result, by the rank that reports
    std::optional<TaskFailure> failure = {};

    void write(ByteWriter& out) const;
    static Report read(ByteReader& in);
};

}  // namespace fluvial::flow
