// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/file_writer.hpp"

#include <cerrno>
#include <filesystem>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stage/file_writer_state.hpp"
#include "fluvial/store/byte_order.hpp"

namespace fluvial::stage {
namespace {

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
    }
    return places;
}

void FileWriter::State::take_name() {
    static_cast<void>(store::make_output(options.engine, name));  // refuses engines
    if (numbered) {
        std::map<std::uint64_t, std::string> found;
        try {
            found = store::numbered_files(name);
        } catch (const SystemError&) {
            // There are none.
        }
        if (!found.empty()) {
            throw InvalidArgument(Problem{"files of the series are there already",
                                          "'" + found.begin()->second + "' for '" + name + "'",
                                          "none", "Remove them, or write elsewhere"});
        }
    }
    mark.emplace(name);
    if (!numbered) {  // or it would be read as this one, should no step be written
        std::error_code error;
        const auto kind = std::filesystem::status(name, error).type();
        if (kind == std::filesystem::file_type::directory) {
            mark->close();
            throw InvalidArgument(Problem{"a folder is in the way", "'" + name + "'",
                                          "a name that is free, or a file's",
                                          "Remove it, or write elsewhere"});
        }
        if (kind != std::filesystem::file_type::not_found && ::unlink(name.c_str()) != 0) {
            const int number = errno;
            mark->close();
            throw_errno("'" + name + "' cannot be removed", number);
        }
    }
}

void FileWriter::State::write(FileWriteStep::State& step,
                              const std::optional<std::string>& failed) {
    check_process();
    step.ended = true;
    step_open = false;
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
        mpi::agree(comm, [&] {
            if (!step.kept.empty()) {
                write_parts(places, contents, step);
            }
        });
        mpi::agree(comm, [&] {
            if (comm.rank() == 0) {
                finish(number);
            }
        });
    } catch (...) {
        give_up(number);
        throw;
    }
}

/// What this rank has put, whose bytes are turned round where the file has them otherwise.
void FileWriter::State::write_parts(const StepPlaces& places, const store::StepContents& contents,
                                    FileWriteStep::State& step) {
    const OpenFile file(places.path);
    std::map<std::string, std::size_t> at;
    for (std::size_t i = 0; i < contents.datasets.size(); ++i) {
        at[contents.datasets[i].name] = i;
    }
    for (KeptChunk& kept : step.kept) {
        const DatasetDescription& dataset = step.puts.datasets[kept.dataset];
        const std::size_t place = at.at(dataset.name);
        const auto begin = places.of.begins[place];
        if (!begin) {
            continue;
        }
        const MutableArrayView elements{
            kept.elements.get(), dataset.dtype, kept.region.extent,
            contiguous_strides(kept.region.extent, size_of(dataset.dtype))};
        if (places.of.big_endian && store::big_endian_is_swapped(dataset.dtype)) {
            store::swap_bytes(elements);
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

StepPlaces FileWriter::State::lay_out(const store::StepContents& contents) {
    const store::ProgressMark::Changing changing(*mark);
    if (output == nullptr) {
        path = numbered ? store::file_of_number(name, contents.number) + ".part" : name;
        const auto pattern = numbered
                                 ? std::optional(std::filesystem::path(name).filename().string())
                                 : std::nullopt;
        output = store::make_output(options.engine, path, pattern);
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

FileWriter::FileWriter(const std::string& name, const mpi::Comm& comm,
                       const FileWriterOptions& options)
    : state_(std::make_shared<State>(name, comm, options)) {
    try {
        const progress::Setup limited = state_->limit("not all ranks opened '" + name + "'");
        mpi::agree_on(
            state_->comm,
            [&] {
                if (state_->comm.rank() == 0) {
                    state_->take_name();
                }
            },
            [&](Terms& terms) {
                terms.add("the engine", options.engine);
                terms.add("the file", std::filesystem::path(name).filename().string());
            });
    } catch (...) {
        if (state_->mark) {
            state_->mark->close();
        }
        state_->closed = true;
        state_->comm.close();
        throw;
    }
}

FileWriter::FileWriter(FileWriter&&) noexcept = default;

FileWriter::~FileWriter() {
    if (state_ == nullptr || state_->closed) {
        return;
    }
    state_->closed = true;
    if (state_->made.inherited()) {
        static_cast<void>(state_->output.release());  // closing it would change the parent's file
        state_->comm.abandon();
        return;
    }
    try {
        if (state_->output != nullptr) {
            state_->output->close();
        }
    } catch (const std::exception& error) {
        std::cerr << "fluvial: '" << state_->name << "' was not closed well: " << error.what()
                  << '\n';
    }
    if (state_->mark) {
        state_->mark->fail("the series was given up before it was closed");
    }
    state_->comm.abandon();
}

void FileWriter::set_attributes(const Attributes& attributes) {
    state_->check_process();
    state_->attributes = attributes;
}

FileWriteStep FileWriter::begin_step(const Attributes& attributes) {
    State& state = *state_;
    state.check_process();
    if (state.closed) {
        throw InvalidArgument("the series is closed; begin steps before close()");
    }
    if (state.step_open) {
        throw InvalidArgument(Problem{"a step begins while another is open", "a second one",
                                      text("after step ", state.next - 1, " has ended"),
                                      "End that one first"});
    }
    const std::uint64_t number = iteration_of(attributes, state.next);
    if (number < state.next) {
        throw InvalidArgument(Problem{"iterations of files ascend", text(number),
                                      text(state.next, " and above"), ""});
    }
    auto step = std::make_shared<FileWriteStep::State>();
    step->writer = state_;
    step->puts.number = number;
    step->puts.attributes = attributes;
    state.next = number + 1;
    state.step_open = true;
    return FileWriteStep(std::move(step));
}

void FileWriter::close() {
    State& state = *state_;
    if (state.closed || state.made.inherited()) {
        return;
    }
    if (state.step_open) {
        throw InvalidArgument("a step is open; end it before close()");
    }
    state.closed = true;
    try {
        const progress::Setup limited = state.limit("not all ranks closed '" + state.name + "'");
        mpi::agree(state.comm, [&] {
            if (state.comm.rank() != 0) {
                return;
            }
            try {
                if (state.output != nullptr) {
                    state.output->close();
                }
            } catch (const std::exception& error) {
                state.mark->fail(error.what());
                throw;
            }
            state.mark->close();
        });
    } catch (...) {
        state.comm.abandon();
        throw;
    }
    state.comm.close();
}

}  // namespace fluvial::stage
