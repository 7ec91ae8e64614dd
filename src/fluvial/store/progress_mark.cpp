// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/progress_mark.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"

namespace fluvial::store {
namespace {

constexpr std::size_t digits = 20;  // of each of the two counts at the front
constexpr double rest_max_s = 1;

std::string path_of_mark(const std::string& name) {
    return name.substr(0, name.find_last_not_of('/') + 1) + ".writing";
}

/// A lock of one byte: the first is the writer's, the second is a follower's that asks for a rest.
struct flock lock_of(off_t byte, short kind = F_WRLCK) {
    struct flock lock = {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

/// A count in text, or none.
std::optional<std::uint64_t> count_in(std::string_view text) {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::optional(count) : std::nullopt;
}

/// What a mark says, of a writer that still has it.
Progress read_mark(int file) {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), 0);
    const std::string_view all(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    Progress found;
    found.writer = Progress::Writer::Writes;
    const std::string_view counts = all.substr(0, all.find('\n'));
    if (counts.size() < all.size()) {
        found.said = all.substr(counts.size() + 1);
        found.said.resize(std::min(found.said.find('\n'), found.said.size()));
    }
    const std::size_t space = std::min(counts.find(' '), counts.size());
    const auto changes = count_in(counts.substr(0, space));
    const auto finished = count_in(counts.substr(std::min(space + 1, counts.size())));
    if (changes && finished) {  // else it is just being made
        found.changes = *changes;
        found.finished = *finished;
    }
    return found;
}

/// As much as fits: a mark that cannot be written is not worth an error.
void overwrite(int file, const std::string& text) {
    static_cast<void>(::pwrite(file, text.data(), text.size(), 0) < 0);
}

}  // namespace

ProgressMark::ProgressMark(const std::string& name)
    : path_(path_of_mark(name)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0) {
        return;
    }
    struct flock lock = lock_of(0);
    // Other errors: there are no locks on this file system, and two writers are not noticed.
    if (::fcntl(file_, F_OFD_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES)) {
        const std::string writer = read_mark(file_).said;
        let_go();
        throw InvalidArgument(Problem{"another writer has these files",
                                      "'" + name + "' (" + writer + ")", "one at a time",
                                      "Write elsewhere, or end that one"});
    }
    struct utsname host = {};
    ::uname(&host);
    say(text("process ", ::getpid(), " on ", host.nodename));
}

ProgressMark::~ProgressMark() {
    if (file_ >= 0) {
        let_go();
    }
}

ProgressMark::Changing::Changing(ProgressMark& mark) : mark_(mark) {
    mark_.rest();
    ++mark_.changes_;
    mark_.count();
}

ProgressMark::Changing::~Changing() {
    ++mark_.changes_;
    mark_.count();
}

void ProgressMark::finish(std::uint64_t number) {
    finished_ = number + 1;
    count();
}

void ProgressMark::fail(const std::string& why) {
    if (file_ >= 0) {
        say(why);
        let_go();
    }
}

void ProgressMark::close() {
    if (file_ >= 0) {
        ::unlink(path_.c_str());
        let_go();
    }
}

std::string ProgressMark::counts() const {
    std::array<char, 2 * digits + 2> out{};
    std::snprintf(out.data(), out.size(), "%020llu %020llu",
                  static_cast<unsigned long long>(changes_),
                  static_cast<unsigned long long>(finished_));
    return out.data();
}

void ProgressMark::count() const {
    if (file_ >= 0) {
        overwrite(file_, counts());
    }
}

void ProgressMark::say(const std::string& what) const {
    const std::string all = counts() + "\n" + what + "\n";
    overwrite(file_, all);
    static_cast<void>(::ftruncate(file_, static_cast<off_t>(all.size())) < 0);
}

/// Waits for followers that are reading what says what is in the files.
void ProgressMark::rest() {
    const auto may_go_on = [this] {
        struct flock lock = lock_of(1);
        return file_ < 0 || ::fcntl(file_, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK;
    };
    rested_in_vain_ = !came_in_time(may_go_on, Deadline(rested_in_vain_ ? 0 : rest_max_s));
}

void ProgressMark::let_go() {
    ::close(file_);
    file_ = -1;
}

Progress progress_of(const std::string& name) {
    const std::string path = path_of_mark(name);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) {
        Progress found;
        if (errno == EACCES) {
            found.writer = Progress::Writer::Writes;
            found.said = "another user's process";
        }
        return found;
    }
    Progress found = read_mark(file);
    struct flock lock = lock_of(0);
    // No locks on this file system: the time limit remains. Without a word of its writer the mark
    // is just being made, and not locked yet.
    const bool locked =
        ::fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK || found.said.empty();
    ::close(file);
    if (!locked) {  // it may have closed the files since
        std::error_code error;
        found.writer =
            std::filesystem::exists(path, error) ? Progress::Writer::Gone : Progress::Writer::None;
    }
    return found;
}

WriterRests::WriterRests(const std::string& name)
    : file_(::open(path_of_mark(name).c_str(), O_RDWR | O_CLOEXEC)) {
    struct flock lock = lock_of(1, F_RDLCK);
    if (file_ < 0 || ::fcntl(file_, F_OFD_SETLK, &lock) != 0) {
        return;
    }
    try {
        // What would be served may take longer than the writer rests.
        came_in_time([this] { return read_mark(file_).whole(); }, Deadline(rest_max_s / 2),
                     Meanwhile::Nothing);
    } catch (...) {
        ::close(file_);
        throw;
    }
}

WriterRests::~WriterRests() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

}  // namespace fluvial::store
