// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/file_writer_state.hpp"

namespace fluvial::stage {

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
    if (data.swapped) {
        throw InvalidArgument(Problem{"'" + name + "' has elements in another byte order",
                                      "a swapped view", "those of this machine", "Convert it"});
    }
    copy(data, span(name, data.dtype, {offset, data.extent}, shape, attributes));
}

MutableArrayView FileWriteStep::span(const std::string& name, DType dtype, const Region& region,
                                     const Coordinates& shape, const Attributes& attributes) {
    State& step = *state_;
    if (step.ended) {
        throw InvalidArgument("the step has ended; put into it before end()");
    }
    check_inside(region, shape, Subject("chunk of", name));
    const auto [at, fresh] = step.places.emplace(name, step.puts.datasets.size());
    if (fresh) {
        DatasetDescription& made = step.puts.datasets.emplace_back();
        made.name = name;
        made.dtype = dtype;
        made.shape = shape;
    }
    DatasetDescription& dataset = step.puts.datasets[at->second];
    if (dataset.dtype != dtype || dataset.shape != shape) {
        throw InvalidArgument(Problem{"'" + name + "' was put otherwise before",
                                      text(name_of(dtype), " ", shape),
                                      text(name_of(dataset.dtype), " ", dataset.shape),
                                      "A dataset is of one kind within a step"});
    }
    if (!attributes.empty()) {
        step.writer->said[name] = attributes;
    }
    dataset.attributes = step.writer->said[name];
    Chunk chunk;
    chunk.region = region;
    const KeptChunk& kept = step.kept.emplace_back(KeptChunk{
        at->second, region,
        step.writer->memory->take(static_cast<std::size_t>(region.volume()) * size_of(dtype))});
    dataset.chunks.push_back(chunk);
    return {kept.elements, dtype, region.extent, contiguous_strides(region.extent, size_of(dtype))};
}

void FileWriteStep::end() {
    if (state_->ended) {
        throw InvalidArgument("the step has ended; end it once");
    }
    state_->writer->write(*state_, std::nullopt);
}

void FileWriteStep::abandon() {
    if (state_->ended) {
        return;
    }
    try {
        state_->writer->write(*state_, "a step that was given up");
    } catch (const Error&) {
        // This rank knows; the others are told.
    }
}

}  // namespace fluvial::stage
