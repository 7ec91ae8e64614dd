// SPDX-License-Identifier: Apache-2.0
/// What the writer's host sends of each step to one reader elsewhere.
///
///     the step's number, whether it lies on the disk, Bearings
///     where the following is: here, or, if it is long, to be fetched (CommonSent)
///         for each rank of that host: its new definitions; its record, or of one with the layout
///             of the message before the places alone
///         whether all data comes along; then: all of it, here or behind the message
///     else: parts of chunks: which, and their bytes, here or behind the message
///     how many bytes lie behind
///
/// It is to be fetched by readers that share what they read with other ranks of their host, which
/// are told the same: so it crosses the network once to each host, by whichever rank wants it
/// first.
///
/// A reader gets the messages in their order, each once, also when it goes on over another
/// connection: so what a message says can refer to the one before.
#pragma once

#include <optional>
#include <vector>

#include "fluvial/move/packed.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/parts_along.hpp"
#include "fluvial/stage/read_buffers.hpp"
#include "fluvial/stage/remote_messages.hpp"
#include "fluvial/stage/step_decoder.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {

/// What all readers on other hosts are served from.
struct StreamMemory {
    const ControlBlock* control;
    const StepLog* log;                 ///< of a stream that has steps on a disk
    std::vector<host::Mapping> arenas;  ///< by writer rank
    bool encrypt = false;               ///< data, too
    std::string retained{};             ///< the folder of the steps of a stream that retains them
};

class StepMessages {
  public:
    /// `lends`: data is sent from where it lies, rather than from a copy that is kept.
    StepMessages(const StreamMemory& memory, bool lends);

    /// The reader shares what it reads with others on its host: a long description is not sent.
    void share() { shares_ = true; }
    /// The parts that the reader wants of later steps.
    void want(std::vector<PartAlong> parts) { wanted_ = std::move(parts); }

    struct Message {
        Bytes bytes;
        std::vector<move::PackedBytes> behind;
        bool complete = false;  ///< all data of the step is in it or behind it
        bool borrows = false;   ///< some of what is behind lies in the memory of the stream
        std::shared_ptr<const Bytes> common{};  ///< what is to be fetched; may be none
        CommonAt common_at{};
    };
    /// The message of a step that was handed out; the data behind it is in the memory of the
    /// stream, or its own. Throws DamagedFile.
    Message message_of(const Taken& taken, std::uint64_t step, const Bearings& bearings);
    /// Memory of one rank. Throws Error when it is not within that.
    std::span<const std::byte> block(std::uint32_t rank, std::uint64_t offset,
                                     std::uint64_t bytes) const;

  private:
    using Records = std::vector<std::span<const std::byte>>;  ///< by writer rank
    Records put_records(ByteWriter& out, const Taken& taken, std::vector<Bytes>& known_layouts);
    static void put_record(ByteWriter& out, std::span<const std::byte> record, Bytes& known_layout);
    struct ChosenPart {
        std::uint32_t chunk;
        Region box;
        move::PackedBytes bytes;
    };
    std::vector<ChosenPart> choose_parts(const StepDescription& step, bool& all) const;
    std::optional<std::vector<move::PackedBytes>> all_data(const StepForm& form) const;
    std::optional<std::vector<move::PackedBytes>> lent_data(const StepForm& form) const;
    void put_data(ByteWriter& out, Message& message, std::vector<move::PackedBytes> data) const;
    static void put_common(ByteWriter& out, Message& message, Bytes common);
    static void put_parts(ByteWriter& out, Message& message, const std::vector<ChosenPart>& parts);
    const ControlBlock& control() const { return *memory_.control; }

    const StreamMemory& memory_;
    bool lends_;
    bool shares_ = false;
    std::vector<RecordMemory> records_;  ///< by writer rank
    std::vector<RecordReader> readers_;  ///< likewise
    StepDecoder decoder_;
    DataAlong along_;
    std::vector<Records> unsent_;       ///< definitions of each writer rank
    std::vector<Bytes> known_layouts_;  ///< by writer rank, as the reader has them
    std::vector<PartAlong> wanted_;     ///< by chunk
    std::shared_ptr<ReadBuffers> buffers_ = std::make_shared<ReadBuffers>();
};

}  // namespace fluvial::stage
