// SPDX-License-Identifier: Apache-2.0
#include "stage_statistics.hpp"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace fluvial::python {

nb::dict stats_of(const stage::WriterStats& s) {
    nb::dict d;
    d["steps_written"] = s.steps_written;
    d["steps_discarded"] = s.steps_discarded;
    d["steps_unread"] = s.steps_unread;
    d["steps_spoiled"] = s.steps_spoiled;
    d["steps_spilled"] = s.steps_spilled;
    d["bytes_staged"] = s.bytes_staged;
    d["bytes_logged"] = s.bytes_logged;
    d["bytes_on_disk"] = s.bytes_on_disk;
    d["full_disks"] = s.full_disks;
    d["bytes_copied"] = s.bytes_copied;
    d["bytes_in_place"] = s.bytes_in_place;
    d["bytes_in_use"] = s.bytes_in_use;
    d["arena_bytes"] = s.arena_bytes;
    d["queue_depth"] = s.queue_depth;
    d["readers"] = s.readers;
    d["readers_joined"] = s.readers_joined;
    d["readers_lost"] = s.readers_lost;
    d["readers_evicted"] = s.readers_evicted;
    d["wait_s"] = s.wait_s;
    d["copy_s"] = s.copy_s;
    return d;
}

nb::dict stats_of(const stage::ReaderStats& s) {
    nb::dict d;
    d["transport"] = s.transport;
    d["steps_read"] = s.steps_read;
    d["steps_discarded"] = s.steps_discarded;
    d["steps_from_disk"] = s.steps_from_disk;
    d["bytes_from_disk"] = s.bytes_from_disk;
    d["bytes_received"] = s.bytes_received;
    d["bytes_from_neighbours"] = s.bytes_from_neighbours;
    nb::dict by_interface;
    for (const auto& [interface, bytes] : s.bytes_by_interface) {
        by_interface[interface.c_str()] = bytes;
    }
    d["bytes_by_interface"] = by_interface;
    d["bytes_viewed"] = s.bytes_viewed;
    d["bytes_copied"] = s.bytes_copied;
    d["queue_depth"] = s.queue_depth;
    d["lag_steps"] = s.lag_steps;
    d["wait_s"] = s.wait_s;
    d["copy_s"] = s.copy_s;
    return d;
}

namespace {

nb::dict status_of(const stage::ReaderStatus& s) {
    nb::dict d;
    d["number"] = s.number;
    d["ranks"] = s.ranks;
    d["pid"] = s.pid;
    d["state"] = s.state;
    d["observes"] = s.observes;
    d["full"] = s.full;
    d["steps_taken"] = s.steps_taken;
    d["steps_discarded"] = s.steps_discarded;
    d["lag_steps"] = s.lag_steps;
    d["lag_on_disk"] = s.lag_on_disk;
    d["steps_held"] = s.steps_held;
    return d;
}

}  // namespace

nb::dict status_of(const stage::StreamStatus& s) {
    nb::dict d;
    d["name"] = s.name;
    d["host"] = s.host;
    d["full"] = s.full;
    d["failure"] = s.failure;
    d["writer_ranks"] = s.writer_ranks;
    d["writer_pid"] = s.writer_pid;
    d["writers_closed"] = s.writers_closed;
    d["steps_begun"] = s.steps_begun;
    d["steps_written"] = s.steps_written;
    d["steps_discarded"] = s.steps_discarded;
    d["steps_unread"] = s.steps_unread;
    d["steps_spoiled"] = s.steps_spoiled;
    d["steps_spilled"] = s.steps_spilled;
    d["bytes_staged"] = s.bytes_staged;
    d["bytes_in_use"] = s.bytes_in_use;
    d["queue_bytes"] = s.queue_bytes;
    d["queue_depth"] = s.queue_depth;
    d["queue_steps"] = s.queue_steps;
    nb::list readers;
    for (const stage::ReaderStatus& reader : s.readers) {
        readers.append(status_of(reader));
    }
    d["readers"] = readers;
    return d;
}

}  // namespace fluvial::python
