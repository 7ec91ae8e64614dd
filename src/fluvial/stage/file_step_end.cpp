// SPDX-License-Identifier: Apache-2.0
// The end of a step: what the ranks have put becomes a part of the file.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/sparse_exchange.hpp"
#include "fluvial/stage/file_writer_state.hpp"
#include "fluvial/stage/packed_parts.hpp"
#include "fluvial/store/byte_order.hpp"

namespace fluvial::stage {
namespace {

constexpr int tag_packed_parts = 1;

/// A descriptor of the file that is being written.
class OpenFile {
  public:
    explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
        if (file_ < 0) {
            throw_errno("'" + path + "' cannot be opened", errno,
                        "All ranks must see the file, on a file system that they share");
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() { ::close(file_); }
    operator int() const { return file_; }

  private:
    int file_;
};

/// Where datasets are in a step, by their names.
std::map<std::string, std::size_t> positions_of(const store::StepContents& step) {
    std::map<std::string, std::size_t> positions;
    for (std::size_t i = 0; i < step.datasets.size(); ++i) {
        positions[step.datasets[i].name] = i;
    }
    return positions;
}

/// Lets the next step have the memory of this one, however it ends.
struct EndOfMemory {
    StepMemory& memory;
    ~EndOfMemory() { memory.end_step(); }
};

Bytes encode_chunks(const std::vector<store::PackedChunk>& chunks) {
    ByteWriter out;
    for (const store::PackedChunk& chunk : chunks) {
        out.put<std::uint64_t>(chunk.dataset);
        out.put_vector(std::vector<Index>(chunk.offset.begin(), chunk.offset.end()));
        out.put(chunk.bytes);
        out.put(chunk.filters_left_out);
    }
    return out.take();
}

std::vector<store::PackedChunk> decode_chunks(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    std::vector<store::PackedChunk> chunks;
    while (!in.done()) {
        store::PackedChunk& chunk = chunks.emplace_back();
        chunk.dataset = static_cast<std::size_t>(in.get<std::uint64_t>());
        chunk.offset = Coordinates(std::span<const Index>(in.get_vector<Index>()));
        chunk.bytes = in.get<std::uint64_t>();
        chunk.filters_left_out = in.get<std::uint32_t>();
    }
    return chunks;
}

}  // namespace

Bytes StepPlaces::encode() const {
    ByteWriter out;
    out.put_string(path);
    out.put(of.big_endian);
    out.put<std::uint64_t>(of.begins.size());
    for (std::size_t i = 0; i < of.begins.size(); ++i) {
        out.put(of.begins[i].has_value());
        out.put(of.begins[i].value_or(0));
        out.put(!of.kept.empty() && of.kept[i]);
        const auto packing = of.packings.empty() ? std::nullopt : of.packings[i];
        out.put(packing ? packing->level : 0);
        out.put_vector(packing ? std::vector<Index>(packing->chunk.begin(), packing->chunk.end())
                               : std::vector<Index>());
    }
    return out.take();
}

StepPlaces StepPlaces::decode(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    StepPlaces places;
    places.path = in.get_string();
    places.of.big_endian = in.get<bool>();
    for (auto count = in.get<std::uint64_t>(); count > 0; --count) {
        const bool there = in.get<bool>();
        const auto at = in.get<std::uint64_t>();
        places.of.begins.push_back(there ? std::optional(at) : std::nullopt);
        places.of.kept.push_back(in.get<bool>());
        const auto level = in.get<int>();
        const Coordinates chunk(std::span<const Index>(in.get_vector<Index>()));
        places.of.packings.push_back(level > 0 ? std::optional(store::Packing{chunk, level})
                                               : std::nullopt);
    }
    return places;
}

void FileWriter::State::write(FileWriteStep::State& step,
                              const std::optional<std::string>& failed) {
    check_process();
    step.ended = true;
    step_open = false;
    const EndOfMemory end_of_memory{*memory};
    const std::uint64_t number = step.puts.number;
    const progress::Setup limited = limit(text("not all ranks ended step ", number));
    mpi::agree(comm, [&] {
        if (failed) {
            throw Error(Problem{text("step ", number, " is not written"), *failed,
                                "steps that end on all ranks", ""});
        }
    });
    step.puts.of_series = attributes;
    std::vector<RankPuts> of_all;
    for (const Bytes& bytes : comm.allgather(step.puts.encode())) {
        of_all.push_back(RankPuts::decode(bytes));
    }
    const store::StepContents contents = merged(of_all);
    try {
        StepPlaces places;
        mpi::agree(comm, [&] {
            if (comm.rank() == 0) {
                places = lay_out(contents);
            }
        });
        places = StepPlaces::decode(comm.bcast(places.encode(), 0));
        const std::vector<bool> shared = shared_out(places, contents);
        mpi::agree(comm, [&] {
            if (!step.kept.empty()) {
                write_parts(places, contents, shared, step);
            }
        });
        if (std::ranges::find(shared, true) != shared.end()) {
            write_shared_out(places, contents, shared, step);
        }
        if (std::ranges::any_of(places.of.packings, &std::optional<store::Packing>::has_value)) {
            write_packed(places, contents, step);
        }
        mpi::agree(comm, [&] {
            if (comm.rank() == 0) {
                finish(number);
            }
        });
    } catch (...) {
        give_up(number);
        throw;
    }
    for (auto& [name, attributes_of_step] : step.said) {
        said[name] = std::move(attributes_of_step);
    }
}

/// What this rank has put, whose bytes are turned round where the file has them otherwise; but for
/// the datasets that are `left` to be written together.
void FileWriter::State::write_parts(const StepPlaces& places, const store::StepContents& contents,
                                    const std::vector<bool>& left, FileWriteStep::State& step) {
    const OpenFile file(places.path);
    const auto at = positions_of(contents);
    for (KeptChunk& kept : step.kept) {
        const DatasetDescription& dataset = step.puts.datasets[kept.dataset];
        const std::size_t place = at.at(dataset.name);
        const auto begin = places.of.begins[place];
        if (!begin) {
            continue;
        }
        const MutableArrayView elements{
            kept.elements, dataset.dtype, kept.region.extent,
            contiguous_strides(kept.region.extent, size_of(dataset.dtype))};
        if (places.of.big_endian && store::big_endian_is_swapped(dataset.dtype)) {
            store::swap_bytes(elements);
        }
        if (left[place]) {
            continue;
        }
        if (!places.of.kept[place]) {
            store::write_part(file, places.path, *begin, dataset.shape, kept.region, elements);
        } else if (!store::has_part(file, places.path, *begin, dataset.shape, kept.region,
                                    elements)) {
            throw InvalidArgument(Problem{
                text("the coordinate '", dataset.name, "' changes in step ", step.puts.number),
                text("other elements at ", kept.region),
                "what it was in the first step: a file has coordinates once", ""});
        }
    }
}

/// Compressed datasets, of which the file learns only now how large they are. Collective.
void FileWriter::State::write_packed(const StepPlaces& places, const store::StepContents& contents,
                                     FileWriteStep::State& step) {
    std::optional<PackedParts> parts;
    std::vector<mpi::Addressed> messages;
    mpi::agree(comm, [&] {
        const auto at = positions_of(contents);
        std::vector<PackedPart> mine;
        for (const KeptChunk& kept : step.kept) {
            const DatasetDescription& dataset = step.puts.datasets[kept.dataset];
            const std::size_t place = at.at(dataset.name);
            if (places.of.packings[place]) {
                mine.push_back({place, kept.region,
                                ArrayView(kept.elements, dataset.dtype, kept.region.extent)});
            }
        }
        parts.emplace(contents, places.of, mine, comm.rank(), comm.size());
        for (auto& [rank, message] : parts->messages()) {
            messages.push_back({rank, std::move(message)});
        }
    });
    std::vector<mpi::Addressed> received =
        mpi::sparse_exchange(comm, std::move(messages), tag_packed_parts);
    std::vector<store::PackedChunk> mine;
    mpi::agree(comm, [&] {
        for (mpi::Addressed& message : received) {
            parts->take(std::move(message.bytes));
        }
        mine = parts->pack();
    });
    std::vector<store::PackedChunk> of_all;
    std::size_t first = 0;
    const auto told = comm.allgather(encode_chunks(mine));
    for (std::size_t rank = 0; rank < told.size(); ++rank) {
        first = static_cast<int>(rank) == comm.rank() ? of_all.size() : first;
        std::ranges::move(decode_chunks(told[rank]), std::back_inserter(of_all));
    }
    ByteWriter begins;
    mpi::agree(comm, [&] {
        if (comm.rank() == 0) {
            const store::ProgressMark::Changing changing(*mark);
            begins.put_vector(output->place(of_all));
        }
    });
    const Bytes placed = comm.bcast(begins.take(), 0);
    mpi::agree(comm, [&] {
        if (!mine.empty()) {
            const auto all = ByteReader(placed).get_vector<std::uint64_t>();
            parts->write(OpenFile(places.path), places.path,
                         std::span(all).subspan(first, mine.size()));
        }
    });
}

StepPlaces FileWriter::State::lay_out(const store::StepContents& contents) {
    const store::ProgressMark::Changing changing(*mark);
    if (output == nullptr) {
        path = numbered ? store::file_of_number(name, contents.number) + ".part" : name;
        const auto pattern = numbered
                                 ? std::optional(std::filesystem::path(name).filename().string())
                                 : std::nullopt;
        output = store::make_output(options.engine, path, pattern, options.compression);
    }
    return {path, output->lay_out(contents)};
}

void FileWriter::State::finish(std::uint64_t number) {
    {
        const store::ProgressMark::Changing changing(*mark);
        output->finish();
        if (numbered) {
            output->close();
            output.reset();
            const std::string whole = store::file_of_number(name, number);
            if (::rename(path.c_str(), whole.c_str()) != 0) {
                throw_errno("'" + path + "' cannot be renamed", errno);
            }
        }
    }
    mark->finish(number);
}

/// What has failed before may fail here.
void FileWriter::State::give_up(std::uint64_t number) {
    if (output == nullptr) {
        return;
    }
    const store::ProgressMark::Changing changing(*mark);
    try {
        if (!numbered) {
            output->give_up(number);
            return;
        }
        output->close();
    } catch (const Error&) {
        // The file may not be closed well, but it is removed, or ends before this step.
    }
    output.reset();
    ::unlink(path.c_str());
}

}  // namespace fluvial::stage
