// SPDX-License-Identifier: Apache-2.0
/// What a writer rank puts on the disk: steps that overflow the queue, and those to retain.
#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/logged_steps.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/waiting.hpp"
#include "fluvial/stage/writer_state.hpp"

namespace fluvial::stage {
namespace {

/// A disk does not ring when it has room again.
constexpr double look_again_s = 0.05;

/// Takes note that the disk is full; once, however often it is tried.
void report_full_disk(const ControlBlock& control) {
    const ControlLock lock(control);
    ++control.header().counters.full_disks;
}

[[noreturn]] void still_full(const Writer::State& w, std::uint64_t bytes) {
    const ControlLock lock(*w.control);
    throw TimedOut(
        Problem{text("the disk of '", w.name,
                     "' stayed full for step_timeout=", w.options.step_timeout_s, " s"),
                text(bytes, " bytes to write; ", describe_holders(*w.control)), "",
                w.options.full == FullPolicy::Spill
                    ? "Make room on it, raise spill_bytes, or choose full='spill,discard-newest'"
                    : "Make room on it, or choose full='block,discard-newest'"});
}

}  // namespace

void Writer::State::free_disk(bool also_unread) {
    FreedBytes freed;
    {
        const ControlLock lock(*control);
        freed = free_logged(*control, *log, also_unread, oldest_logged);
    }
    log->release(freed.begin, freed.end);
}

template <class Write>
std::optional<BytesOfFile> WriteStep::State::append(HandleLock::Call& call, std::uint64_t bytes,
                                                    Write write) {
    Writer::State& w = *writer;
    const ControlBlock& control = *w.control;
    const Deadline deadline(w.options.step_timeout_s);
    std::optional<std::uint64_t> offset;
    std::optional<BytesOfFile> written;
    bool reported = false;
    while (true) {
        if (!offset) {
            const ControlLock lock(control);
            w.check_failure();
            offset = reserve(control, slot, bytes);
        }
        if (offset) {
            call.outside([&] { written = write(*w.log, *offset); });
        }
        if (written) {
            return written;
        }
        if (!std::exchange(reported, true)) {
            report_full_disk(control);
        }
        w.free_disk(true);
        bool dropped = false;
        if (control.header().on_full_disk == FullPolicy::DiscardOldest) {
            const ControlLock lock(control);
            dropped = drop_oldest_logged(control, *w.log);
        }
        if (dropped) {
            w.free_disk(true);
            continue;
        }
        if (control.header().on_full_disk != FullPolicy::Block) {  // none is older, and unread
            const ControlLock lock(control);
            give_up(control, slot);
            accepted = false;
            return std::nullopt;
        }
        const std::int64_t begin_ns = now_ns();
        await(
            control, control.header().space_bell,
            Deadline(std::min(look_again_s, static_cast<double>(deadline.left_ns()) * 1e-9)),
            [&]() -> std::optional<bool> {
                w.check_failure();
                return std::nullopt;
            },
            call);
        w.wait_s += static_cast<double>(now_ns() - begin_ns) * 1e-9;
        if (deadline.passed()) {
            still_full(w, bytes);
        }
    }
}

std::optional<BytesOfFile> WriteStep::State::append(HandleLock::Call& call,
                                                    std::span<const std::byte> bytes) {
    return append(call, bytes.size(), [bytes](const StepLog& log, std::uint64_t offset) {
        return log.write_block(offset, bytes);
    });
}

std::optional<BytesOfFile> WriteStep::State::append(HandleLock::Call& call, const ArrayView& data) {
    const std::size_t bytes = static_cast<std::size_t>(data.size()) * size_of(data.dtype);
    if (data.is_contiguous()) {
        return append(call, std::span(data.data, bytes));
    }
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    const MutableArrayView to{memory.get(), data.dtype, data.extent,
                              contiguous_strides(data.extent, size_of(data.dtype))};
    call.outside([&] { copy(data, to); });
    return append(call, std::span<const std::byte>(memory.get(), bytes));
}

void WriteStep::State::log_rest(HandleLock::Call& call) {
    Writer::State& w = *writer;
    for (const DiskSpan& span : disk_spans) {
        if (w.records->is_logged(span.chunk)) {
            continue;  // by an end() that found the disk full later on
        }
        const auto block = accepted ? append(call, span.bytes) : std::nullopt;
        if (block) {
            w.records->set_logged(span.chunk, *block);
        }
    }
    const bool retains = w.control->header().retains != 0;
    if (!accepted || (!spilled && !retains)) {
        return;
    }
    if (retains) {
        for (const auto& chunk : w.records->unlogged()) {
            const auto block = append(call, {w.arena->at(chunk.arena_offset), chunk.bytes});
            if (!block) {
                return;
            }
            w.records->set_logged(chunk.chunk, *block);
        }
    }
    const Bytes record = w.records->logged_record();
    // That of this step, of those which others are writing, and the end.
    const std::uint64_t entries = [&] {
        const ControlLock lock(*w.control);
        return w.control->header().counters.entries_end + w.control->header().slots + 1;
    }();
    const auto write = [&](const StepLog& log, std::uint64_t offset) -> std::optional<BytesOfFile> {
        if (!log.take_room(entries)) {
            return std::nullopt;
        }
        const RecordOnDisk made = with_list(*w.control, record, offset);
        return log.write(offset, made.bytes) ? std::optional(made.record) : std::nullopt;
    };
    logged_record =
        append(call, bytes_with_list(*w.control, record.size()), write).value_or(BytesOfFile{});
}

}  // namespace fluvial::stage
