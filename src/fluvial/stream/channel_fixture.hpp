// SPDX-License-Identifier: Apache-2.0
/// Channels over all ranks of a test.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stream/stream.hpp"

namespace fluvial::stream {

/// The first half of the ranks produces, the rest consumes; a single rank does both.
inline Role halves() {
    if (world_size() == 1) {
        return Role::Both;
    }
    return world_rank() < (world_size() + 1) / 2 ? Role::Producer : Role::Consumer;
}

inline Channel world_channel(Role role, ChannelOptions options = {}) {
    return {mpi::Comm::duplicate(MPI_COMM_WORLD), role, options};
}

inline StreamOptions whole_numbers(std::size_t buffer_bytes = 0) {
    return {.name = "numbers", .element = Element::of(DType::Int64), .buffer_bytes = buffer_bytes};
}

inline void nap(double s) {
    std::this_thread::sleep_for(std::chrono::duration<double>(s));
}

/// Threads of this process with this name.
inline int threads_named(const std::string& wanted) {
    int found = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        found += std::getline(file, name) && name == wanted ? 1 : 0;
    }
    return found;
}

/// The number of threads that send in the background.
inline int flushers() {
    return threads_named("fluvial flusher");
}

/// Lists the ranks whose partials were merged, and ends the list with 255.
class RankList : public Operation {
  public:
    explicit RankList(int rank) : rank_(rank) {}
    void absorb(const Batch&) override {}
    std::vector<std::byte> partial() const override { return {static_cast<std::byte>(rank_)}; }
    std::vector<std::byte> merge(std::vector<std::byte> a,
                                 std::span<const std::byte> b) const override {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }
    std::vector<std::byte> finish(std::vector<std::byte> merged) const override {
        merged.push_back(static_cast<std::byte>(255));
        return merged;
    }

  private:
    int rank_;
};

}  // namespace fluvial::stream
