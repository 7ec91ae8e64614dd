// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/write_rounds.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::move {
namespace {

/// One window of each writer.
class Round {
  public:
    Round(const mpi::Comm& comm, const RankParts& parts) : comm_(comm), parts_(parts) {}

    void add(int writer, const WriteWindow& window) {
        std::vector<std::size_t> bytes(static_cast<std::size_t>(comm_.size()), 0);
        parts_.add_bytes(window, bytes);
        for (int rank = 0; rank < comm_.size(); ++rank) {
            const std::size_t size = bytes[static_cast<std::size_t>(rank)];
            if (size == 0) {
                continue;
            }
            Outgoing bytes = rank == comm_.rank() ? parts_.outgoing(window, size) : Outgoing{};
            if (rank != writer) {
                data_.push_back({rank, writer, size});
                outgoing_.push_back(std::move(bytes));
            } else if (rank == comm_.rank()) {  // what a writer has itself is not moved
                own_ = std::move(bytes);
            }
        }
        if (writer == comm_.rank()) {
            window_ = window;
        }
    }

    std::uint64_t move_and_write(const SharedFile& file, PlannedRounds& rounds) const {
        std::vector<Arrived> arrived;
        if (!data_.empty()) {
            try {
                arrived = rounds.move(data_, outgoing_);
            } catch (const InvalidArgument&) {
                throw;  // on all ranks
            } catch (...) {
                comm_.break_off();  // others may still be in it
                throw;
            }
        }
        std::vector<const std::byte*> come(static_cast<std::size_t>(comm_.size()), nullptr);
        come[static_cast<std::size_t>(comm_.rank())] = own_.bytes.data();
        for (std::size_t i = 0; i < data_.size(); ++i) {
            if (data_[i].to == comm_.rank()) {
                come[static_cast<std::size_t>(data_[i].from)] = arrived[i].bytes.get();
            }
        }
        std::uint64_t written = 0;
        mpi::agree(comm_, [&] {
            if (window_) {
                written = parts_.write(file, *window_, come);
            }
        });
        return written;
    }

  private:
    const mpi::Comm& comm_;
    const RankParts& parts_;
    std::optional<WriteWindow> window_;  ///< of this rank, if it writes
    Outgoing own_;                       ///< of that window
    std::vector<route::RankBytes> data_;
    std::vector<Outgoing> outgoing_;
};

}  // namespace

std::uint64_t write_in_rounds(const mpi::Comm& comm, const std::string& path,
                              SharedFile::Missing missing, std::span<const int> writers,
                              const std::vector<std::vector<WriteWindow>>& windows,
                              const RankParts& parts, PlannedRounds& rounds) {
    const bool writes = std::ranges::find(writers, comm.rank()) != writers.end();
    SharedFile file;
    mpi::agree(comm, [&] {
        if (writes) {
            file.open(path, missing);
        }
    });
    std::size_t count = 0;
    for (const auto& of_writer : windows) {
        count = std::max(count, of_writer.size());
    }
    std::uint64_t written = 0;
    for (std::size_t k = 0; k < count; ++k) {
        Round round(comm, parts);
        for (std::size_t writer = 0; writer < windows.size(); ++writer) {
            if (k < windows[writer].size()) {
                round.add(writers[writer], windows[writer][k]);
            }
        }
        written += round.move_and_write(file, rounds);
    }
    mpi::agree(comm, [&] { file.close(); });
    return written;
}

}  // namespace fluvial::move
