// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/control_block.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>

#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

constexpr char control_magic[8] = {'F', 'L', 'U', 'S', 'T', 'A', 'G', 'E'};
constexpr std::uint32_t control_version = 9;

std::size_t whole_cache_lines(std::size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/// Room for steps that are no longer queued but still viewed, beside the queue itself.
int slots_for(std::int64_t queue_steps) {
    return static_cast<int>(std::min<std::int64_t>(slots_max, 2 * queue_steps + 30));
}

}  // namespace

ControlBlock::Layout ControlBlock::layout_of(int writer_ranks, int slots) {
    Layout layout{};
    layout.writers = whole_cache_lines(sizeof(ControlHeader));
    layout.readers = layout.writers +
                     whole_cache_lines(sizeof(WriterCell) * static_cast<std::size_t>(writer_ranks));
    layout.groups = layout.readers + sizeof(ReaderCell) * readers_max;
    layout.slots = layout.groups + sizeof(GroupCell) * groups_max;
    layout.signatures = layout.slots + sizeof(Slot) * static_cast<std::size_t>(slots);
    layout.records =
        layout.signatures + sizeof(Signature) * signatures_max * static_cast<std::size_t>(slots);
    layout.bytes = layout.records + sizeof(RecordPlace) * static_cast<std::size_t>(slots) *
                                        static_cast<std::size_t>(writer_ranks);
    return layout;
}

ControlBlock::ControlBlock(host::MemoryFile file, const Layout& layout)
    : file_(std::move(file)), mapping_(file_.map(host::Access::ReadWrite)), layout_(layout) {}

ControlBlock ControlBlock::create(const std::string& name, const std::string& host,
                                  int writer_ranks, const WriterOptions& options) {
    const int slots = slots_for(options.queue_steps);
    const Layout layout = layout_of(writer_ranks, slots);
    ControlBlock control(host::MemoryFile::create("control-" + name, layout.bytes), layout);
    // The memory is zero: every state enumeration has its empty value at 0.
    ControlHeader& header = *new (control.mapping_.data()) ControlHeader{};
    header.version = control_version;
    header.writer_ranks = static_cast<std::uint32_t>(writer_ranks);
    header.slots = static_cast<std::uint32_t>(slots);
    header.queue_steps = static_cast<std::uint32_t>(options.queue_steps);
    header.reserve = static_cast<std::uint32_t>(options.reserve);
    header.queue_bytes = static_cast<std::uint64_t>(effective_queue_bytes(options));
    header.full = options.full;
    header.on_full_disk = options.on_full_disk;
    header.retains = options.retain.empty() ? 0 : 1;
    header.spill_bytes = static_cast<std::uint64_t>(options.spill_bytes);
    header.steps_to = options.steps_to;
    header.on_stalled_reader = options.on_stalled_reader;
    header.stall_timeout_s = options.stall_timeout_s;
    header.mutex.initialise();
    store_text(header.name, name);
    store_text(header.host, host);
    std::vector<int> ranks(static_cast<std::size_t>(writer_ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    control.set_job_ranks(ranks, writer_ranks);
    header.closed_elsewhere = std::numeric_limits<std::uint64_t>::max();
    std::memcpy(header.magic, control_magic, sizeof control_magic);
    return control;
}

void ControlBlock::set_job_ranks(const std::vector<int>& ranks, int job_size) const {
    header().job_ranks = static_cast<std::uint32_t>(job_size);
    for (int rank = 0; rank < writer_ranks(); ++rank) {
        writer(rank).job_rank =
            static_cast<std::uint32_t>(ranks.at(static_cast<std::size_t>(rank)));
    }
}

ControlBlock ControlBlock::adopt(host::MemoryFile file) {
    if (file.size() < sizeof(ControlHeader)) {
        throw Error("what the writer sent is not the control block of a stream");
    }
    const host::Mapping probe = file.map(host::Access::ReadOnly);
    const auto& header = *reinterpret_cast<const ControlHeader*>(probe.data());
    if (std::memcmp(header.magic, control_magic, sizeof control_magic) != 0 ||
        header.version != control_version) {
        throw Error(Problem{"the two jobs use different versions of Fluvial",
                            text("staging format ", header.version),
                            text("staging format ", control_version),
                            "Install the same version for both"});
    }
    const Layout layout =
        layout_of(static_cast<int>(header.writer_ranks), static_cast<int>(header.slots));
    if (file.size() < layout.bytes) {
        throw Error("the control block of the stream is shorter than its header says");
    }
    return ControlBlock(std::move(file), layout);
}

std::int64_t ControlBlock::spin_ns() const {
    static const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
    constexpr std::int64_t long_ns = 50'000, short_ns = 2'000;
    // What a reader elsewhere is waited for takes longer than to be woken, and a thread that serves
    // it needs a core.
    const bool alone = header().writer_ranks + header().readers_high <= cores;
    return alone && header().remote_readers == 0 ? long_ns : short_ns;
}

}  // namespace fluvial::stage
