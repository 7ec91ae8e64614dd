// SPDX-License-Identifier: Apache-2.0
/// A writer's host that readers attach to, all of it in the process of a test.
#pragma once

#include <memory>

#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/host_service.hpp"
#include "fluvial/stage/stream_fixture.hpp"

namespace fluvial::stage {

/// A writer of `ranks` ranks of which rank 0 is here.
struct Host {
    explicit Host(int ranks = 1)
        : stream({.queue_steps = 2}, ranks),
          arena("test", 1 << 20, 1 << 20),
          contact(new_contact()),
          service(std::make_unique<HostService>(contact, stream.control, arena.file())) {}

    Attachment attach_reader(const Contact& with, int rank = 0, int size = 1,
                             int group = -1) const {
        return attach(with, {Role::ReaderRank, rank, size, group, Start::Oldest, 42}, {},
                      Deadline(10));
    }
    bool nobody_attached() const {
        const ControlLock lock(stream.control);
        return stream.control.header().readers_high == 0;
    }

    Stream stream;
    Arena arena;
    Contact contact;
    std::unique_ptr<HostService> service;
};

}  // namespace fluvial::stage
