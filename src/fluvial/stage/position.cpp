// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/position.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/checksum.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

constexpr std::uint64_t position_version = 2;
constexpr ssize_t bytes_of_version_1 = 24;  // next, size, checksum

struct Stored {
    std::uint64_t version;
    std::uint64_t run;  ///< LogHead::run
    std::uint64_t next;
    std::uint64_t size;  ///< ranks of the job
    std::uint64_t checksum;
};

std::uint64_t checksum_of_stored(const Stored& stored) {
    return checksum_of(std::as_bytes(std::span(&stored, 1)).first(offsetof(Stored, checksum)));
}

std::string path_of(const PositionOf& position, int rank) {
    return text(position.folder, "/positions/", position.name, '.', rank);
}

host::Descriptor open_file(const std::string& path) {
    host::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.valid()) {
        throw_errno(text("cannot open ", path), errno,
                    "A job that resumes writes beside the steps how far it has come");
    }
    return file;
}

void store(const host::Descriptor& file, std::uint64_t run, std::uint64_t next, int size) {
    Stored stored{position_version, run, next, static_cast<std::uint64_t>(size), 0};
    stored.checksum = checksum_of_stored(stored);
    if (::pwrite(file.get(), &stored, sizeof stored, 0) != sizeof stored) {
        throw_errno("cannot write down how far this reader has come", errno);
    }
}

/// None where there is no file, an empty one, or that of another run. Throws DamagedFile.
std::optional<Stored> load(const PositionOf& position, int rank) {
    const std::string path = path_of(position, rank);
    const host::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    Stored stored{};
    const ssize_t got = file.valid() ? ::pread(file.get(), &stored, sizeof stored, 0) : 0;
    if (got == 0) {
        return std::nullopt;
    }
    if (got == bytes_of_version_1) {
        throw DamagedFile(
            Problem{"a reader's position is of an earlier version, which does not "
                    "say of which run it is",
                    path, text("version ", position_version),
                    "Remove it to begin with the first step again"});
    }
    if (got != sizeof stored || stored.version != position_version ||
        stored.checksum != checksum_of_stored(stored)) {
        throw DamagedFile(Problem{"a reader's position is damaged", path,
                                  "the file as it was written",
                                  "Remove it to begin with the first step again"});
    }
    if (stored.run != position.run) {
        return std::nullopt;
    }
    return stored;
}

}  // namespace

PositionClaim::PositionClaim(const PositionOf& position, int size) {
    const auto& [folder, name, run] = position;
    if (::mkdir(text(folder, "/positions").c_str(), 0700) != 0 && errno != EEXIST) {
        throw_errno(text("cannot make the folder ", folder, "/positions"), errno,
                    "A job that resumes writes beside the steps how far it has come");
    }
    {
        const ForkPause pause;
        lock_ = open_file(text(folder, "/positions/", name, ".lock"));
        if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
            throw InvalidArgument(Problem{
                text("the position '", name, "' is in use"), "another reading job has it",
                "one job at a time", "Wait until that has ended, or resume under another name"});
        }
        lock_.close_in_children(pause);
    }
    if (const auto first = load(position, 0)) {
        step_ = first->next;
        for (int rank = 1; rank < static_cast<int>(first->size); ++rank) {
            const auto other = load(position, rank);
            step_ = std::min(step_, other ? other->next : 0);
        }
    }
    // From here on the positions are those of this job, also where it has another size. Higher
    // ranks store theirs first: a job that is killed in between leaves none that is too far.
    for (int rank = size - 1; rank >= 0; --rank) {
        store(open_file(path_of(position, rank)), run, step_, size);
    }
}

Position::Position(const PositionOf& position, int rank, int size, PositionClaim claim)
    : file_(open_file(path_of(position, rank))),
      run_(position.run),
      size_(size),
      claim_(std::move(claim)) {}

void Position::advance(std::uint64_t next) {
    store(file_, run_, next, size_);
}

}  // namespace fluvial::stage
