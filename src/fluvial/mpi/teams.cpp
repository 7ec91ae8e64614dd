// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/teams.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"

namespace fluvial::mpi {

namespace {

void check_members(const std::vector<int>& ranks, int own, int size) {
    std::vector<int> sorted = ranks;
    std::ranges::sort(sorted);
    const bool inside = !sorted.empty() && sorted.front() >= 0 && sorted.back() < size;
    if (!inside || std::ranges::adjacent_find(sorted) != sorted.end()) {
        std::string seen;
        for (const int rank : ranks) {
            seen += text(seen.empty() ? "" : ", ", rank);
        }
        throw InvalidArgument(Problem{"these ranks are no team", "ranks " + seen,
                                      text("one or more of 0 to ", size - 1, ", each once"), ""});
    }
    if (!std::ranges::binary_search(sorted, own)) {
        throw InvalidArgument(Problem{"a rank makes a team that it is not in", text("rank ", own),
                                      "a rank of the team", "Call it on the team's ranks alone"});
    }
}

/// Freed when it goes out of scope.
class Group {
  public:
    explicit Group(MPI_Comm comm) {
        check(MPI_Comm_group(comm, &handle), "tell a communicator's group");
    }
    Group(const Group& all, const std::vector<int>& ranks) {
        check(MPI_Group_incl(all.handle, to_int(static_cast<Index>(ranks.size()), "ranks"),
                             ranks.data(), &handle),
              "make a group");
    }
    ~Group() {
        if (handle != MPI_GROUP_NULL) {
            MPI_Group_free(&handle);
        }
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    MPI_Group handle = MPI_GROUP_NULL;
};

}  // namespace

Teams::Teams(const Comm& parent)
    : parent_(parent.serial() ? Comm() : Comm::duplicate(parent.handle())) {}

Comm Teams::make(const std::vector<int>& ranks) const {
    check_members(ranks, parent_.rank(), parent_.size());
    if (parent_.serial()) {
        return Comm();
    }
    const Group all(parent_.handle());
    const Group team(all, ranks);
    MPI_Comm made = MPI_COMM_NULL;
    check(MPI_Comm_create_group(parent_.handle(), team.handle, 0, &made),
          "make a communicator of some ranks");
    return Comm::adopt(made);
}

}  // namespace fluvial::mpi
