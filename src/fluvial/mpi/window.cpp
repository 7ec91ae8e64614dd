// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/window.hpp"

#include <cstdio>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {

struct Window::State {
    MPI_Win handle = MPI_WIN_NULL;  // null for a single rank, which does without MPI
    bool open = true;
    int rank = 0;
    std::vector<std::span<std::byte>> parts;  // by rank
    std::unique_ptr<std::byte[]> alone;       // of a single rank
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
        const auto length = static_cast<std::size_t>(bytes);
        state.alone.reset(new std::byte[length]);
        state.parts = {{state.alone.get(), length}};
        return window;
    }
    MPI_Win created = MPI_WIN_NULL;
    void* base = nullptr;
    check(MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, host.handle(),
                                  &base, &created),
          "allocate shared memory");
    state.handle = created;
    check(MPI_Win_set_errhandler(created, MPI_ERRORS_RETURN), "set an error handler");
    for (int rank = 0; rank < host.size(); ++rank) {
        MPI_Aint length = 0;
        int unit = 0;
        check(MPI_Win_shared_query(created, rank, &length, &unit, &base), "find shared memory");
        state.parts.emplace_back(static_cast<std::byte*>(base), static_cast<std::size_t>(length));
    }
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
    if (rank < 0 || rank >= ranks) {
        throw InvalidArgument(
            Problem{"no rank of the window", text("rank ", rank), text("0 to ", ranks - 1), ""});
    }
    return state.parts[static_cast<std::size_t>(rank)];
}

void Window::close() {
    if (!state_ || !state_->open) {
        return;
    }
    state_->open = false;
    if (state_->handle != MPI_WIN_NULL && !finalized()) {
        check(MPI_Win_free(&state_->handle), "free a window");
    }
    state_->alone.reset();
}

void Window::abandon() noexcept {
    if (!state_) {
        return;
    }
    state_->open = false;
    static_cast<void>(state_.release());  // others may still read and write there
}

}  // namespace fluvial::mpi
