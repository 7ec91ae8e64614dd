// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <limits>
#include <new>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/file_writer_state.hpp"

namespace fluvial::stage {

namespace {

std::byte* chunk_memory(StepMemory& memory, const std::string& name, const Region& region,
                        DType dtype) {
    const auto elements = static_cast<std::size_t>(region.volume());
    try {
        if (elements > std::numeric_limits<std::size_t>::max() / size_of(dtype)) {
            throw std::bad_alloc();
        }
        return memory.take(elements * size_of(dtype));
    } catch (const std::bad_alloc&) {
        throw SystemError(Problem{text("there is no memory for a chunk of '", name, "'"),
                                  text(elements, " elements of ", name_of(dtype)), "",
                                  "Put less of it on each rank"});
    }
}

}  // namespace

FileWriteStep::FileWriteStep(std::shared_ptr<State> state) : state_(std::move(state)) {}

FileWriteStep::~FileWriteStep() {
    if (state_ && !state_->ended && !state_->writer->made.inherited()) {
        try {
            abandon();
        } catch (const std::exception& error) {
            std::cerr << "fluvial: a step could not be given up: " << error.what() << '\n';
        }
    }
}

std::uint64_t FileWriteStep::index() const {
    return state_->puts.number;
}

void FileWriteStep::put(const std::string& name, const ArrayView& data, const Coordinates& offset,
                        const Coordinates& shape, const Attributes& attributes) {
    static_cast<void>(*state_);  // one that has been moved from says that first
    check_copied_as_is(data, name);
    copy(data, span(name, data.dtype, {offset, data.extent}, shape, attributes));
}

MutableArrayView FileWriteStep::span(const std::string& name, DType dtype, const Region& region,
                                     const Coordinates& shape, const Attributes& attributes) {
    State& step = *state_;
    if (step.ended) {
        throw InvalidArgument("the step has ended; put everything before it ends");
    }
    check_inside(region, shape, Subject("chunk of", name));
    check_size(name, dtype, shape);
    const auto known = step.places.find(name);
    const bool fresh = known == step.places.end();
    const std::size_t at = fresh ? step.puts.datasets.size() : known->second;
    if (!fresh) {
        const DatasetDescription& before = step.puts.datasets[at];
        if (before.dtype != dtype || before.shape != shape) {
            throw InvalidArgument(Problem{"'" + name + "' was put otherwise before",
                                          text(name_of(dtype), " ", shape),
                                          text(name_of(before.dtype), " ", before.shape),
                                          "A dataset is of one kind within a step"});
        }
    }
    const KeptChunk kept{at, region, chunk_memory(*step.writer->memory, name, region, dtype)};
    // Nothing is said of what there is no memory for.
    if (fresh) {
        step.places.emplace(name, at);
        DatasetDescription& made = step.puts.datasets.emplace_back();
        made.name = name;
        made.dtype = dtype;
        made.shape = shape;
    }
    DatasetDescription& dataset = step.puts.datasets[at];
    if (!attributes.empty()) {
        step.said[name] = attributes;
    }
    const auto mine = step.said.find(name);
    dataset.attributes = mine != step.said.end() ? mine->second : step.writer->said[name];
    Chunk chunk;
    chunk.region = region;
    step.kept.push_back(kept);
    dataset.chunks.push_back(chunk);
    return {kept.elements, dtype, region.extent, contiguous_strides(region.extent, size_of(dtype))};
}

void FileWriteStep::end() {
    if (state_->ended) {
        throw InvalidArgument("the step has ended; end it once");
    }
    state_->writer->check_mpi();
    state_->writer->watch.explaining([&] { state_->writer->write(*state_, std::nullopt); });
}

void FileWriteStep::abandon() {
    if (state_->ended) {
        return;
    }
    state_->writer->check_mpi();
    try {
        state_->writer->write(*state_, "a step that was given up");
    } catch (const Error&) {
        // This rank knows; the others are told.
    }
}

}  // namespace fluvial::stage
