// SPDX-License-Identifier: Apache-2.0
/// Steps of a stream on a disk: those that overflow its queue, or all of them.
///
/// A file of data, to which all writer ranks append blocks (chunks, and each rank's record of a
/// step), and a file of entries: a head, then an entry for each complete step, in the order of the
/// steps, and one that says that the stream has ended. An entry is written last, so what a killed
/// process leaves is a log that ends earlier. Every block and entry carries a checksum. Host byte
/// order. Data survives the processes, not the host: nothing is forced to the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/describe/chunk.hpp"
#include "fluvial/host/memory_file.hpp"
#include "fluvial/stage/log_head.hpp"
#include "fluvial/stage/read_buffers.hpp"

namespace fluvial::stage {

struct LogEntry {
    std::uint64_t step = 0;
    std::uint64_t begin = 0;        ///< before it lies nothing of this step or of later ones
    std::int64_t completed_ns = 0;  ///< since 1970
    BytesOfFile ranks;              ///< holds a BytesOfFile for each writer rank: its record
};

class StepLog {
  public:
    /// Files without a name in `folder`, which vanish with the last process that has them open.
    /// Throws SystemError.
    static StepLog unnamed(const std::string& folder, const LogHead& head);
    /// Files "steps" and "data" in the folder `path`, which is made. Throws InvalidArgument when
    /// there are steps in it already, SystemError.
    static StepLog create(const std::string& path, const LogHead& head);
    /// Of a stream that is over, or of which only the log is wanted; none where there is none.
    /// Throws DamagedFile, SystemError.
    static std::optional<StepLog> open(const std::string& path);
    /// What another process of the stream has sent. Throws as open().
    static StepLog adopt(host::Descriptor entries, host::Descriptor data);

    const LogHead& head() const { return head_; }
    int writer_ranks() const { return static_cast<int>(head_.ranks.size()); }
    int entries_descriptor() const { return entries_.get(); }
    int data_descriptor() const { return data_.get(); }
    /// The files of the folder `path` are this log's.
    bool lies_in(const std::string& path) const;

    /// The files of create() go, of a stream that nothing was written to.
    void remove() const noexcept;
    /// Writes at `offset` of the data. False: the disk is full. Throws SystemError.
    bool write(std::uint64_t offset, std::span<const std::byte> bytes) const;
    /// The same, with the checksum of the bytes, which are looked at once. None: the disk is full.
    std::optional<BytesOfFile> write_block(std::uint64_t offset,
                                           std::span<const std::byte> bytes) const;
    /// Takes room for this many entries, where the file system can. False: the disk is full.
    bool take_room(std::uint64_t entries) const;
    /// The entry that has the number `number`, in the same manner.
    bool write_entry(std::uint64_t number, const LogEntry& entry) const;
    /// No entry follows: the stream has ended in order, after `steps` steps of all ranks, with
    /// those that were given up.
    bool write_end(std::uint64_t number, std::uint64_t steps) const;
    /// Gives [begin, end) of the data back to the disk, where the file system can.
    void release(std::uint64_t begin, std::uint64_t end) const;

    /// Throws DamagedFile.
    LogEntry entry(std::uint64_t number) const;
    /// Entries that are complete on the disk, and whether the end follows them.
    struct Extent {
        std::uint64_t entries = 0;
        bool ended = false;
        std::uint64_t steps = 0;  ///< of write_end()
    };
    Extent extent() const;
    /// The number of the first of `entries` entries whose step is `step` or a later one.
    std::uint64_t find(std::uint64_t step, std::uint64_t entries) const;
    /// The bytes of a block; `what` names it in the error. Throws DamagedFile.
    std::shared_ptr<const std::byte> read(const BytesOfFile& block, const std::string& what) const;
    /// By writer rank, where its record of the step lies.
    std::vector<BytesOfFile> records(const LogEntry& entry) const;

  private:
    StepLog(host::Descriptor entries, host::Descriptor data, LogHead head);
    void write_head() const;
    std::uint64_t place_of(std::uint64_t number) const;

    host::Descriptor entries_;
    host::Descriptor data_;
    LogHead head_;
    mutable std::uint64_t room_ = 0;  ///< entries that there is room for
    std::shared_ptr<ReadBuffers> buffers_ = std::make_shared<ReadBuffers>();
    std::string path_;  ///< of the folder, for messages; empty where it is not known
};

/// Makes the folder `path` and says that a writer retains steps in it, for as long as the result
/// of one of its ranks lives. Throws InvalidArgument when another writer does.
host::Descriptor lock_retained(const std::string& path);
/// The same of a further rank on that host. The first one has done it.
host::Descriptor share_retained(const std::string& path);
/// A living writer retains steps in the folder `path`.
bool is_being_retained(const std::string& path);

}  // namespace fluvial::stage
