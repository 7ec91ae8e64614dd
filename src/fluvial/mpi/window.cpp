// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/window.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/datatype.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

namespace {

constexpr int all_ranks = -1;

}  // namespace

struct Window::State {
    struct Part {
        std::byte* base;  ///< null where not addressable from here
        Index bytes;
    };

    MPI_Win handle = MPI_WIN_NULL;  // null for a single rank, which does without MPI
    bool open = true;
    bool shared = false;
    int rank = 0;
    std::vector<Part> parts;  // by rank
    std::shared_ptr<const void> owner;

    void adopt(MPI_Win created) {
        handle = created;
        check(MPI_Win_set_errhandler(handle, MPI_ERRORS_RETURN), "set an error handler");
    }
};

void Window::Forget::operator()(State* state) const {
    if (state->open && state->handle != MPI_WIN_NULL && running()) {
        std::fprintf(stderr,
                     "fluvial: a Window (rank %d of %zu) was destroyed without close(); its memory "
                     "is kept until "
                     "MPI_Finalize.\n",
                     state->rank, state->parts.size());
        return;  // other ranks may still read and write there
    }
    delete state;
}

Window Window::allocate_shared(const Comm& host, Index bytes) {
    Window window;
    window.state_.reset(new State);
    State& state = *window.state_;
    state.rank = host.rank();
    state.shared = true;
    const int neighbours = host.ranks_on_this_host();
    agree(host, [&] {
        if (bytes < 0) {
            throw InvalidArgument(
                Problem{"a shared window of negative length", text(bytes), "0 or more", ""});
        }
        if (neighbours != host.size()) {
            throw InvalidArgument(
                Problem{"a shared window across hosts",
                        text(neighbours, " of ", host.size(), " ranks on this host"),
                        "ranks of one host", "Pass comm.split_by_host()"});
        }
    });
    if (host.size() == 1) {
        const std::shared_ptr<std::byte[]> own(new std::byte[static_cast<std::size_t>(bytes)]);
        state.parts = {{own.get(), bytes}};
        state.owner = own;
        return window;
    }
    MPI_Win created = MPI_WIN_NULL;
    void* base = nullptr;
    check(MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, host.handle(),
                                  &base, &created),
          "allocate shared memory");
    state.adopt(created);
    for (int rank = 0; rank < host.size(); ++rank) {
        MPI_Aint length = 0;
        int unit = 0;
        check(MPI_Win_shared_query(created, rank, &length, &unit, &base), "find shared memory");
        state.parts.push_back({static_cast<std::byte*>(base), static_cast<Index>(length)});
    }
    return window;
}

Window Window::create(const Comm& comm, std::span<std::byte> memory,
                      std::shared_ptr<const void> owner) {
    Window window;
    window.state_.reset(new State);
    State& state = *window.state_;
    state.rank = comm.rank();
    state.owner = std::move(owner);
    const Index own = static_cast<Index>(memory.size());
    // Open MPI 4.1 has no one-sided component for a single rank under MPI_THREAD_MULTIPLE.
    if (comm.size() == 1) {
        state.parts = {{memory.data(), own}};
        return window;
    }
    for (const auto& message : comm.allgather(std::as_bytes(std::span(&own, 1)))) {
        Index length = 0;
        std::memcpy(&length, message.data(), sizeof length);
        state.parts.push_back({nullptr, length});
    }
    MPI_Win created = MPI_WIN_NULL;
    check(MPI_Win_create(memory.data(), static_cast<MPI_Aint>(own), 1, MPI_INFO_NULL, comm.handle(),
                         &created),
          "create a window");
    state.parts[static_cast<std::size_t>(state.rank)].base = memory.data();
    state.adopt(created);
    return window;
}

Window::State& Window::use() const {
    if (!state_ || !state_->open) {
        throw InvalidArgument(
            Problem{"the window is not open", "", "", "Use it between its creation and close()"});
    }
    return *state_;
}

std::span<std::byte> Window::memory(int rank) const {
    const State& state = use();
    const int ranks = static_cast<int>(state.parts.size());
    if (rank < 0 || rank >= ranks || (!state.shared && rank != state.rank)) {
        throw InvalidArgument(
            Problem{"the memory of that rank cannot be addressed from here", text("rank ", rank),
                    state.shared ? text("0 to ", ranks - 1) : text(state.rank, " (this rank)"),
                    "Use lock() and get()"});
    }
    const State::Part& part = state.parts[static_cast<std::size_t>(rank)];
    return {part.base, static_cast<std::size_t>(part.bytes)};
}

void Window::fence() const {
    const State& state = use();
    if (state.handle != MPI_WIN_NULL) {
        check(MPI_Win_fence(0, state.handle), "pass a window fence");
    }
}

Window::Lock Window::lock(int rank, Access access) const {
    State& state = use();
    const int ranks = static_cast<int>(state.parts.size());
    if (rank < 0 || rank >= ranks) {
        throw InvalidArgument(
            Problem{"target is not a rank", text(rank), text("0 to ", ranks - 1), ""});
    }
    if (state.handle != MPI_WIN_NULL) {
        const int kind = access == Access::Shared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        check(MPI_Win_lock(kind, rank, 0, state.handle), "lock a window");
    }
    return Lock(&state, rank);
}

Window::Lock Window::lock_all() const {
    State& state = use();
    if (state.handle != MPI_WIN_NULL) {
        check(MPI_Win_lock_all(0, state.handle), "lock a window on all ranks");
    }
    return Lock(&state, all_ranks);
}

void Window::close() {
    if (!state_ || !state_->open) {
        return;
    }
    state_->open = false;
    if (state_->handle != MPI_WIN_NULL && !finalized()) {
        check(MPI_Win_free(&state_->handle), "free a window");
    }
    state_->owner.reset();
}

void Window::abandon() noexcept {
    if (!state_) {
        return;
    }
    state_->open = false;
    static_cast<void>(state_.release());  // others may still read and write there
}

Window::Lock::~Lock() {
    if (state_ == nullptr || state_->handle == MPI_WIN_NULL || finalized()) {
        return;
    }
    const int error = rank_ == all_ranks ? MPI_Win_unlock_all(state_->handle)
                                         : MPI_Win_unlock(rank_, state_->handle);
    if (error != MPI_SUCCESS) {
        std::fprintf(stderr, "fluvial: MPI could not unlock a window (MPI error %d).\n", error);
    }
}

void Window::Lock::check_range(std::size_t bytes, int rank, Index offset) const {
    if (rank_ == all_ranks ? rank < 0 || rank >= static_cast<int>(state_->parts.size())
                           : rank != rank_) {
        throw InvalidArgument(Problem{
            "the target is not locked", text("rank ", rank),
            rank_ == all_ranks ? text("0 to ", state_->parts.size() - 1) : text("rank ", rank_),
            "Lock that rank, or all"});
    }
    const Index held = state_->parts[static_cast<std::size_t>(rank)].bytes;
    if (offset < 0 || static_cast<Index>(bytes) > held ||
        offset > held - static_cast<Index>(bytes)) {
        throw InvalidArgument(Problem{text("a range leaves the window of rank ", rank),
                                      text(bytes, " bytes from byte ", offset),
                                      text("inside its ", held, " bytes"), ""});
    }
}

void Window::Lock::get(std::span<std::byte> into, int rank, Index offset) const {
    check_range(into.size(), rank, offset);
    if (into.empty()) {
        return;
    }
    if (state_->handle == MPI_WIN_NULL) {
        std::memmove(into.data(), state_->parts[0].base + offset, into.size());
        return;
    }
    const Payload payload(static_cast<Index>(into.size()));
    const MPI_Datatype type = payload.type.handle();
    check(MPI_Get(into.data(), payload.count, type, rank, static_cast<MPI_Aint>(offset),
                  payload.count, type, state_->handle),
          "read from a window");
    check(MPI_Win_flush(rank, state_->handle), "read from a window");
}

void Window::Lock::put(std::span<const std::byte> from, int rank, Index offset) const {
    check_range(from.size(), rank, offset);
    if (from.empty()) {
        return;
    }
    if (state_->handle == MPI_WIN_NULL) {
        std::memmove(state_->parts[0].base + offset, from.data(), from.size());
        return;
    }
    const Payload payload(static_cast<Index>(from.size()));
    const MPI_Datatype type = payload.type.handle();
    check(MPI_Put(from.data(), payload.count, type, rank, static_cast<MPI_Aint>(offset),
                  payload.count, type, state_->handle),
          "write to a window");
    check(MPI_Win_flush(rank, state_->handle), "write to a window");
}

void Window::Lock::sync() const {
    if (state_->handle != MPI_WIN_NULL) {
        check(MPI_Win_sync(state_->handle), "synchronise a window");
    }
}

}  // namespace fluvial::mpi
