// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/file_writer.hpp"

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/stage/file_writer_state.hpp"

namespace fluvial::stage {
namespace {

void check(const FileWriterOptions& options) {
    if (options.aggregators.value_or(0) < 0) {
        throw InvalidArgument(Problem{"aggregators is out of range", text(*options.aggregators),
                                      "0 and above", "Leave it unset to have them chosen"});
    }
    for (const auto& [name, seconds] : {std::pair("step_timeout", options.step_timeout_s),
                                        std::pair("stall_timeout", options.stall_timeout_s)}) {
        if (!(seconds > 0)) {
            throw InvalidArgument(
                Problem{text(name, " is out of range"), text(seconds), "more than 0 seconds", ""});
        }
    }
}

/// A pipe, a socket or a device is not to be replaced by a file.
void refuse_what_is_no_file(const std::string& name) {
    std::error_code error;
    const auto kind = std::filesystem::status(name, error).type();
    using Kind = std::filesystem::file_type;
    const char* const what = kind == Kind::fifo        ? "a FIFO"
                             : kind == Kind::socket    ? "a socket"
                             : kind == Kind::character ? "a device"
                             : kind == Kind::block     ? "a device"
                                                       : nullptr;
    if (what != nullptr) {
        throw InvalidArgument(Problem{
            "files are not written into what is no file", text("'", name, "', which is ", what),
            "a name that is free, or a file's", "Remove it, or write elsewhere"});
    }
}

}  // namespace

void FileWriter::State::take_name() {
    static_cast<void>(
        store::make_output(options.engine, name, {}, options.compression));  // refuses
    store::check_number(name);
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
    if (!numbered) {
        refuse_what_is_no_file(name);
    }
    const std::filesystem::path folder = std::filesystem::path(name).parent_path();
    if (std::error_code error; !folder.empty() && !std::filesystem::is_directory(folder, error)) {
        throw_errno("'" + name + "' cannot be written: its folder", ENOENT);
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

FileWriter::FileWriter(const std::string& name, const mpi::Comm& comm,
                       const FileWriterOptions& options)
    : state_(std::make_shared<State>(name, comm, options)) {
    try {
        const progress::Setup limited = state_->limit("not all ranks opened '" + name + "'");
        mpi::agree_on(
            state_->comm,
            [&] {
                check(options);
                if (state_->comm.rank() == 0) {
                    state_->take_name();
                }
            },
            [&](Terms& terms) {
                terms.add("the engine", options.engine);
                terms.add("the compression", options.compression);
                terms.add("the aggregators", options.aggregators ? text(*options.aggregators)
                                                                 : std::string("those that suit"));
                terms.add("the file", std::filesystem::path(name).filename().string());
            });
        state_->host_of_rank = move::host_of_each_rank(state_->comm);
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
    state_->tell_others_of_end();
    state_->comm.abandon();
}

/// The other ranks may wait for this one, in a step or in close().
void FileWriter::State::tell_others_of_end() const noexcept {
    if (!mpi::running()) {
        return;
    }
    try {
        watch.telling([&] {
            throw PeerLost(
                Problem{text("'", name, "' was given up before it was closed"), "", "", ""});
        });
    } catch (const std::exception&) {  // it is for the others
    }
}

FileWriter::State& FileWriter::opened() const {
    if (state_ == nullptr) {
        throw InvalidArgument(Problem{"this series has been moved from", "an empty object",
                                      "the one that it was moved to", ""});
    }
    state_->check_process();
    if (state_->closed) {
        throw InvalidArgument("the series is closed; begin steps before close()");
    }
    return *state_;
}

void FileWriter::set_attributes(const Attributes& attributes) {
    opened().attributes = attributes;
}

FileWriteStep FileWriter::begin_step(const Attributes& attributes) {
    State& state = opened();
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
    check_iteration(number);
    auto step = std::make_shared<FileWriteStep::State>();
    step->writer = state_;
    step->puts.number = number;
    step->puts.attributes = attributes;
    state.next = number + 1;
    state.step_open = true;
    return FileWriteStep(std::move(step));
}

/// A file that has the attributes of the series alone, which are what any rank says.
void FileWriter::State::make_without_steps(const std::vector<RankPuts>& of_all) {
    const store::StepContents contents = merged(of_all);
    const store::ProgressMark::Changing changing(*mark);
    output = store::make_output(options.engine, name, {}, options.compression);
    try {
        output->make_without_steps(contents.of_series);
    } catch (...) {
        output.reset();
        ::unlink(name.c_str());
        throw;
    }
}

void FileWriter::close() {
    if (state_ == nullptr || state_->closed || state_->made.inherited()) {
        return;
    }
    State& state = *state_;
    if (state.step_open) {
        throw InvalidArgument("a step is open; end it before close()");
    }
    state.check_mpi();
    state.closed = true;
    try {
        const progress::Setup limited = state.limit("not all ranks closed '" + state.name + "'");
        std::vector<RankPuts> of_all;
        if (state.next == 0 && !state.numbered) {
            RankPuts mine;
            mine.of_series = state.attributes;
            for (const Bytes& bytes : state.comm.allgather(mine.encode())) {
                of_all.push_back(RankPuts::decode(bytes));
            }
        }
        mpi::agree(state.comm, [&] {
            if (state.comm.rank() != 0) {
                return;
            }
            try {
                if (!of_all.empty()) {
                    state.make_without_steps(of_all);
                }
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
