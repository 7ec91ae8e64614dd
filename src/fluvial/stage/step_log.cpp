// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/checksum.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/log_files.hpp"

namespace fluvial::stage {
namespace {

constexpr std::uint64_t end_mark = ~std::uint64_t{0};
/// Is still in a core's cache when it is looked at for the second time.
constexpr std::size_t cached_bytes = std::size_t{256} << 10;
/// The same of what is written, which file systems keep in pages as large as a call allows.
constexpr std::size_t written_bytes = std::size_t{1} << 20;

struct StoredEntry {
    LogEntry entry;
    std::uint64_t checksum;
};

std::uint64_t checksum_of_entry(const LogEntry& entry) {
    return checksum_of(std::as_bytes(std::span(&entry, 1)));
}

/// False: the bytes are not there, or differ from what was written.
bool read_checked(int fd, const BytesOfFile& block, std::span<std::byte> to) {
    Checksum sum;
    for (std::uint64_t at = 0; at < to.size(); at += cached_bytes) {
        const auto piece = to.subspan(at, std::min<std::size_t>(cached_bytes, to.size() - at));
        if (read_all(fd, block.offset + at, piece) != piece.size()) {
            return false;
        }
        sum.add(piece);
    }
    return sum.value() == block.checksum;
}

/// False, with errno: there is a file of the name `to`, or it cannot be given. Where the file
/// system cannot tell, the lock of lock_retained() keeps other writers away.
bool take_name(const std::string& from, const std::string& to) {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ||
           ((errno == EINVAL || errno == ENOSYS) && ::rename(from.c_str(), to.c_str()) == 0);
}

std::optional<StoredEntry> stored_entry(int fd, std::uint64_t place) {
    StoredEntry stored{};
    const auto to = std::as_writable_bytes(std::span(&stored, 1));
    if (read_all(fd, place, to) != to.size()) {
        return std::nullopt;
    }
    return stored;
}

struct flock first_byte(short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_len = 1;
    return lock;
}

}  // namespace

StepLog::StepLog(host::Descriptor entries, host::Descriptor data, LogHead head)
    : entries_(std::move(entries)), data_(std::move(data)), head_(std::move(head)) {}

void StepLog::write_head() const {
    if (!write_all(entries_.get(), 0, encode_head(head_))) {
        throw SystemError(Problem{"no step can be kept on the disk", "it is full",
                                  "room for the steps",
                                  "Give another folder by the options spill or retain"});
    }
}

StepLog StepLog::unnamed(const std::string& folder, const LogHead& head) {
    StepLog log(open_without_name(folder), open_without_name(folder), head);
    log.write_head();
    return log;
}

StepLog StepLog::create(const std::string& path, const LogHead& head) {
    const std::string steps = path + "/steps";
    const std::string draft = path + "/steps.new";
    if (struct stat status{}; ::stat(steps.c_str(), &status) == 0) {
        throw InvalidArgument(
            Problem{text("the steps of '", head.name, "' cannot be retained"),
                    text("steps of an earlier run are in ", path), "a folder without steps",
                    "Read or remove them first, or give another folder by the option retain"});
    }
    constexpr int fresh = O_RDWR | O_CREAT | O_TRUNC;
    // The entries get their name last, and with their head: without them no process takes the
    // folder for a log.
    host::Descriptor data = open_in(path, "data", fresh);
    StepLog log(open_in(path, "steps.new", fresh), std::move(data), head);
    try {
        log.write_head();
        if (!take_name(draft, steps)) {
            throw_errno("cannot make the file " + steps, errno,
                        "Remove it if it is of an earlier run, or give another folder by the "
                        "option retain");
        }
    } catch (...) {
        ::unlink(draft.c_str());
        throw;
    }
    log.path_ = path;
    return log;
}

std::optional<StepLog> StepLog::open(const std::string& path) {
    check_folder(path);
    host::Descriptor entries = open_in(path, "steps", O_RDONLY);
    if (!entries.valid()) {
        return std::nullopt;
    }
    host::Descriptor data = open_in(path, "data", O_RDONLY);
    if (!data.valid()) {
        if (struct stat status{}; ::fstat(entries.get(), &status) == 0 && status.st_nlink == 0) {
            return std::nullopt;  // a writer that found no readers has just removed both
        }
        throw DamagedFile(Problem{"the retained steps are not complete", text("no ", path, "/data"),
                                  "the files steps and data", "Restore the file"});
    }
    StepLog log = adopt(std::move(entries), std::move(data));
    log.path_ = path;
    return log;
}

StepLog StepLog::adopt(host::Descriptor entries, host::Descriptor data) {
    Bytes bytes(head_bytes_min);
    bytes.resize(read_all(entries.get(), 0, bytes));
    struct stat status{};
    const std::uint64_t wanted = head_bytes_of(bytes);
    if (::fstat(entries.get(), &status) == 0 &&
        wanted <= static_cast<std::uint64_t>(status.st_size)) {
        bytes.resize(wanted);
        bytes.resize(read_all(entries.get(), 0, bytes));
    }
    LogHead head = decode_head(bytes);
    return {std::move(entries), std::move(data), std::move(head)};
}

std::uint64_t StepLog::place_of(std::uint64_t number) const {
    return head_bytes(head_.ranks.size()) + number * sizeof(StoredEntry);
}

bool StepLog::lies_in(const std::string& path) const {
    struct stat mine{};
    struct stat there{};
    return ::fstat(entries_.get(), &mine) == 0 &&
           ::stat(text(path, "/steps").c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

void StepLog::remove() const noexcept {
    if (!path_.empty()) {
        ::unlink((path_ + "/steps").c_str());
        ::unlink((path_ + "/data").c_str());
    }
}

bool StepLog::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
    return write_all(data_.get(), offset, bytes);
}

std::optional<BytesOfFile> StepLog::write_block(std::uint64_t offset,
                                                std::span<const std::byte> bytes) const {
    Checksum sum;
    for (std::uint64_t at = 0; at < bytes.size(); at += written_bytes) {
        const auto piece =
            bytes.subspan(at, std::min<std::size_t>(written_bytes, bytes.size() - at));
        sum.add(piece);
        if (!write_all(data_.get(), offset + at, piece)) {
            return std::nullopt;
        }
    }
    return BytesOfFile{offset, bytes.size(), sum.value()};
}

bool StepLog::take_room(std::uint64_t entries) const {
    constexpr std::uint64_t at_a_time = 64;
    if (entries <= room_) {
        return true;
    }
    const std::uint64_t wanted = (entries + at_a_time - 1) / at_a_time * at_a_time;
    if (::fallocate(entries_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(place_of(wanted))) !=
            0 &&
        is_full(errno)) {
        return false;
    }
    room_ = wanted;
    return true;
}

bool StepLog::write_entry(std::uint64_t number, const LogEntry& entry) const {
    const StoredEntry stored{entry, checksum_of_entry(entry)};
    return write_all(entries_.get(), place_of(number), std::as_bytes(std::span(&stored, 1)));
}

bool StepLog::write_end(std::uint64_t number, std::uint64_t steps) const {
    LogEntry end;
    end.step = end_mark;
    end.begin = steps;
    return write_entry(number, end);
}

void StepLog::release(std::uint64_t begin, std::uint64_t end) const {
    if (begin < end) {
        ::fallocate(data_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    }
}

LogEntry StepLog::entry(std::uint64_t number) const {
    const auto stored = stored_entry(entries_.get(), place_of(number));
    if (!stored || stored->checksum != checksum_of_entry(stored->entry)) {
        throw DamagedFile(Problem{text("entry ", number, " of the steps on the disk is damaged"),
                                  stored ? "another checksum" : "the file ends before it",
                                  "the entry as it was written",
                                  text("Look after the disk", path_.empty() ? "" : " of ", path_)});
    }
    return stored->entry;
}

StepLog::Extent StepLog::extent() const {
    struct stat status{};
    if (::fstat(entries_.get(), &status) != 0) {
        throw_errno("cannot inspect the steps on the disk", errno);
    }
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    const std::uint64_t head = place_of(0);
    const std::uint64_t count = bytes < head ? 0 : (bytes - head) / sizeof(StoredEntry);
    // A damaged entry is an error for readers that come to it, not for readers that want other
    // entries.
    const auto last = count > 0 ? stored_entry(entries_.get(), place_of(count - 1)) : std::nullopt;
    const bool ended =
        last && last->entry.step == end_mark && last->checksum == checksum_of_entry(last->entry);
    return {ended ? count - 1 : count, ended, ended ? last->entry.begin : 0};
}

std::uint64_t StepLog::find(std::uint64_t step, std::uint64_t entries) const {
    std::uint64_t first = 0;
    std::uint64_t last = entries;
    while (first < last) {
        const std::uint64_t middle = first + (last - first) / 2;
        (entry(middle).step < step) ? void(first = middle + 1) : void(last = middle);
    }
    return first;
}

std::shared_ptr<const std::byte> StepLog::read(const BytesOfFile& block,
                                               const std::string& what) const {
    struct stat status{};
    if (::fstat(data_.get(), &status) != 0) {
        throw_errno("cannot inspect the steps on the disk", errno);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const bool inside = block.offset <= size && block.bytes <= size - block.offset;
    std::shared_ptr<std::byte> memory;
    if (inside) {
        memory = buffers_->take(block.bytes);
    }
    if (!inside || !read_checked(data_.get(), block, {memory.get(), block.bytes})) {
        throw DamagedFile(
            Problem{text(what, " is damaged on the disk"),
                    inside ? text("another checksum of ", block.bytes, " bytes at ", block.offset)
                           : text(block.bytes, " bytes at ", block.offset, " of ", size),
                    "the bytes as they were written",
                    text("Look after the disk", path_.empty() ? "" : " of ", path_)});
    }
    return memory;
}

std::vector<BytesOfFile> StepLog::records(const LogEntry& entry) const {
    const auto bytes = read(entry.ranks, text("the list of records of step ", entry.step));
    std::vector<BytesOfFile> blocks(head_.ranks.size());
    if (entry.ranks.bytes != blocks.size() * sizeof(BytesOfFile)) {
        throw DamagedFile(Problem{text("the list of records of step ", entry.step, " is damaged"),
                                  text(entry.ranks.bytes, " bytes"),
                                  text(blocks.size() * sizeof(BytesOfFile), " bytes"), ""});
    }
    std::memcpy(blocks.data(), bytes.get(), entry.ranks.bytes);
    return blocks;
}

// The lock is one of the open file description, as flock() has one, which a reader can ask for
// without taking it: so readers that look neither keep a writer out nor disturb each other.
host::Descriptor lock_retained(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        throw_errno(text("cannot make the folder ", path, " of the steps to retain"), errno,
                    "Give a folder that exists, and that you may write to, by the option retain");
    }
    check_folder(path);
    const ForkPause pause;
    host::Descriptor lock = open_in(path, "writer", O_RDWR | O_CREAT);
    struct flock alone = first_byte(F_WRLCK);
    if (::fcntl(lock.get(), F_OFD_SETLK, &alone) != 0) {
        if (errno != EAGAIN && errno != EACCES) {
            throw_errno(text("cannot lock ", path, "/writer"), errno,
                        "Give a folder on another file system by the option retain");
        }
        throw InvalidArgument(Problem{"steps are being retained there already", path,
                                      "one writer at a time",
                                      "Give another folder by the option retain"});
    }
    struct flock with_other_ranks = first_byte(F_RDLCK);
    ::fcntl(lock.get(), F_OFD_SETLK, &with_other_ranks);
    lock.close_in_children(pause);
    return lock;
}

host::Descriptor share_retained(const std::string& path) {
    const ForkPause pause;
    host::Descriptor lock = open_in(path, "writer", O_RDWR);
    struct flock with_other_ranks = first_byte(F_RDLCK);
    if (!lock.valid() || ::fcntl(lock.get(), F_OFD_SETLK, &with_other_ranks) != 0) {
        throw_errno(text("cannot say that steps are retained in ", path), errno);
    }
    lock.close_in_children(pause);
    return lock;
}

bool is_being_retained(const std::string& path) {
    const host::Descriptor lock = open_in(path, "writer", O_RDONLY);
    struct flock alone = first_byte(F_WRLCK);
    return lock.valid() && ::fcntl(lock.get(), F_OFD_GETLK, &alone) == 0 && alone.l_type != F_UNLCK;
}

}  // namespace fluvial::stage
