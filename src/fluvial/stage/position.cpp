// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/position.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/checksum.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

struct Stored {
    std::uint64_t next;
    std::uint64_t size;  ///< ranks of the job
    std::uint64_t checksum;
};

std::uint64_t checksum_of_stored(const Stored& stored) {
    return checksum_of(std::as_bytes(std::span(&stored.next, 2)));
}

std::string path_of(const std::string& folder, const std::string& name, int rank) {
    return text(folder, "/positions/", name, '.', rank);
}

host::Descriptor open_file(const std::string& path) {
    host::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.valid()) {
        throw_errno(text("cannot open ", path), errno,
                    "A job that resumes writes beside the steps how far it has come");
    }
    return file;
}

void store(const host::Descriptor& file, std::uint64_t next, int size) {
    Stored stored{next, static_cast<std::uint64_t>(size), 0};
    stored.checksum = checksum_of_stored(stored);
    if (::pwrite(file.get(), &stored, sizeof stored, 0) != sizeof stored) {
        throw_errno("cannot write down how far this reader has come", errno);
    }
}

/// None where there is no file, or an empty one. Throws DamagedFile.
std::optional<Stored> load(const std::string& path) {
    const host::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    Stored stored{};
    const ssize_t got = file.valid() ? ::pread(file.get(), &stored, sizeof stored, 0) : 0;
    if (got == 0) {
        return std::nullopt;
    }
    if (got != sizeof stored || stored.checksum != checksum_of_stored(stored)) {
        throw DamagedFile(Problem{"a reader's position is damaged", path,
                                  "the file as it was written",
                                  "Remove it to begin with the first step again"});
    }
    return stored;
}

}  // namespace

PositionClaim::PositionClaim(const std::string& folder, const std::string& name, int size) {
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
    if (const auto first = load(path_of(folder, name, 0))) {
        step_ = first->next;
        for (int rank = 1; rank < static_cast<int>(first->size); ++rank) {
            const auto other = load(path_of(folder, name, rank));
            step_ = std::min(step_, other ? other->next : 0);
        }
    }
    // From here on the positions are those of this job, also where it has another size. Higher
    // ranks store theirs first: a job that is killed in between leaves none that is too far.
    for (int rank = size - 1; rank >= 0; --rank) {
        store(open_file(path_of(folder, name, rank)), step_, size);
    }
}

Position::Position(const std::string& folder, const std::string& name, int rank, int size,
                   PositionClaim claim)
    : file_(open_file(path_of(folder, name, rank))), size_(size), claim_(std::move(claim)) {}

void Position::advance(std::uint64_t next) {
    store(file_, next, size_);
}

}  // namespace fluvial::stage
