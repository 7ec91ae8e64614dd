// SPDX-License-Identifier: Apache-2.0
/// The reader's side of step_messages.hpp: what the messages of steps say, in their order. Whatever
/// bytes a message has, it is read or refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/describe/series.hpp"
#include "fluvial/stage/parts_along.hpp"
#include "fluvial/stage/remote_messages.hpp"
#include "fluvial/stage/step_decoder.hpp"
#include "fluvial/stage/step_record.hpp"

namespace fluvial::stage {

/// The message of a step, what lies behind it, and what was fetched.
struct StepMessage {
    Bytes bytes;
    std::shared_ptr<const std::byte> behind;
    std::size_t bytes_behind = 0;
    std::shared_ptr<const std::byte> common{};
    std::size_t common_bytes = 0;
    unsigned service = 0;  ///< the number of that which has `common`
    bool anew = false;  ///< the first from another rank of the writer, which refers to none before

    /// How many bytes lie behind a message, by its end. Throws Error.
    static std::uint64_t bytes_behind_of(const Bytes& message);
    /// Throws Error.
    std::uint64_t step() const;
    /// What is to be fetched for it as `common`; nothing when all is here. Throws Error.
    std::optional<CommonAt> to_fetch() const;
};

/// What one message says.
struct AnnouncedStep {
    bool from_disk = false;
    Bearings bearings{};
    StepDescription description;
    std::shared_ptr<StepForm> form;  ///< to which the description is given back; may be none
    /// All chunks are in memory here, which `message` keeps.
    bool whole = false;
    std::shared_ptr<const StepMessage> message;
    /// Else these parts are; the chunks are those of the description.
    struct Part {
        const Chunk* chunk;
        Region box;
        std::shared_ptr<const std::byte> bytes;
    };
    std::vector<Part> parts;
};

/// One thread at a time.
class StepMessageReader {
  public:
    /// A rank of the writer on that host, which has so much memory.
    void add_rank(int rank, std::uint64_t arena_bytes);
    /// Throws Error, and what RecordReader::read throws.
    AnnouncedStep read(StepMessage message);
    /// As of the latest step.
    SeriesDescription series() const;

  private:
    void read_common(ByteReader& in, AnnouncedStep& step);
    void forget();
    void read_records(ByteReader& in, AnnouncedStep& step);
    static std::span<const std::byte> take_record(ByteReader& in, Bytes& latest);
    void take_all(ByteReader& in, AnnouncedStep& step);
    static void take_parts(ByteReader& in, AnnouncedStep& step);

    std::vector<int> ranks_;
    std::vector<std::uint64_t> arena_bytes_;  ///< by rank
    std::vector<RecordReader> records_;       ///< by rank
    std::vector<Bytes> latest_records_;       ///< likewise
    StepDecoder decoder_;
    DataAlong along_;
    SeriesDescription logged_series_;  ///< as steps on the disk say
};

}  // namespace fluvial::stage
