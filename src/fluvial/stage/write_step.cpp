// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <iostream>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/waiting.hpp"
#include "fluvial/stage/writer_state.hpp"

namespace fluvial::stage {
namespace {

constexpr const char* put_failed = "nothing can be put";

/// "'x'" or "'x' and 2 more".
std::string named(std::span<const NamedArray> arrays) {
    const std::string first = text("'", arrays.front().name, "'");
    return arrays.size() == 1 ? first : text(first, " and ", arrays.size() - 1, " more");
}

std::uint64_t bytes_of(const NamedArray& array) {
    return static_cast<std::uint64_t>(array.data->size()) * size_of(array.data->dtype);
}

[[noreturn]] void never_fits(const Writer::State& writer, std::span<const NamedArray> arrays,
                             std::uint64_t bytes, int slot) {
    const ControlBlock& control = *writer.control;
    throw InvalidArgument(
        Problem{text("the step does not fit into the queue with ", named(arrays)),
                text(bytes, " bytes beside ", control.slots()[slot].bytes, " of the same step"),
                text("queue_bytes=", control.header().queue_bytes, " for all ranks together"),
                "Raise queue_bytes"});
}

void check_put_name(std::string_view name) {
    if (name.size() > 4096) {
        throw InvalidArgument(Problem{"the name of a dataset cannot be used", text("'", name, "'"),
                                      "1 to 4096 bytes", ""});
    }
    check_dataset_name(name);
}

/// A put that end() waits for: the turn is elsewhere while it copies.
class PutUnderWay {
  public:
    explicit PutUnderWay(int& puts) : puts_(puts) { ++puts_; }
    ~PutUnderWay() { --puts_; }
    PutUnderWay(const PutUnderWay&) = delete;
    PutUnderWay& operator=(const PutUnderWay&) = delete;

  private:
    int& puts_;
};

}  // namespace

WriteStep::WriteStep(std::shared_ptr<State> state) : state_(std::move(state)) {}

WriteStep::~WriteStep() {
    if (state_ && !state_->ended) {
        try {
            abandon();
        } catch (const std::exception& error) {
            std::cerr << "fluvial: a step could not be given up: " << error.what() << '\n';
        }
    }
}

std::uint64_t WriteStep::index() const {
    return state_->step;
}

bool WriteStep::accepted() const {
    return state_->accepted;
}

void WriteStep::State::check_open() const {
    if (ended) {
        throw InvalidArgument(Problem{"the step has ended", text("step ", step),
                                      "a step that has not ended",
                                      "Put everything before it ends"});
    }
}

/// Small chunks share blocks, each larger than the one before: a step of thousands of them would
/// spend most of its time in the arena otherwise.
std::uint64_t WriteStep::State::allocate(std::uint64_t bytes) {
    constexpr std::uint64_t small_max = 4096, first_block = 4096, block_max = 256 << 10;
    const std::uint64_t needed = (std::max<std::uint64_t>(bytes, 1) + Arena::alignment - 1) /
                                 Arena::alignment * Arena::alignment;
    if (needed > small_max || (needed > shared_left && blocks.empty())) {
        blocks.push_back(arena->allocate(bytes));  // alone so far
        return blocks.back();
    }
    if (needed > shared_left) {
        shared_bytes = std::clamp(2 * shared_bytes, first_block, block_max);
        shared_at = arena->allocate(shared_bytes);
        shared_left = shared_bytes;
        blocks.push_back(shared_at);
    }
    const std::uint64_t at = shared_at;
    shared_at += needed;
    shared_left -= needed;
    return at;
}

bool WriteStep::State::place(HandleLock::Call& call, std::span<const NamedArray> arrays,
                             const Where& where, std::span<Place> places) {
    check_open();
    std::uint64_t bytes = 0;
    for (const NamedArray& array : arrays) {
        check_put_name(array.name);
        check_inside(where.region(*array.data), where.global(*array.data),
                     {"chunk of", array.name});
        check_size(array.name, array.data->dtype, where.global(*array.data));
        bytes += bytes_of(array);
    }
    Writer::State& w = *writer;
    const ControlBlock& control = *w.control;
    bool described = false;
    const auto describe = [&] {
        std::vector<Signature*> noted;
        try {
            for (const NamedArray& array : arrays) {
                const auto& shape = where.global(*array.data);
                if (Signature* const fresh = check_signature(control, slot, w.rank, array.name,
                                                             array.data->dtype, shape);
                    fresh != nullptr && arrays.size() > 1) {
                    noted.push_back(fresh);
                }
            }
        } catch (...) {
            forget_signatures(noted);
            throw;
        }
        described = true;
    };
    const auto grant = await(
        control, control.header().space_bell, w.options.step_timeout_s, w.wait_s,
        [&]() -> std::optional<Grant> {
            w.check_failure();
            if (!described) {
                if (!can_fit(control, slot, bytes)) {
                    return Grant::NeverFits;  // before others are told of it
                }
                describe();
            }
            const Grant grant = grant_bytes(control, slot, bytes);
            return grant == Grant::Wait ? std::nullopt : std::optional(grant);
        },
        call);
    if (!grant) {
        const ControlLock lock(control);
        throw TimedOut(Problem{text("no room for ", bytes, " bytes of ", named(arrays),
                                    " within step_timeout=", w.options.step_timeout_s, " s"),
                               describe_holders(control), "",
                               "Let readers drop their arrays earlier, raise queue_bytes, or "
                               "choose full='discard-oldest'"});
    }
    if (*grant == Grant::NeverFits) {
        never_fits(w, arrays, bytes, slot);
    }
    for (const NamedArray& array : arrays) {  // for later steps, too, where this one is discarded
        if (array.attributes != nullptr) {
            w.records->say(array.name, *array.attributes);
        }
    }
    if (*grant == Grant::Discarded) {
        accepted = false;
        return false;
    }
    w.collect();
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        places[i].arena_offset = *grant == Grant::Given ? allocate(bytes_of(arrays[i])) : 0;
    }
    static const Attributes none;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        const auto& [name, data, attributes] = arrays[i];
        places[i].chunk = w.records->add(name, data->dtype, where.global(*data), none,
                                         where.region(*data), places[i].arena_offset);
    }
    return true;
}

void WriteStep::State::fill(HandleLock::Call& call, std::span<const NamedArray> arrays,
                            std::span<const Place> places) {
    Writer::State& w = *writer;
    if (places.front().arena_offset != 0) {
        call.outside([&] {
            for (std::size_t i = 0; i < arrays.size(); ++i) {
                w.copy(*arrays[i].data, w.arena->at(places[i].arena_offset));
            }
        });
        return;
    }
    try {
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            const auto block = append(call, *arrays[i].data);
            if (!block) {
                return;  // the step was discarded
            }
            w.records->set_logged(places[i].chunk, *block);
        }
    } catch (...) {
        for (const Place& place : places) {
            w.records->forget(place.chunk);
        }
        throw;
    }
}

void WriteStep::State::put(std::span<const NamedArray> arrays, const Where& where,
                           std::span<Place> places) {
    Writer::State& w = *writer;
    for (const NamedArray& array : arrays) {
        check_copied_as_is(*array.data, array.name);
    }
    HandleLock::Call call(w.handle, put_failed);
    const PutUnderWay put(puts);
    if (!place(call, arrays, where, places)) {
        return;
    }
    std::uint64_t bytes = 0;
    for (const NamedArray& array : arrays) {
        bytes += bytes_of(array);
    }
    constexpr std::uint64_t timed_from = 4096;  // less is copied sooner than the clock is read
    const std::int64_t begin_ns = bytes < timed_from ? 0 : now_ns();
    fill(call, arrays, places);
    w.bytes_copied += places.front().arena_offset != 0 ? bytes : 0;
    w.copy_s += bytes < timed_from ? 0.0 : static_cast<double>(now_ns() - begin_ns) * 1e-9;
}

void WriteStep::put(const std::string& name, const ArrayView& data, const Coordinates& offset,
                    const Coordinates& shape, const Attributes& attributes) {
    const NamedArray array{name, &data, attributes.empty() ? nullptr : &attributes};
    State::Place place{};
    state_->put({&array, 1}, {&offset, &shape}, {&place, 1});
}

void WriteStep::put(std::span<const NamedArray> arrays, const std::optional<Coordinates>& offset,
                    const std::optional<Coordinates>& shape) {
    if (arrays.empty()) {
        return state_->check_open();
    }
    std::vector<State::Place> places(arrays.size());
    state_->put(arrays, {offset ? &*offset : nullptr, shape ? &*shape : nullptr}, places);
}

MutableArrayView WriteStep::span(const std::string& name, DType dtype, const Region& region,
                                 const Coordinates& shape, const Attributes& attributes) {
    return span(name, dtype, region, shape, attributes.empty() ? nullptr : &attributes);
}

MutableArrayView WriteStep::span(const std::string& name, DType dtype, const Region& region,
                                 const Coordinates& shape, const Attributes* attributes) {
    HandleLock::Call call(state_->writer->handle, put_failed);
    const PutUnderWay put(state_->puts);
    MutableArrayView view{nullptr, dtype, region.extent,
                          contiguous_strides(region.extent, size_of(dtype))};
    const ArrayView chunk = view;
    const NamedArray array{name, &chunk, attributes};
    State::Place place{};
    const bool placed = state_->place(call, {&array, 1}, {&region.offset, &shape}, {&place, 1});
    const auto bytes = static_cast<std::size_t>(bytes_of(array));
    if (placed && place.arena_offset != 0) {
        state_->writer->bytes_in_place += bytes;
        view.data = state_->arena->at(place.arena_offset);
        return view;
    }
    state_->scratch.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    view.data = state_->scratch.back().get();
    if (placed) {
        state_->disk_spans.push_back({place.chunk, {view.data, bytes}});
    }
    return view;
}

std::shared_ptr<const void> WriteStep::keep_spans() const {
    return std::make_shared<std::pair<std::shared_ptr<Arena>, std::shared_ptr<State>>>(
        state_->arena, state_.shared());
}

void WriteStep::State::check_not_ended() const {
    if (ended) {
        throw InvalidArgument(
            Problem{"the step has ended already", text("step ", step), "one end of each step", ""});
    }
}

void WriteStep::State::finish(bool spoiled) {
    Writer::State& w = *writer;
    RecordPlace record{};
    if (accepted && !spilled && !spoiled) {
        record = w.records->finish();  // throws where there is no memory: the step is open then
        blocks.push_back(record.offset);
    }
    if (spoiled) {
        w.records->unsay();
    }
    record.logged = logged_record;
    bool complete = false, small = false;
    {
        // Throws where a peer is stopped: the step is open then.
        const ControlLock lock(*w.control);
        ended = true;
        w.step_open = false;
        w.opened.reset();
        ++w.next_step;
        w.staged.push_back({slot, step, std::move(blocks)});
        complete =
            finish_writing(*w.control, slot, w.rank, record, spoiled, w.log ? &*w.log : nullptr);
        small = complete && w.control->slots()[slot].bytes <= small_step_bytes;
    }
    ControlHeader& header = w.control->header();
    if (complete) {
        header.step_bell.ring();
    }
    if (complete && header.remote_readers != 0) {
        const bool sent = small && w.remote && w.remote->hand_out();
        if (!sent && header.service_sleeps.exchange(0) != 0) {
            w.step_event->ring();
        }
    }
}

void WriteStep::end() {
    HandleLock::Call call(state_->writer->handle, "the step cannot end");
    call.wait_for([this] { return state_->puts == 0; });
    state_->check_not_ended();  // or what is on the disk would go there again
    state_->log_rest(call);
    state_->finish(false);
}

void WriteStep::abandon() {
    HandleLock& handle = state_->writer->handle;
    if (handle.inherited()) {
        return;
    }
    try {
        HandleLock::Call call(handle, "the step cannot be given up");
        call.wait_for([this] { return state_->puts == 0; });
        state_->check_not_ended();
        try {
            state_->finish(true);
        } catch (const PeerStalled&) {
            // Before the next step, or the end of the stream: Writer::State::give_up_step.
            state_->ended = true;
            state_->writer->step_open = false;
        }
    } catch (const InvalidArgument&) {
        if (handle.is_open()) {
            throw;
        }
        // The stream was ended, and the step went with it.
    }
}

}  // namespace fluvial::stage
