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

/// There was another writer when positions were claimed; `by`: the way to the one that is there
/// now.
[[noreturn]] void throw_replaced(const std::string& by);

/// A rank of the reading job.
struct ReadingRank {
    int rank;
    int size;
};
/// From now on the seat, with the writer's host number `host`, keeps how far the rank has come.
/// Throws PeerLost when the claim, which rank 0 has, was of another writer, InvalidArgument when
/// the folder is.
void keep_position(LocalSeat& seat, const std::string& name, const ReaderOptions& options, int host,
                   ReadingRank own, PositionClaim claim);

/// A seat in a stream that is over: its state as this rank alone has it. `begins`: by host, as far
/// as they are given, else like the first. Throws DamagedFile and Error when a host's steps are
/// missing, or of another run.
std::shared_ptr<Seat> take_seat_in_replay(const std::string& name, const ReaderOptions& options,
                                          const std::vector<Begin>& begins, ReadingRank own,
                                          PositionClaims claims);

}  // namespace fluvial::stage
