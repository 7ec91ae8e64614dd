// SPDX-License-Identifier: Apache-2.0
/// What a reader does in the folders of the steps that a stream retains, one for each of the
/// writer's hosts: it goes on where it was, and reads a stream that is over.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/position.hpp"
#include "fluvial/stage/seat.hpp"
#include "fluvial/stage/step_log.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {

/// Where steps of the writer's host number `host` are, for this reader.
std::string folder_of_steps(const std::string& name, const ReaderOptions& options, int host = 0);

/// The steps of a writer that has ended on all of its hosts; none while one lives, or where there
/// are no steps. Throws as StepLog::open.
std::optional<StepLog> open_retained(const std::string& name, const ReaderOptions& options);
/// A writer retains steps there, or has retained some.
bool is_retained(const std::string& name, const ReaderOptions& options);
/// Of a reader that has found neither a writer nor steps of its first host: "" or where those of
/// another host are.
std::string steps_of_another_host(const std::string& name, const ReaderOptions& options);

/// The first of the writer's hosts, then the others.
std::vector<const Contact*> hosts_of(const Contact& contact);
/// This reader uses the memory, and the folder, of that host itself.
bool shares_memory(const Contact& host, const ReaderOptions& options);

/// The job's positions by host of the writer; those that another process keeps are not held.
using PositionClaims = std::vector<PositionClaim>;
/// `writer`: none of a stream that is over. Throws InvalidArgument where there are no steps, or
/// when another job goes by the same name.
PositionClaims claim_positions(const std::string& name, const ReaderOptions& options,
                               const std::optional<Contact>& writer, int size);

/// A rank of the reading job.
struct ReadingRank {
    int rank;
    int size;
};
/// From now on the seat, with the writer's host number `host`, keeps how far the rank has come.
/// Throws InvalidArgument when the folder is of another run.
void keep_position(LocalSeat& seat, const std::string& name, const ReaderOptions& options, int host,
                   ReadingRank own, PositionClaim claim);

/// A seat in a stream that is over: its state as this rank alone has it. `begins`: by host, as far
/// as they are given, else like the first. Throws DamagedFile and Error when a host's steps are
/// missing, or of another run.
std::shared_ptr<Seat> take_seat_in_replay(const std::string& name, const ReaderOptions& options,
                                          const std::vector<Begin>& begins, ReadingRank own,
                                          PositionClaims claims);

}  // namespace fluvial::stage
