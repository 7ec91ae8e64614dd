// SPDX-License-Identifier: Apache-2.0
/// A process is stopped in the instant in which it changes the common state of a stream: the others
/// are told so, and go on once it does.
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr double stall_timeout_s = 0.2;

/// The control block of the stream, as one that looks on has it.
ControlBlock control_of(const Writer& writer) {
    const auto pid = static_cast<std::uint32_t>(::getpid());
    Attachment attached =
        attach(contact_from_text(writer.contact()),
               {Role::ReaderRank, 0, 1, -1, Start::Observe, pid, 0}, std::nullopt, Deadline(10));
    return ControlBlock::adopt(host::MemoryFile::adopt(std::move(attached.descriptors.at(0))));
}

/// A writer and a reader of it, and a process that can stop inside.
struct Streamed {
    explicit Streamed(bool retained = false)
        : directory(std::filesystem::temp_directory_path() /
                    text("fluvial_stopped_inside_", ::getpid())) {
        std::filesystem::create_directory(directory);
        writer.emplace("stopped", mpi::Comm(),
                       WriterOptions{.retain = retained ? directory.string() : std::string(),
                                     .readers = 0,
                                     .directory = directory,
                                     .stall_timeout_s = stall_timeout_s});
        reader.emplace("stopped", mpi::Comm(),
                       ReaderOptions{.directory = directory, .stall_timeout_s = stall_timeout_s});
        control.emplace(control_of(*writer));
    }
    ~Streamed() { std::filesystem::remove_all(directory); }
    Streamed(const Streamed&) = delete;
    Streamed& operator=(const Streamed&) = delete;

    /// `call` finds the state in the hands of one that does not go on.
    template <class Call>
    void while_stopped(Call call) const {
        const ControlLock inside(*control);
        std::thread other(call);
        other.join();
    }

    std::filesystem::path directory;
    std::optional<Writer> writer;
    std::optional<Reader> reader;
    std::optional<ControlBlock> control;
};

void put(WriteStep& step, double value) {
    const std::vector<double> numbers(4, value);
    step.put("x",
             ArrayView{reinterpret_cast<const std::byte*>(numbers.data()),
                       DType::Float64,
                       {4},
                       contiguous_strides({4}, sizeof(double))},
             {0}, {4});
}

void check_values(const ReadStep& step, double value) {
    const Data found = step.dataset("x").read();
    const auto* const numbers = reinterpret_cast<const double*>(found.view.data);
    CHECK(std::vector<double>(numbers, numbers + 4) == std::vector<double>(4, value));
}

}  // namespace

TEST_CASE("a step that cannot end because a process is stopped inside is ended again") {
    bool retained = false;
    SUBCASE("in memory") {}
    SUBCASE("and on the disk") {
        retained = true;
    }
    Streamed stream(retained);
    WriteStep step = stream.writer->begin_step();
    put(step, 1.5);
    stream.while_stopped([&] {
        CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("changed their common state"),
                             PeerStalled);
        CHECK_THROWS_AS(stream.reader->next(), PeerStalled);
    });
    step.end();
    const auto read = stream.reader->next();
    REQUIRE(read);
    CHECK(read->index() == 0);
    check_values(*read, 1.5);
    stream.writer->close();
    CHECK_FALSE(stream.reader->next());
    if (retained) {
        Reader later("stopped", mpi::Comm(),
                     ReaderOptions{.start = Start::First, .directory = stream.directory});
        const auto kept = later.next();
        REQUIRE(kept);
        check_values(*kept, 1.5);
        CHECK_FALSE(later.next());
    }
}

TEST_CASE("one that cannot be given up is given up before the next, or the end") {
    Streamed stream;
    {
        WriteStep step = stream.writer->begin_step();
        put(step, 1.5);
        stream.while_stopped([&] { step.abandon(); });
        CHECK_THROWS_AS(put(step, 2.5), InvalidArgument);
        CHECK_THROWS_AS(step.abandon(), InvalidArgument);
    }
    SUBCASE("the next step") {
        stream.while_stopped([&] { CHECK_THROWS_AS(stream.writer->begin_step(), PeerStalled); });
        WriteStep next = stream.writer->begin_step();
        put(next, 2.5);
        next.end();
        const auto read = stream.reader->next();
        REQUIRE(read);
        CHECK(read->index() == 1);
        check_values(*read, 2.5);
        CHECK(stream.writer->stats().steps_spoiled == 1);
        stream.writer->close();
    }
    SUBCASE("the end") {
        stream.while_stopped([&] { CHECK_THROWS_AS(stream.writer->close(), PeerStalled); });
        stream.writer->close();
    }
    CHECK_FALSE(stream.reader->next());
}
